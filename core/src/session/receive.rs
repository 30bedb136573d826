//! From lines to messages to what they mean.

use std::borrow::Cow;
use std::ops::Range;

use super::{Cursor, Given, Machine, Owner, Session, Step};
use crate::config::{Conduct, IdMatching};
use crate::error::{Cause, Delivery, FailureKind, InvalidResponse, PeerFault, RemoteError};
use crate::output::DiagnosticKind;
use crate::protocol::{Version, code};
use crate::rpc::{Arrival, Stage};
use crate::sample::bounded;
use crate::wire::envelope::Element;
use crate::wire::envelope::{self, Envelope};
use crate::wire::id;
use crate::wire::lines::{Framed, Oversized};
use crate::wire::scan::Scanner;

impl<T> Session<T> {
    /// Reads the next message, if a whole one is there, and lets the machine act on it. What comes of it waits in
    /// `ready`.
    pub(super) fn read_message(&mut self) -> bool {
        match self.cursor {
            Cursor::Between => self.read_line(),
            Cursor::Messages(at) => {
                self.read_envelope(at);
                true
            }
            Cursor::Batch(at) => {
                self.read_element(at);
                true
            }
        }
    }

    fn read_line(&mut self) -> bool {
        let Some(framed) = self.lines.next() else {
            self.machine.counters.discarded_bytes =
                self.machine.counters.discarded_bytes.max(self.lines.discarded());
            if self.machine.output_ended {
                self.machine.end_noise();
            }
            return false;
        };
        if !self.machine.listens() {
            return true;
        }
        match framed {
            Framed::Oversized(line) => self.machine.on_oversized(&line),
            Framed::Endless => {
                self.machine.fault(Cause::Peer(PeerFault::EndlessLine {
                    limit: self.machine.server.settings.limits.discard,
                }));
            }
            Framed::Line if !self.lines.make_text(self.machine.server.settings.utf8) => {
                let cut_off = self.lines.is_cut_off();
                self.machine.on_malformed(self.lines.bytes(), InvalidResponse::Utf8, cut_off);
            }
            Framed::Line => {
                let text = self.lines.text();
                if text.trim_ascii_start().starts_with('[') {
                    if self.machine.unpacks_batches() && envelope::element(text, 0).is_ok() {
                        self.cursor = Cursor::Batch(0);
                    } else {
                        self.machine.on_array(text);
                    }
                } else {
                    self.cursor = Cursor::Messages(0);
                }
            }
        }
        true
    }

    fn read_envelope(&mut self, at: usize) {
        let text = self.lines.text();
        self.cursor = Cursor::Between;
        match envelope::read(text, at) {
            Ok((envelope, end)) => {
                if text.get(end..).is_some_and(|rest| !rest.trim_ascii_start().is_empty()) {
                    self.cursor = Cursor::Messages(end);
                }
                self.machine.on_envelope(text, &envelope);
            }
            Err(_) => {
                let rest = text.get(at..).unwrap_or_default();
                self.machine.on_malformed(rest.as_bytes(), InvalidResponse::Syntax, self.lines.is_cut_off());
            }
        }
    }

    fn read_element(&mut self, at: usize) {
        let text = self.lines.text();
        self.cursor = Cursor::Between;
        let Ok(Element::Value(span, next)) = envelope::element(text, at) else { return };
        self.cursor = Cursor::Batch(next);
        match envelope::read(text, span.start) {
            Ok((envelope, end)) if end == span.end => self.machine.on_envelope(text, &envelope),
            _ => {
                let element = text.get(span).unwrap_or_default();
                self.machine.on_malformed(element.as_bytes(), InvalidResponse::Syntax, false);
            }
        }
    }
}

impl<T> Machine<T> {
    /// Whether output of the server still means anything.
    pub(super) fn listens(&self) -> bool {
        use super::lifecycle::Phase::{Draining, Initializing, Losing, Ready};
        matches!(self.phase, Initializing | Ready | Draining | Losing)
    }

    /// Whether output of the server is read only to be thrown away.
    pub(super) fn drains_output(&self) -> bool {
        self.phase >= super::lifecycle::Phase::Leaving
    }

    fn unpacks_batches(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.version == Version::V2025_03_26)
    }

    fn is_strict(&self) -> bool {
        self.server.settings.conduct == Conduct::Strict
    }

    fn on_array(&mut self, text: &str) {
        self.counters.batches += 1;
        if self.is_strict() {
            self.counters.noise_lines += 1;
            self.fault(Cause::Peer(PeerFault::Noise));
        } else if text.trim_ascii_start().starts_with("[{") {
            self.diagnose(DiagnosticKind::Batch);
        } else {
            self.on_noise(text.as_bytes());
        }
    }

    fn on_oversized(&mut self, line: &Oversized) {
        self.counters.long_lines += 1;
        let limit = self.server.settings.limits.line;
        if self.is_strict() {
            self.fault(Cause::Peer(PeerFault::LongLine { limit }));
            return;
        }
        let named = line.id.as_ref().filter(|_| line.is_response).and_then(|id| self.matching(id.as_str()));
        match named {
            Some(id) => self.settle_unanswered(id, FailureKind::TooLarge { limit }),
            None => self.diagnose(DiagnosticKind::LongLine(limit)),
        }
    }

    /// A line that cannot be read as a message: if it still names one of our calls as its answer, that call fails at once
    /// (row W06). One that the end of output cut off is no malformed answer but a lost one: its call ends with the loss.
    fn on_malformed(&mut self, line: &[u8], why: InvalidResponse, cut_off: bool) {
        let mut scanner = Scanner::new();
        scanner.feed(line);
        // A line that was cut off counts only once it has begun to answer; one that is whole needs no more than an id.
        let answers = scanner.has_answer() && !scanner.has_method() && !cut_off;
        let named = if answers { scanner.id().and_then(|id| self.matching(id.as_str())) } else { None };
        match named {
            Some(id) => self.on_invalid_response(id, why),
            None => self.on_noise(line),
        }
    }

    /// The open request that an id names under the rules of this session.
    fn matching(&self, raw: &str) -> Option<u64> {
        let number = match self.server.settings.id_matching {
            IdMatching::Exact => id::number(raw),
            IdMatching::Decimal => id::number(raw).or_else(|| id::decimal_string(raw)),
        }?;
        self.is_on_wire(number).then_some(number)
    }

    /// Whether a request of this number has begun to leave and is still open: only then can there be an answer to it. Some
    /// servers do not wait for the newline.
    fn is_on_wire(&self, id: u64) -> bool {
        self.pending.get(id).is_some_and(|entry| {
            matches!(entry.stage, Stage::Encoded) && self.link.delivery(id) != Delivery::NotSent
        })
    }

    fn on_envelope(&mut self, text: &str, envelope: &Envelope) {
        self.end_noise();
        let raw = |span: &Option<Range<usize>>| span.clone().and_then(|span| text.get(span));
        if let Some(method) = raw(&envelope.method) {
            match envelope::string(method) {
                Some(method) if envelope.version_ok && !envelope.repeated => match raw(&envelope.id) {
                    Some(id) => self.on_request(text, id, &method, envelope.params.clone()),
                    None => self.on_notification(text, &method, envelope.params.clone()),
                },
                _ => self.on_noise(text.as_bytes()),
            }
        } else if envelope.result.is_some() || envelope.error.is_some() || envelope.id.is_some() {
            self.on_response(text, envelope);
        } else {
            self.on_noise(text.as_bytes());
        }
    }

    fn on_response(&mut self, text: &str, envelope: &Envelope) {
        let raw = |span: &Option<Range<usize>>| span.clone().and_then(|span| text.get(span));
        let error = raw(&envelope.error).filter(|error| *error != "null");
        let result =
            envelope.result.clone().filter(|_| error.is_none() || raw(&envelope.result) != Some("null"));
        let id = match raw(&envelope.id) {
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
        let problem = match (&result, error) {
            _ if envelope.repeated => Some(InvalidResponse::Repeated),
            _ if !envelope.version_ok => Some(InvalidResponse::Version),
            (Some(_), Some(_)) => Some(InvalidResponse::Both),
            (None, None) => Some(InvalidResponse::Neither),
            _ => None,
        };
        match (problem, error, result) {
            (Some(problem), ..) => self.on_invalid_response(number, problem),
            (None, Some(error), _) => {
                let error = self.remote_error(error);
                self.settle_unanswered(number, FailureKind::Remote(error));
            }
            (None, None, Some(span)) => self.on_result(text, number, span),
            (None, None, None) => self.on_invalid_response(number, InvalidResponse::Neither),
        }
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
                let timing = entry.timing;
                self.succeed(id, entry, Given::Listed);
                self.on_page(result, timing);
            }
            Owner::Health => {
                self.succeed(id, entry, Given::Connected);
                self.on_healthy();
            }
        }
    }

    fn on_invalid_response(&mut self, id: u64, why: InvalidResponse) {
        self.counters.malformed += 1;
        if self.is_strict() {
            self.fault(Cause::Peer(PeerFault::MalformedResponse));
        } else {
            self.settle_unanswered(id, FailureKind::InvalidResponse(why));
        }
    }

    /// The server answered request `id` without a usable result, whoever it belongs to.
    fn settle_unanswered(&mut self, id: u64, kind: FailureKind) {
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
    fn remote_error(&self, raw: &str) -> RemoteError {
        let limits = &self.server.settings.limits;
        let keep = |data: &str| (data.len() <= limits.remote_data).then(|| data.into());
        match serde_json::from_str::<ErrorObject<'_>>(raw) {
            Ok(ErrorObject { code: error_code, message, data }) => {
                let (message, cut) = bounded(&message, limits.remote_message);
                let data = data.map(serde_json::value::RawValue::get);
                let kept = data.and_then(keep);
                let truncated = cut || (data.is_some() && kept.is_none());
                RemoteError { code: error_code, message, data: kept, truncated }
            }
            Err(_) => {
                let kept: Option<Box<str>> = keep(raw);
                RemoteError {
                    code: code::INTERNAL_ERROR,
                    message: "the server sent an error that is no error object".to_owned(),
                    truncated: kept.is_none(),
                    data: kept,
                }
            }
        }
    }

    fn on_notification(&mut self, text: &str, method: &str, params: Option<Range<usize>>) {
        let size = method.len() + params.as_ref().map_or(0, Range::len);
        if !self.notifications.admit(self.now, size) {
            self.counters.dropped_notifications += 1;
            if self.server.settings.limits.end_on_notification_flood {
                self.fault(Cause::Peer(PeerFault::NotificationFlood));
            } else {
                self.diagnose(DiagnosticKind::NotificationFlood);
            }
            return;
        }
        let raw = params.clone().and_then(|span| text.get(span));
        match method {
            "notifications/progress" => self.on_progress(raw, params),
            "notifications/cancelled" => self.on_peer_cancelled(raw),
            _ => match self.negotiated(method) {
                Some(method) => {
                    self.counters.notifications += 1;
                    if method == "notifications/tools/list_changed" {
                        self.tools.changed();
                    }
                    self.ready.push_back(Step::Notification { method, params });
                }
                None => {
                    self.counters.ignored_notifications += 1;
                    let sample = self.sample(method.as_bytes());
                    self.diagnose(DiagnosticKind::IgnoredNotification(sample));
                }
            },
        }
    }

    fn on_progress(&mut self, raw: Option<&str>, params: Option<Range<usize>>) {
        let token = raw.and_then(|raw| serde_json::from_str::<Progressed<'_>>(raw).ok());
        let number = token.and_then(|progressed| id::number(progressed.progress_token.get()));
        let open = number.filter(|number| self.is_on_wire(*number));
        let (Some(id), Some(params)) = (open, params) else {
            self.counters.ignored_notifications += 1;
            return;
        };
        self.counters.notifications += 1;
        self.pending.extend(id, self.now);
        if let Some(Owner::Caller(super::Caller { wants_progress: true, .. })) =
            self.pending.get(id).map(|e| &e.owner)
        {
            self.ready.push_back(Step::Progress { id, params });
        }
    }
}

#[derive(serde::Deserialize)]
struct ErrorObject<'a> {
    code: i64,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a serde_json::value::RawValue>,
}

#[derive(serde::Deserialize)]
struct Progressed<'a> {
    #[serde(rename = "progressToken", borrow)]
    progress_token: &'a serde_json::value::RawValue,
}
