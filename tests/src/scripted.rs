//! A server that behaves well, except where a test says otherwise.

use serde_json::Value;

use crate::peer::{Agenda, Peer};

/// A message of the client, as the server reads it.
#[derive(Clone, Debug)]
pub struct Said {
    /// The whole line.
    pub line: String,
    /// Its id, if it is a request or a reply.
    pub id: Value,
    /// Its method; empty if it is a reply.
    pub method: String,
    /// Its parameters, or null.
    pub params: Value,
}

impl Said {
    fn read(line: &[u8]) -> Option<Said> {
        let message: Value = serde_json::from_slice(line).ok()?;
        let member = |name: &str| message.get(name).cloned().unwrap_or(Value::Null);
        Some(Said {
            line: String::from_utf8_lossy(line).into_owned(),
            id: member("id"),
            method: message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned(),
            params: member("params"),
        })
    }

    /// Answers with a raw result.
    pub fn result(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id)
    }

    /// Answers as a tool does, with text.
    pub fn text(&self, text: &str) -> String {
        self.result(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))
    }

    /// Answers with an error.
    pub fn error(&self, code: i64, message: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"{message}"}}}}"#, self.id)
    }

    /// An argument of a call.
    pub fn argument(&self, name: &str) -> &Value {
        self.params.get("arguments").and_then(|arguments| arguments.get(name)).unwrap_or(&Value::Null)
    }
}

type On = Box<dyn FnMut(&Said, &mut Agenda) -> bool>;

/// A server that shakes hands, lists its tools, answers calls with `ok` and leaves when it is asked to.
pub struct Scripted {
    initialize: String,
    /// One per page; the last one serves all further requests.
    pages: Vec<String>,
    on: On,
    pages_given: usize,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripted").field("initialize", &self.initialize).finish_non_exhaustive()
    }
}

/// A good answer to `initialize` that offers these capabilities (raw JSON).
pub fn initialize(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{{"name":"scripted","version":"1.2"}},"instructions":"be kind"}}"#
    )
}

/// A list of tools of these names, with the plainest schema.
pub fn list(names: &[&str]) -> String {
    let tools: Vec<String> = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}

impl Default for Scripted {
    fn default() -> Scripted {
        Scripted {
            initialize: initialize(
                "2025-11-25",
                r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}}"#,
            ),
            pages: vec![list(&["t", "u"])],
            on: Box::new(|_, _| false),
            pages_given: 0,
        }
    }
}

impl Scripted {
    /// Behaves well, except where `on` says that it has dealt with a message.
    pub fn on(on: impl FnMut(&Said, &mut Agenda) -> bool + 'static) -> Scripted {
        Scripted { on: Box::new(on), ..Scripted::default() }
    }

    /// Never answers calls.
    pub fn silent() -> Scripted {
        Scripted::on(|said, _| said.method == "tools/call")
    }

    /// Offers these capabilities.
    #[must_use]
    pub fn offering(mut self, capabilities: &str) -> Scripted {
        self.initialize = initialize("2025-11-25", capabilities);
        self
    }

    /// Answers `initialize` with this raw result.
    #[must_use]
    pub fn shaking(mut self, initialize: impl Into<String>) -> Scripted {
        self.initialize = initialize.into();
        self
    }

    /// Lists these pages.
    #[must_use]
    pub fn listing<P: Into<String>>(mut self, pages: impl IntoIterator<Item = P>) -> Scripted {
        self.pages = pages.into_iter().map(Into::into).collect();
        self
    }
}

impl Peer for Scripted {
    fn line(&mut self, line: &[u8], agenda: &mut Agenda) {
        let Some(said) = Said::read(line) else { return };
        if (self.on)(&said, agenda) || said.id.is_null() || said.method.is_empty() {
            return;
        }
        let answer = match said.method.as_str() {
            "initialize" => said.result(&self.initialize),
            "tools/list" => {
                let page = self.pages.get(self.pages_given).or(self.pages.last());
                let answer = said.result(page.map_or("{}", String::as_str));
                self.pages_given += 1;
                answer
            }
            "tools/call" => said.text("ok"),
            "ping" => said.result("{}"),
            _ => said.error(-32601, "Method not found"),
        };
        agenda.say(&answer);
    }
}
