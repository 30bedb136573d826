//! What is written to the server, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sans_mcp::Delivery;
use sans_mcp::error::{Failure, FailureKind};
use serde_json::{Map, Value};

use super::operations::Operation;
use super::{Asked, Checked, Rule, Violation, ensure, violated};

/// One line to the server, of which a byte left.
#[derive(Clone, Debug)]
pub struct Line {
    /// The text without its newline.
    pub text: String,
    /// What it is; nothing if it is no valid message, which is a violation.
    pub message: Option<Message>,
    /// Whether its newline left too.
    pub whole: bool,
}

/// A message of the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A request.
    Request {
        /// Its id.
        id: u64,
        /// Its method.
        method: String,
        /// Its parameters.
        params: Option<Map<String, Value>>,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Option<Map<String, Value>>,
    },
    /// A reply to a request of the server.
    Reply {
        /// The server's id.
        id: Value,
        /// The result, or the error.
        outcome: Result<Value, Value>,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Wire {
    offer: Vec<u8>,
    /// What is left of a line that was begun, its newline included.
    rest: Vec<u8>,
    lines: Vec<Line>,
    /// Requests of which a byte left, and their methods.
    begun: BTreeMap<u64, String>,
    whole: BTreeSet<u64>,
    last_id: u64,
    cancels: BTreeSet<u64>,
    /// Settled before a byte left.
    never: BTreeSet<u64>,
    /// Abandoned after a byte left: the server is to be told.
    untold: BTreeSet<u64>,
    initialized: bool,
    blocked: bool,
    closed: bool,
}

impl Wire {
    pub(super) fn offered(&mut self, bytes: &[u8]) -> Checked {
        ensure(!bytes.is_empty(), Rule::Offer, || "nothing is offered".to_owned())?;
        ensure(!self.blocked, Rule::Offer, || "offered while the pipe is full".to_owned())?;
        ensure(!self.closed, Rule::Offer, || "offered after the input was closed".to_owned())?;
        ensure(bytes.starts_with(&self.rest), Rule::WholeMessages, || {
            format!(
                "{:?} was begun, {:?} is offered",
                String::from_utf8_lossy(&self.rest),
                String::from_utf8_lossy(bytes)
            )
        })?;
        ensure(bytes.ends_with(b"\n"), Rule::WholeMessages, || "an offer ends within a line".to_owned())?;
        self.offer = bytes.to_vec();
        Ok(())
    }

    pub(super) fn written(&mut self, count: usize) -> Checked {
        let offer = std::mem::take(&mut self.offer);
        if count == 0 {
            self.blocked = true;
            return Ok(());
        }
        let mut at = 0;
        for line in offer.split_inclusive(|byte| *byte == b'\n') {
            if at >= count {
                break;
            }
            if self.rest.is_empty() {
                self.begin(line)?;
            }
            let left = count - at;
            self.rest = line.get(left.min(line.len())..).unwrap_or_default().to_vec();
            if self.rest.is_empty() {
                self.finish();
            }
            at += line.len();
        }
        Ok(())
    }

    fn begin(&mut self, line: &[u8]) -> Checked {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let Some(text) = std::str::from_utf8(text).ok().map(str::to_owned) else {
            return violated(Rule::WholeMessages, format!("not UTF-8: {:?}", String::from_utf8_lossy(line)));
        };
        let message = read(&text)?;
        self.check(&message)?;
        self.lines.push(Line { text, message: Some(message), whole: false });
        Ok(())
    }

    fn check(&mut self, message: &Message) -> Checked {
        match message {
            Message::Request { id, method, .. } => {
                ensure(*id > self.last_id, Rule::IdsGrow, || format!("{id} after {}", self.last_id))?;
                self.last_id = *id;
                ensure(!self.never.contains(id), Rule::Delivery, || format!("{id} was settled as not sent"))?;
                let is_first = self.begun.is_empty();
                self.begun.insert(*id, method.clone());
                let allowed = if is_first {
                    method == "initialize"
                } else {
                    self.initialized && method != "initialize"
                };
                ensure(allowed, Rule::Handshake, || {
                    format!("request `{method}`, initialized: {}", self.initialized)
                })
            }
            Message::Notification { method, .. } if method == "notifications/initialized" => {
                let allowed = !std::mem::replace(&mut self.initialized, true) && self.whole.len() == 1;
                ensure(allowed, Rule::Handshake, || "`initialized` comes twice, or too early".to_owned())
            }
            Message::Notification { method, params } => {
                ensure(self.initialized, Rule::Handshake, || format!("`{method}` before `initialized`"))?;
                if method == "notifications/cancelled" { self.check_cancel(params.as_ref()) } else { Ok(()) }
            }
            Message::Reply { id, outcome } => {
                ensure(id.is_string() || id.is_number(), Rule::WholeMessages, || format!("a reply to {id}"))?;
                let early = !self.initialized
                    && outcome.as_ref().is_ok_and(|result| *result != Value::Object(Map::new()));
                ensure(!early, Rule::Handshake, || format!("the host answered {id} before `initialized`"))
            }
        }
    }

    fn check_cancel(&mut self, params: Option<&Map<String, Value>>) -> Checked {
        let Some(id) = params.and_then(|params| params.get("requestId")).and_then(Value::as_u64) else {
            return violated(Rule::CancelNotice, format!("{params:?}"));
        };
        self.untold.remove(&id);
        let method = self.begun.get(&id).filter(|_| self.whole.contains(&id));
        ensure(method.is_some_and(|method| method != "initialize"), Rule::CancelNotice, || {
            format!("{id}: {method:?}")
        })?;
        ensure(self.cancels.insert(id), Rule::CancelNotice, || format!("{id} is cancelled twice"))
    }

    fn finish(&mut self) {
        let Some(line) = self.lines.last_mut() else { return };
        line.whole = true;
        if let Some(Message::Request { id, .. }) = &line.message {
            self.whole.insert(*id);
        }
    }

    pub(super) fn writable(&mut self) {
        self.blocked = false;
    }

    pub(super) fn closed(&mut self) {
        self.closed = true;
        self.rest.clear();
        self.untold.clear();
    }

    /// Whether something may wait to be written.
    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked && !self.closed
    }

    /// What waits for a request that it shares with others is told how far that one came.
    fn settled_shared(&self, ended: &Operation, told: Delivery) -> Checked {
        let is_shared = |method: &str| method == "initialize" || method == "tools/list";
        let begun = self.begun.iter().filter(|(_, method)| is_shared(method)).map(|(id, _)| id);
        let mut seen: Vec<Delivery> = begun
            .map(|id| if self.whole.contains(id) { Delivery::Sent } else { Delivery::Partial })
            .collect();
        seen.push(Delivery::NotSent);
        ensure(seen.contains(&told), Rule::Delivery, || {
            format!("{} is told as {told:?}, what it waited for was one of {seen:?}", ended.handle)
        })
    }

    /// An operation ended without a result.
    pub(super) fn settled(&mut self, ended: &Operation, failure: &Failure) -> Checked {
        let begun = ended.wire.filter(|id| self.begun.contains_key(id));
        let seen = match begun {
            None => Delivery::NotSent,
            Some(id) if self.whole.contains(&id) => Delivery::Sent,
            Some(_) => Delivery::Partial,
        };
        let told = failure.delivery();
        if ended.asked == Asked::Waiting {
            return self.settled_shared(ended, told);
        }
        ensure(told == seen, Rule::Delivery, || {
            format!("{} is told as {told:?}, it is {seen:?}", ended.handle)
        })?;
        match begun {
            None => {
                self.never.insert(ended.wire.unwrap_or(ended.handle));
            }
            Some(id) => {
                let given_up = matches!(failure.kind(), FailureKind::Timeout(_) | FailureKind::Cancelled(_));
                if given_up && !self.closed {
                    self.untold.insert(id);
                }
            }
        }
        Ok(())
    }

    /// Nothing is left to be told to a server that reads.
    pub(super) fn none_untold(&self) -> Checked {
        ensure(self.blocked || self.closed || self.untold.is_empty(), Rule::CancelNotice, || {
            format!("the server was not told of {:?}", self.untold)
        })
    }

    pub(super) fn has_begun(&self, id: u64) -> bool {
        self.begun.contains_key(&id)
    }

    pub(super) fn digest(&self, into: &mut String) {
        let Wire {
            offer,
            rest,
            lines: _,
            begun,
            whole,
            last_id,
            cancels,
            never,
            untold,
            initialized,
            blocked,
            closed,
        } = self;
        let _ = write!(
            into,
            "{offer:?} {rest:?} {:?} {whole:?} {last_id} {cancels:?} {never:?} {untold:?} {initialized} {blocked} {closed} ",
            begun.keys()
        );
    }

    /// Whole lines are needed no more.
    pub(super) fn forget_lines(&mut self) {
        self.lines.retain(|line| !line.whole);
    }

    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// Reads a line as exactly one message, with no member that has no business there.
fn read(text: &str) -> Result<Message, Violation> {
    let bad = || Violation { rule: Rule::WholeMessages, seen: format!("no valid message: {text}") };
    ensure(!text.contains('\r'), Rule::WholeMessages, || format!("a carriage return in {text}"))?;
    let mut members = match serde_json::from_str(text) {
        Ok(Value::Object(members)) => members,
        _ => return Err(bad()),
    };
    if members.remove("jsonrpc") != Some(Value::from("2.0")) {
        return Err(bad());
    }
    let message = match (members.remove("method"), members.remove("id")) {
        (Some(Value::String(method)), id) => {
            let params = match members.remove("params") {
                None => None,
                Some(Value::Object(params)) => Some(params),
                Some(_) => return Err(bad()),
            };
            match id {
                None => Message::Notification { method, params },
                Some(id) => Message::Request { id: id.as_u64().ok_or_else(bad)?, method, params },
            }
        }
        (None, Some(id)) => {
            let outcome = match (members.remove("result"), members.remove("error")) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) if error.get("code").is_some_and(Value::is_i64) => Err(error),
                _ => return Err(bad()),
            };
            Message::Reply { id, outcome }
        }
        _ => return Err(bad()),
    };
    if members.is_empty() { Ok(message) } else { Err(bad()) }
}
