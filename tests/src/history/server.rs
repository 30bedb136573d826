//! The server of a history: what it saw, and the lines it answers with.

use std::fmt::Write;

use super::{Answer, Saying};

/// What the server knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    line: Vec<u8>,
    /// Requests that it read whole and has not answered.
    open: Vec<(u64, String)>,
    answered: Vec<u64>,
    /// Requests of its own, and the newest of them that can be cancelled.
    asked: u64,
    asked_roots: u64,
    tools_changed: bool,
    batches: bool,
    paged: bool,
}

impl Seen {
    pub(super) fn new(batches: bool, paged: bool) -> Seen {
        Seen { batches, paged, ..Seen::default() }
    }

    /// All of it.
    pub(super) fn digest(&self, into: &mut String) {
        let _ = write!(into, "{self:?}");
    }

    /// It reads.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let Ok(message) = serde_json::from_slice::<serde_json::Value>(&line) else { continue };
            let method = message.get("method").and_then(serde_json::Value::as_str);
            let id = message.get("id").and_then(serde_json::Value::as_u64);
            if let (Some(method), Some(id)) = (method, id) {
                self.open.push((id, method.to_owned()));
            }
        }
    }

    /// Answers one of the open requests; nothing if there is none.
    pub(super) fn answer(&mut self, which: u8, how: Answer) -> Vec<u8> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let newest_first = self.open.len() - 1 - usize::from(which) % self.open.len();
        let (id, method) = self.open.remove(newest_first);
        self.answered.push(id);
        let result = self.result(id, &method, how == Answer::More);
        let good = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let text = match how {
            Answer::Result | Answer::More => good,
            Answer::Twice => format!("{good}\n{good}"),
            Answer::Error => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-{},"message":"no"}}}}"#, 32_000 + id)
            }
            Answer::OddError => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"no"}}"#),
            Answer::StringId => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{result}}}"#),
            Answer::Fraction => format!(r#"{{"jsonrpc":"2.0","id":{id}.0,"result":{result}}}"#),
            Answer::Both => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"error":{{"code":1,"message":"x"}}}}"#
            ),
            Answer::Neither => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            Answer::NoVersion => format!(r#"{{"id":{id},"result":{result}}}"#),
            Answer::Null => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#),
            Answer::TooLong => {
                format!(r#"{{"jsonrpc":"2.0","result":{{"x":"{}"}},"id":{id}}}"#, "y".repeat(3 << 10))
            }
            Answer::NoText => {
                let mut bytes = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":""#).into_bytes();
                bytes.extend_from_slice(b"\xff\"}}\n");
                return bytes;
            }
            Answer::Batch => format!("[{good}]"),
            Answer::Half => return good.get(..good.len() / 2).unwrap_or_default().as_bytes().to_vec(),
        };
        format!("{text}\n").into_bytes()
    }

    /// Different for every id, and the same again for the same one.
    fn result(&self, id: u64, method: &str, more: bool) -> String {
        match method {
            "initialize" => {
                let version = if self.batches { "2025-03-26" } else { "2025-06-18" };
                format!(
                    r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}},"resources":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}"#
                )
            }
            "tools/list" => {
                let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
                let third = if self.tools_changed { format!(",{}", tool("tool2")) } else { String::new() };
                // Two pages that follow each other now and then have the same.
                let cursor =
                    if more || self.paged { format!(r#","nextCursor":"{}""#, id & 2) } else { String::new() };
                format!(r#"{{"tools":[{},{}{third}]{cursor}}}"#, tool("tool0"), tool("tool1"))
            }
            _ => {
                let filling = if more { "z".repeat(600) } else { String::new() };
                format!(r#"{{"content":[{{"type":"text","text":"{id}{filling}"}}]}}"#)
            }
        }
    }

    /// Says something that answers no open request.
    pub(super) fn say(&mut self, saying: Saying) -> Vec<u8> {
        let asks = |id: u64, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        if matches!(saying, Saying::Ping | Saying::Pings(_) | Saying::Unknown | Saying::Roots) {
            self.asked += 1;
        }
        let text = match saying {
            Saying::Noise => "server is warming up".to_owned(),
            Saying::Brace => "{\n  \"id\": 1,".to_owned(),
            Saying::Blank => " \t\r".to_owned(),
            Saying::Ping => asks(self.asked, "ping"),
            Saying::Pings(count) => vec![asks(self.asked, "ping"); usize::from(count)].join("\n"),
            Saying::Roots => {
                self.asked_roots = self.asked;
                format!(r#"{{"jsonrpc":"2.0","id":"r{}","method":"roots/list"}}"#, self.asked)
            }
            Saying::CancelRoots => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"r{}"}}}}"#,
                self.asked_roots
            ),
            Saying::Unknown => asks(self.asked, "vendor/unknown"),
            Saying::NullId => r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(),
            Saying::ListChanged => {
                self.tools_changed = true;
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned()
            }
            Saying::Progress(which) => {
                let open = self.open.get(usize::from(which) % self.open.len().max(1));
                let token = open.map_or(77, |(id, _)| *id);
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
                )
            }
            Saying::Notifications(count) => {
                [r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#].repeat(usize::from(count)).join("\n")
            }
            Saying::Again(which) => {
                let old = self.answered.get(usize::from(which) % self.answered.len().max(1)).copied();
                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#, old.unwrap_or(77))
            }
            Saying::Stranger => r#"{"jsonrpc":"2.0","id":1000000,"result":{}}"#.to_owned(),
            Saying::Uncorrelated => {
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#.to_owned()
            }
        };
        format!("{text}\n").into_bytes()
    }
}
