//! Answers of the server: which call they name, and whether they are valid (rows L07, L10, L13, W06).

use std::ops::Range;

use super::{Given, Machine, Owner};
use crate::config::IdMatching;
use crate::error::{Cause, Delivery, FailureKind, InvalidResponse, PeerFault, RemoteError};
use crate::output::DiagnosticKind;
use crate::protocol::code;
use crate::rpc::{Arrival, Stage};
use crate::sample::bounded;
use crate::tool::raw;
use crate::wire::decode;
use crate::wire::envelope::Envelope;
use crate::wire::id;

impl<T> Machine<T> {
    /// The open request that an id names under the rules of this session.
    pub(super) fn matching(&self, raw: &str) -> Option<u64> {
        let number = match self.server.settings.id_matching {
            IdMatching::Exact => id::number(raw),
            IdMatching::Decimal => id::number(raw).or_else(|| id::decimal_string(raw)),
        }?;
        self.is_on_wire(number).then_some(number)
    }

    /// Whether a request of this number has begun to leave and is still open: only then can there be an answer to it. Some
    /// servers do not wait for the newline.
    pub(super) fn is_on_wire(&self, id: u64) -> bool {
        self.pending.get(id).is_some_and(|entry| {
            matches!(entry.stage, Stage::Encoded) && self.link.delivery(id) != Delivery::NotSent
        })
    }

    pub(super) fn on_response(&mut self, text: &str, envelope: &Envelope) {
        let part = |span: &Option<Range<usize>>| span.clone().and_then(|span| text.get(span));
        let error = part(&envelope.error).filter(|error| *error != "null");
        let result =
            envelope.result.clone().filter(|_| error.is_none() || part(&envelope.result) != Some("null"));
        let id = match part(&envelope.id) {
            None | Some("null") => {
                match error {
                    Some(error) => self.on_uncorrelated(error),
                    None => self.on_unknown_id("null"),
                }
                return;
            }
            Some(id) => id,
        };
        let Some(number) = self.matching(id) else {
            self.on_unmatched(id);
            return;
        };
        let problem = match (result, error) {
            _ if envelope.repeated => InvalidResponse::Repeated,
            _ if !envelope.version_ok => InvalidResponse::Version,
            (Some(_), Some(_)) => InvalidResponse::Both,
            (None, None) => InvalidResponse::Neither,
            (Some(span), None) => return self.on_result(text, number, span),
            (None, Some(error)) => {
                let error = self.remote_error(error);
                return self.settle_unanswered(number, FailureKind::Remote(error));
            }
        };
        self.on_invalid_response(number, problem);
    }

    fn on_result(&mut self, text: &str, id: u64, span: Range<usize>) {
        let Some(entry) = self.pending.take(id) else { return };
        let result = text.get(span.clone()).unwrap_or_default();
        match &entry.owner {
            Owner::Caller(caller) => {
                let step = if span.len() > caller.result_limit {
                    let limit = caller.result_limit;
                    self.fail(id, entry, FailureKind::TooLarge { limit }, None)
                } else if entry.method == "tools/call" && !result.starts_with('{') {
                    self.fail(id, entry, FailureKind::InvalidResponse(InvalidResponse::Shape), None)
                } else {
                    self.succeed(id, entry, Given::Answer { span, check: None })
                };
                self.ready.extend(step);
            }
            Owner::Initialize => {
                self.succeed(id, entry, Given::Connected);
                self.on_initialized(result);
            }
            Owner::Page => {
                let timing = entry.timing.clone();
                self.succeed(id, entry, Given::Listed);
                self.on_page(result, timing);
            }
            Owner::Health => {
                self.succeed(id, entry, Given::Connected);
                self.on_healthy();
            }
        }
    }

    pub(super) fn on_invalid_response(&mut self, id: u64, why: InvalidResponse) {
        self.counters.malformed += 1;
        if self.is_strict() {
            self.fault(Cause::Peer(PeerFault::MalformedResponse));
        } else {
            self.settle_unanswered(id, FailureKind::InvalidResponse(why));
        }
    }

    /// The server answered request `id` without a usable result, whoever it belongs to.
    pub(super) fn settle_unanswered(&mut self, id: u64, kind: FailureKind) {
        let Some(entry) = self.pending.take(id) else { return };
        match entry.owner {
            Owner::Caller(_) => {
                let step = self.fail(id, entry, kind, None);
                self.ready.extend(step);
            }
            Owner::Initialize => {
                self.fail(id, entry, kind.clone(), None);
                self.handshake_failed(kind);
            }
            Owner::Page => {
                self.fail(id, entry, kind.clone(), None);
                self.walk_failed(&kind);
            }
            // Whatever it says, it is alive.
            Owner::Health => {
                self.fail(id, entry, kind, None);
                self.on_healthy();
            }
        }
    }

    /// An answer whose id names no open request of ours.
    fn on_unmatched(&mut self, raw: &str) {
        let Some(number) = id::number(raw) else {
            match id::near_miss(raw).filter(|number| self.is_on_wire(*number)) {
                Some(number) => {
                    self.counters.near_misses += 1;
                    let sample = self.sample(raw.as_bytes());
                    self.diagnostics.near_miss(number, sample.clone());
                    self.diagnose(DiagnosticKind::NearMiss(sample));
                }
                None => self.on_unknown_id(raw),
            }
            return;
        };
        match self.settled.arrival(number) {
            Arrival::Late => {
                self.counters.late += 1;
                self.diagnose(DiagnosticKind::Late(number));
            }
            Arrival::Duplicate => {
                self.counters.duplicate += 1;
                self.diagnose(DiagnosticKind::Duplicate(number));
            }
            Arrival::Stale => {
                self.counters.stale += 1;
                self.diagnose(DiagnosticKind::Stale(number));
            }
            Arrival::Unknown => self.on_unknown_id(raw),
        }
    }

    fn on_unknown_id(&mut self, raw: &str) {
        self.counters.unknown += 1;
        let sample = self.sample(raw.as_bytes());
        self.diagnose(DiagnosticKind::UnknownId(sample));
    }

    fn on_uncorrelated(&mut self, raw: &str) {
        self.counters.uncorrelated += 1;
        let error = self.remote_error(raw);
        self.diagnostics.uncorrelated(self.now, error.clone());
        self.diagnose(DiagnosticKind::Uncorrelated(error));
    }

    /// A server's error, its parts bounded (row L14).
    fn remote_error(&self, text: &str) -> RemoteError {
        let limits = &self.server.settings.limits;
        let keep = |data: &str| (data.len() <= limits.remote_data).then(|| data.into());
        let (mut code, mut message, mut data) = (None, None, None);
        raw::members(text, |name, value| match &*name {
            "code" => code = value.parse::<i64>().ok(),
            "message" => message = decode::string(value),
            "data" => data = Some(value),
            _ => {}
        });
        let (Some(code), Some(message)) = (code, message) else {
            let kept: Option<Box<str>> = keep(text);
            return RemoteError {
                code: code::INTERNAL_ERROR,
                message: "the server sent an error that is no error object".to_owned(),
                truncated: kept.is_none(),
                data: kept,
            };
        };
        let clean = self.redactor.redact(message.as_bytes());
        let (message, cut) = bounded(&String::from_utf8_lossy(&clean), limits.remote_message);
        let kept = data.and_then(keep);
        let truncated = cut || (data.is_some() && kept.is_none());
        RemoteError { code, message, data: kept, truncated }
    }
}
