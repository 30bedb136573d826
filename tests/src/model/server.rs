//! What the server says.

use std::time::Duration;

use sans_mcp::{Conduct, Delivery, Time};
use serde_json::Value;

use super::life::Life;
use super::{Model, What};

/// A request of the server that the host has not answered.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) number: u64,
    pub(super) until: Time,
    id: Value,
}

const SECOND: Duration = Duration::from_secs(1);

impl Model {
    /// The server's output, cut in any way.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        self.listen();
    }

    /// Hears line after line, unless replies go first.
    pub(super) fn listen(&mut self) {
        while !self.puts_replies_first()
            && let Some(end) = self.unread.iter().position(|byte| *byte == b'\n')
        {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            self.line(&line);
        }
        self.due();
    }

    /// Half of what may wait of replies does, and can be written: a server that reads is not to be ended for asking much.
    pub(super) fn puts_replies_first(&self) -> bool {
        self.writing.puts_replies_first(self.settings.limits.replies / 2)
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        if !matches!(self.life, Life::Handshake | Life::Ready | Life::Draining | Life::Losing) {
            return;
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let too_long = line.len() > self.settings.limits.line;
        if too_long && self.is_strict() {
            return self.fault("MCP_TOO_LARGE");
        }
        let text = String::from_utf8_lossy(line);
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return self.noise() };
        let broken = match (too_long, std::str::from_utf8(line)) {
            (true, _) => Some("MCP_TOO_LARGE"),
            (false, Err(_)) => Some("MCP_INVALID_RESPONSE"),
            (false, Ok(_)) => None,
        };
        match value {
            Value::Array(batch) if self.batches && self.connected && broken.is_none() => {
                batch.iter().for_each(|message| self.message(message, None));
            }
            message => self.message(&message, broken),
        }
    }

    fn message(&mut self, message: &Value, broken: Option<&'static str>) {
        let Some(members) = message.as_object() else { return self.noise() };
        let part = |name: &str| members.get(name);
        let versioned = part("jsonrpc").and_then(Value::as_str) == Some("2.0");
        match (part("method").and_then(Value::as_str), part("id")) {
            (Some(_), _) if broken.is_some() || !versioned => self.noise(),
            (Some(method), Some(id)) => self.asks(id, method),
            (Some(method), None) => self.notifies(method, part("params").unwrap_or(&Value::Null)),
            (None, _) => {
                let id = part("id").filter(|id| id.is_u64()).and_then(Value::as_u64);
                // Nothing is an answer to what has not begun to leave.
                let Some(id) = id.filter(|id| self.is_awaited(*id)) else {
                    if broken.is_some() {
                        self.noise();
                    }
                    return;
                };
                let error = part("error").filter(|error| !error.is_null());
                let result = part("result").filter(|result| error.is_none() || !result.is_null());
                match (broken, result, error) {
                    (Some("MCP_TOO_LARGE"), ..) => self.unusable(id, "MCP_TOO_LARGE"),
                    (None, Some(result), None) if versioned => self.answered(id, result),
                    (None, None, Some(_)) if versioned => self.unusable(id, "MCP_ERROR"),
                    _ if self.is_strict() => self.fault("MCP_PROTOCOL"),
                    _ => self.unusable(id, "MCP_INVALID_RESPONSE"),
                }
            }
        }
    }

    fn is_strict(&self) -> bool {
        self.settings.conduct == Conduct::Strict
    }

    /// What is no message ends a strict session, and no other.
    fn noise(&mut self) {
        if self.is_strict() {
            self.fault("MCP_PROTOCOL");
        }
    }

    fn is_awaited(&self, id: u64) -> bool {
        let written = self.writing.delivery(id) != Delivery::NotSent;
        written && self.open.get(&id).is_some_and(|open| !open.what.waits())
    }

    fn answered(&mut self, id: u64, result: &Value) {
        match self.open.get(&id).map(|open| open.what.clone()) {
            Some(What::Initialize) => {
                self.open.remove(&id);
                if result.get("protocolVersion").is_some() {
                    self.initialized();
                } else {
                    self.fault("MCP_HANDSHAKE_FAILED");
                }
            }
            Some(What::Page) => {
                self.open.remove(&id);
                self.page(result);
            }
            Some(What::Health) => {
                self.open.remove(&id);
                self.healthy();
            }
            Some(What::Call(_)) if !result.is_object() => self.unusable(id, "MCP_INVALID_RESPONSE"),
            _ => self.succeed(id, &format!("answer {result}")),
        }
    }

    /// An answer that is no result.
    fn unusable(&mut self, id: u64, code: &str) {
        match self.open.get(&id).map(|open| open.what.clone()) {
            Some(What::Initialize) => {
                self.open.remove(&id);
                self.fault("MCP_HANDSHAKE_FAILED");
            }
            Some(What::Page) => {
                self.open.remove(&id);
                self.walk_failed(code, false);
            }
            // Whatever it says, it is alive.
            Some(What::Health) => {
                self.open.remove(&id);
                self.healthy();
            }
            _ => self.fail(id, code),
        }
    }

    fn asks(&mut self, id: &Value, method: &str) {
        let limits = &self.settings.limits;
        if id.is_null() {
            return;
        }
        if method == "ping" {
            return self.reply(id, "result", format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).len());
        }
        if method != "roots/list" || !self.connected {
            return self.reply_error(id, -32601, "method not found");
        }
        if self.asked.len() >= limits.peer_requests {
            return self.reply_error(id, -32603, "too many requests are open");
        }
        self.last_asked += 1;
        let until = self.now + self.settings.timeouts.peer_request.unwrap_or_default();
        self.asked.push(Asked { number: self.last_asked, until, id: id.clone() });
        self.told.push(format!("request {}", self.last_asked));
    }

    /// A reply of the session itself. A server that does not read its replies is not put up with for ever.
    fn reply(&mut self, id: &Value, outcome: &str, size: usize) {
        if self.writing.is_closed() {
            return;
        }
        if self.writing.reply_bytes() + size + 1 > self.settings.limits.replies {
            self.fault("MCP_PROTOCOL");
        } else {
            self.writing.reply(&id.to_string(), outcome, size + 1);
        }
    }

    fn reply_error(&mut self, id: &Value, code: i64, message: &str) {
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#);
        self.reply(id, "error", line.len());
    }

    pub(super) fn expire_asked(&mut self) {
        while self.asked.first().is_some_and(|asked| asked.until <= self.now) {
            let asked = self.asked.remove(0);
            self.told.push(format!("unasked {}", asked.number));
            self.reply_error(&asked.id, -32603, "not answered in time");
        }
    }

    /// The host answers with this result.
    pub(crate) fn respond(&mut self, number: u64, result: &str) -> Result<(), &'static str> {
        let place = self.asked.iter().position(|asked| asked.number == number).ok_or("CLIENT_CLOSED")?;
        if self.writing.is_closed() {
            return Err("MCP_STDIN_CLOSED");
        }
        if serde_json::from_str::<Value>(result).is_err() {
            return Err("MCP_INVALID_ARGUMENTS");
        }
        let Some(id) = self.asked.get(place).map(|asked| asked.id.to_string()) else { return Ok(()) };
        let size = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).len() + 1;
        if self.writing.reply_bytes() + size > self.settings.limits.replies {
            return Err("MCP_BUSY");
        }
        self.asked.remove(place);
        self.writing.reply(&id, "result", size);
        Ok(())
    }

    fn notifies(&mut self, method: &str, params: &Value) {
        let list_changed = method == "notifications/tools/list_changed" && self.connected;
        if list_changed {
            self.changed();
        }
        // A second begins with the first one, and has so many.
        let (begin, count) =
            self.window.filter(|(begin, _)| self.now.since(*begin) < SECOND).unwrap_or((self.now, 0));
        if count >= self.settings.limits.notifications_per_second {
            return;
        }
        self.window = Some((begin, count + 1));
        match method {
            "notifications/progress" => self.progressed(params.get("progressToken").and_then(Value::as_u64)),
            "notifications/cancelled" => {
                let id = params.get("requestId");
                if let Some(place) = self.asked.iter().position(|asked| Some(&asked.id) == id) {
                    let asked = self.asked.remove(place);
                    self.told.push(format!("unasked {}", asked.number));
                }
            }
            _ if list_changed => self.told.push(format!("notification {method}")),
            _ => {}
        }
    }

    fn progressed(&mut self, id: Option<u64>) {
        let now = self.now;
        let Some(id) = id.filter(|id| self.is_awaited(*id)) else { return };
        let Some(open) = self.open.get_mut(&id) else { return };
        if let (Some((extension, maximum)), Some(deadline)) = (open.extension, open.deadline) {
            open.deadline = Some((now + extension).min(maximum).max(deadline));
        }
        let token = open.token;
        if open.what == What::Call(true) {
            self.tell_progress(token);
        }
    }
}
