//! Compares what came of a case with its record.

use std::fmt::Debug;

use sans_mcp::{Catalog, Counters, End, Failure, Refusal, ToolResult};
use serde_json::Value;

use super::{Counter, Expectation, Expected};
use crate::trace::failed;

/// What came of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Connected, or listed.
    Fine,
    /// The server answered a ping; what with is not told.
    Pong,
    /// This raw result.
    Raw(String),
    /// The stable name and all that a failure tells.
    Failed(&'static str, String),
    /// The stable name of a refusal.
    Refused(&'static str),
    /// Nothing came.
    Nothing,
}

impl From<&Failure> for Found {
    fn from(failure: &Failure) -> Found {
        Found::Failed(failure.code().as_str(), format!("{}\n{}", failure.report(), failed(failure)))
    }
}

impl From<&Refusal> for Found {
    fn from(refusal: &Refusal) -> Found {
        Found::Refused(refusal.code().as_str())
    }
}

impl Found {
    fn fits(&self, expected: &Expected) -> bool {
        match (expected, self) {
            (Expected::Fine, Found::Fine) | (Expected::Raw(_), Found::Pong) => true,
            (Expected::Raw(raw), Found::Raw(found)) => found == raw,
            (Expected::Text(text), Found::Raw(found)) => {
                ToolResult::parse(found).is_ok_and(|result| result.text() == *text)
            }
            (Expected::Long(letter, count), Found::Raw(found)) => {
                ToolResult::parse(found).is_ok_and(|result| {
                    let text = result.text();
                    text.len() == *count && text.chars().all(|found| found == *letter)
                })
            }
            (Expected::Fails(code, texts), Found::Failed(found, report)) => {
                code == found && texts.iter().all(|text| report.contains(text))
            }
            (Expected::Refused(code), Found::Refused(found)) => code == found,
            _ => false,
        }
    }
}

/// What does not fit, a line for each.
#[derive(Debug, Default)]
pub struct Faults(Vec<String>);

impl Faults {
    /// The lines.
    pub fn into_lines(self) -> Vec<String> {
        self.0
    }

    /// Notes that `what` is not as expected.
    pub fn equal<V: PartialEq + Debug>(&mut self, what: &str, found: V, expected: V) {
        if found != expected {
            self.0.push(format!("{what}: {found:?}, expected {expected:?}"));
        }
    }

    /// Compares what came of one operation.
    pub fn outcome(&mut self, what: &str, found: &Found, expected: &Expected) {
        if !found.fits(expected) {
            self.0.push(format!("{what}: expected {expected:?}, got {found:.400?}"));
        }
    }

    /// Compares the tools that are listed and those that were set aside.
    pub fn catalog(&mut self, catalog: &Catalog, record: &Expectation) {
        let tools: Vec<&str> = catalog.tools().map(|tool| tool.name()).collect();
        self.equal("tools", tools, record.tools.to_vec());
        let aside: Vec<&str> = catalog.set_aside().iter().map(|tool| &*tool.name).collect();
        self.equal("set aside", aside, record.set_aside.to_vec());
    }

    /// Compares how the session ended.
    pub fn end(&mut self, end: &End, record: &Expectation) {
        self.equal("end", end.cause.code().as_str(), record.end.unwrap_or("CLIENT_CLOSED"));
        self.equal("gone", end.gone(), true);
    }

    /// Compares all counters: those that the record does not name must be zero.
    pub fn counters(&mut self, counters: &Counters, record: &Expectation) {
        for counter in Counter::ALL {
            let expected = record.counters.iter().find(|(named, _)| *named == counter);
            let expected = expected.map_or(0, |(_, value)| *value);
            self.equal(&format!("{counter:?}"), counter.of(counters), expected);
        }
    }

    /// Compares diagnostics, which are also few, short and plain and name the server.
    pub fn diagnostics(&mut self, lines: &[&str], record: &Expectation) {
        for (text, times) in &record.diagnostics {
            let found = lines.iter().filter(|line| line.contains(text)).count();
            self.equal(&format!("diagnostics with {text:?}"), found, *times);
        }
        for line in lines {
            let plain = line.len() < 1_024 && !line.chars().any(char::is_control);
            let fits = plain && line.contains("server `player`");
            self.equal(&format!("{line:?} is short and plain"), fits, true);
        }
        self.equal("fewer than 100 diagnostics", lines.len() < 100, true);
    }

    /// Compares the messages that the server got: the methods that the record names, and all replies.
    pub fn messages(&mut self, messages: &[Value], record: &Expectation) {
        for (method, times) in &record.sent {
            let found = messages.iter().filter(|message| message["method"] == *method).count();
            self.equal(&format!("`{method}` was sent"), found, *times);
        }
        let replies: Vec<&Value> =
            messages.iter().filter(|message| message.get("method").is_none()).collect();
        self.equal("replies", replies.len(), record.replies.len());
        for (id, error) in &record.replies {
            let found: Vec<Option<i64>> = replies
                .iter()
                .filter(|reply| serde_json::from_str::<Value>(id).is_ok_and(|id| reply["id"] == id))
                .map(|reply| reply.get("error").and_then(|error| error["code"].as_i64()))
                .collect();
            self.equal(&format!("replies to {id}"), found, vec![*error]);
        }
    }
}
