//! Requests of the server: answered by the session itself, by the host, or refused, but always answered (row L26).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Machine, Session, Step};
use crate::error::{Cause, Full, PeerFault, Refusal, Refused};
use crate::handle::PeerHandle;
use crate::link::QueuedReply;
use crate::output::DiagnosticKind;
use crate::protocol::code;
use crate::time::Time;
use crate::wire::encode;

/// An id of the server that is repeated in our reply, in bytes.
const ID: usize = 1 << 10;

/// The host's answer to a request of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerReply<'a> {
    /// The result: a JSON object.
    Result(&'a str),
    /// An error; user refusal of sampling is code -1.
    Error {
        /// The code.
        code: i64,
        /// The message.
        message: &'a str,
    },
}

/// The server's requests that the host has not answered yet.
#[derive(Debug, Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct PeerRequests {
    open: BTreeMap<u64, Open>,
    last: u64,
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
struct Open {
    id: Box<str>,
    until: Option<Time>,
}

impl PeerRequests {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Those that have a deadline.
    pub(super) fn timers(&self) -> usize {
        self.open.values().filter(|open| open.until.is_some()).count()
    }

    /// All have the same time to be answered, so the oldest is due first.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.open.first_key_value().and_then(|(_, open)| open.until)
    }
}

impl<T> Session<T> {
    /// Answers a request of the server that came as [`Output::Request`](crate::Output::Request).
    ///
    /// # Errors
    /// Refused, with the handle given back, if the result is no JSON object, there is no room for it, or the server
    /// closed its input; or if the request is not open any more, because the server cancelled it, its deadline passed,
    /// or the session is ending.
    pub fn respond(
        &mut self,
        now: Time,
        handle: PeerHandle,
        reply: PeerReply<'_>,
    ) -> Result<(), Refused<PeerHandle>> {
        self.machine.at(now);
        match self.machine.respond(&handle, reply) {
            Ok(()) => Ok(()),
            Err(refusal) => {
                self.machine.counters.refused += 1;
                Err(Refused { value: handle, refusal })
            }
        }
    }
}

impl<T> Machine<T> {
    fn respond(&mut self, handle: &PeerHandle, reply: PeerReply<'_>) -> Result<(), Refusal> {
        let open = self.peer_requests.open.get(&handle.0).ok_or(Refusal::NotOpen)?;
        if self.link.is_closed() {
            return Err(Refusal::StdinClosed);
        }
        let mut frame = Vec::new();
        match reply {
            PeerReply::Result(result) => {
                let result =
                    super::admission::object_on_one_line(result, self.server.settings.limits.replies)?;
                encode::push_result(&mut frame, &open.id, &result);
            }
            PeerReply::Error { code, message } => {
                encode::push_error(&mut frame, &open.id, code, message, None)
            }
        }
        let queued = self.link.replies.push(QueuedReply::Frame(frame.into()));
        queued.map_err(|_| Refusal::Busy(Full::Replies))?;
        self.peer_requests.open.remove(&handle.0);
        Ok(())
    }

    pub(super) fn on_request(
        &mut self,
        text: &str,
        raw_id: &str,
        method: &str,
        params: Option<Range<usize>>,
    ) {
        let is_string = raw_id.starts_with('"');
        if raw_id.len() > ID || !(is_string || is_integer(raw_id)) {
            // It cannot be answered: nothing with a null id is ever written.
            let sample = self.sample(method.as_bytes());
            self.diagnose(DiagnosticKind::BadRequest(sample));
            return;
        }
        if method == "ping" {
            self.counters.pings += 1;
            self.reply(QueuedReply::Pong(raw_id.into()));
            return;
        }
        let raw = params.clone().and_then(|span| text.get(span));
        let declared = match self.declared(method) {
            Some(declared) => declared,
            None => {
                self.refuse_request(raw_id, method, code::METHOD_NOT_FOUND, "method not found");
                return;
            }
        };
        if asks_for_undeclared(declared, raw) {
            self.refuse_request(
                raw_id,
                method,
                code::INVALID_PARAMS,
                "it asks for what the client did not declare",
            );
        } else if self.peer_requests.len() >= self.server.settings.limits.peer_requests {
            self.refuse_request(raw_id, method, code::INTERNAL_ERROR, "too many requests are open");
        } else {
            self.peer_requests.last += 1;
            let handle = self.peer_requests.last;
            let until = self.server.settings.timeouts.peer_request.map(|timeout| self.now + timeout);
            self.peer_requests.open.insert(handle, Open { id: raw_id.into(), until });
            self.ready.push_back(Step::Request { handle, method: declared, params });
        }
    }

    /// A method that the host declared it answers. Nothing reaches the host before the handshake is over.
    fn declared(&self, method: &str) -> Option<&'static str> {
        self.peer.as_ref()?;
        let capabilities = &self.server.settings.capabilities;
        match method {
            "roots/list" if capabilities.roots => Some("roots/list"),
            "sampling/createMessage" if capabilities.sampling => Some("sampling/createMessage"),
            "elicitation/create" if capabilities.elicitation => Some("elicitation/create"),
            _ => None,
        }
    }

    fn refuse_request(&mut self, raw_id: &str, method: &str, code: i64, message: &'static str) {
        self.counters.refused_requests += 1;
        let sample = self.sample(method.as_bytes());
        self.diagnose(DiagnosticKind::RefusedRequest(sample));
        self.reply_error(raw_id, code, message);
    }

    fn reply_error(&mut self, raw_id: &str, code: i64, message: &str) {
        let mut frame = Vec::new();
        encode::push_error(&mut frame, raw_id, code, message, None);
        self.reply(QueuedReply::Frame(frame.into()));
    }

    /// Queues a reply of the session itself. A server that sends requests and does not read is not tolerated for ever.
    fn reply(&mut self, reply: QueuedReply) {
        if self.link.is_closed() {
            return;
        }
        if self.link.replies.push(reply).is_err() {
            let limit = self.server.settings.limits.replies;
            self.fault(Cause::Peer(PeerFault::UnreadReplies { limit }));
        }
    }

    /// The server gives one of its own requests up: the host is told, and nothing is answered.
    pub(super) fn on_peer_cancelled(&mut self, params: Option<&str>) {
        let wanted = params.and_then(|raw| serde_json::from_str::<CancelledParams<'_>>(raw).ok());
        let found = wanted.and_then(|wanted| {
            let is_it = |open: &Open| *open.id == *wanted.request_id.get();
            self.peer_requests.open.iter().find(|(_, open)| is_it(open)).map(|(handle, _)| *handle)
        });
        match found {
            Some(handle) => {
                self.counters.notifications += 1;
                self.peer_requests.open.remove(&handle);
                self.ready.push_back(Step::RequestCancelled(handle));
            }
            None => self.counters.ignored_notifications += 1,
        }
    }

    /// A request that the host did not answer in time gets an error.
    pub(super) fn expire_peer_request(&mut self) -> Option<Step<T>> {
        let due = self.peer_requests.next_deadline().filter(|until| *until <= self.now);
        due?;
        let (handle, open) = self.peer_requests.open.pop_first()?;
        self.reply_error(&open.id, code::INTERNAL_ERROR, "not answered in time");
        Some(Step::RequestCancelled(handle))
    }

    /// The session ends: the host need not answer any more.
    pub(super) fn cancel_peer_requests(&mut self) {
        for handle in std::mem::take(&mut self.peer_requests.open).into_keys() {
            self.ready.push_back(Step::RequestCancelled(handle));
        }
    }
}

#[derive(Deserialize)]
struct CancelledParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow, default)]
    mode: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "toolChoice")]
    tool_choice: Option<&'a RawValue>,
}

/// Whether a request of a declared method wants a part of it that this client never declares: elicitation by URL, or
/// sampling with tools.
fn asks_for_undeclared(method: &str, params: Option<&str>) -> bool {
    let Some(asked) = params.and_then(|raw| serde_json::from_str::<Asked<'_>>(raw).ok()) else {
        return false;
    };
    match method {
        "elicitation/create" => asked.mode.is_some_and(|mode| mode != "form"),
        "sampling/createMessage" => asked.tools.is_some() || asked.tool_choice.is_some(),
        _ => false,
    }
}

/// Whether a raw JSON number is an integer as written: digits, with or without a sign.
fn is_integer(raw: &str) -> bool {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(PeerRequests { open, last } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Open { id, until } leaves out {});
