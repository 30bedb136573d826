//! Reads a line by building whole values.

use std::fmt;

use sans_mcp::error::InvalidResponse;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// What stands in a line.
pub(super) enum Reading {
    /// These messages, and nothing else.
    Messages(Vec<Meaning>),
    /// These messages, and then something that is none.
    Broken(Vec<Meaning>),
    /// Something that this reader has no values for.
    Unknown,
}

/// What a message is.
pub(super) enum Meaning {
    Noise,
    Notification,
    /// A request; without an id that can be answered if there is none.
    Request {
        id: Option<Number>,
        method: String,
    },
    Answer {
        id: Option<Value>,
        result: Option<Value>,
        error: Option<Value>,
        problem: Option<InvalidResponse>,
    },
}

/// An id that is to be repeated.
pub(super) enum Number {
    /// A string, or an integer that a value holds.
    Plain(Value),
    /// Any other number: it may be an integer that is too large for a value.
    Odd,
}

/// An object with all that stands in it, also what stands there twice.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Members, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        input.deserialize_map(Collect)
    }
}

/// Reads a line without the newline.
pub(super) fn read(line: &str) -> Reading {
    let line = line.strip_suffix('\r').unwrap_or(line);
    // Control characters before a message are passed over; what begins with an escape is not.
    let object = line.trim_start_matches(|c: char| c <= ' ' && c != '\u{1b}');
    let line = if object.starts_with('{') { object } else { line };
    if !line.starts_with('{') {
        // Blank lines, batches, and what may stand before a message are the business of another target.
        return if line.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            Reading::Broken(Vec::new())
        } else {
            Reading::Unknown
        };
    }
    let mut meanings = Vec::new();
    let mut raw = serde_json::Deserializer::from_str(line).into_iter::<&RawValue>();
    let mut at = 0;
    loop {
        let value = match raw.next() {
            None => return Reading::Messages(meanings),
            Some(Err(_))
                if line.get(at..).is_some_and(|rest| rest.trim_matches([' ', '\t', '\r']).is_empty()) =>
            {
                return Reading::Messages(meanings);
            }
            Some(Err(_)) => return Reading::Broken(meanings),
            Some(Ok(value)) => value.get(),
        };
        // Numbers, words and strings need something between them; only objects are read on.
        if !value.starts_with('{') {
            return Reading::Broken(meanings);
        }
        match serde_json::from_str::<Members>(value) {
            Ok(members) => meanings.push(meaning(&members)),
            Err(_) => return Reading::Unknown,
        }
        at = raw.byte_offset().max(at);
        if line.get(at..).is_some_and(|rest| !rest.chars().next().is_none_or(|c| " \t\r{".contains(c))) {
            return Reading::Broken(meanings);
        }
    }
}

fn meaning(members: &Members) -> Meaning {
    let last =
        |name: &str| members.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    let repeated = known.iter().any(|name| members.0.iter().filter(|(key, _)| key == name).count() > 1);
    let version = last("jsonrpc") == Some(Value::from("2.0"));
    let id = last("id");
    match last("method").filter(|method| !method.is_null()) {
        Some(Value::String(method)) if version && !repeated => match id {
            None => Meaning::Notification,
            Some(id) => Meaning::Request { id: repeatable(id), method },
        },
        Some(_) => Meaning::Noise,
        None => {
            let (result, error) = (last("result"), last("error"));
            if id.is_none() && result.is_none() && error.is_none() {
                return Meaning::Noise;
            }
            let error = error.filter(|error| !error.is_null());
            let result = result.filter(|result| error.is_none() || !result.is_null());
            let problem = if repeated {
                Some(InvalidResponse::Repeated)
            } else if version {
                None
            } else {
                Some(InvalidResponse::Version)
            };
            Meaning::Answer { id: id.filter(|id| !id.is_null()), result, error, problem }
        }
    }
}

/// Ids of 1 KiB as they are written are too long to be repeated; those near it are left to others.
fn repeatable(id: Value) -> Option<Number> {
    match id {
        Value::String(text) if text.len() > 100 => Some(Number::Odd),
        Value::Number(ref number) if number.is_f64() => Some(Number::Odd),
        Value::String(_) | Value::Number(_) => Some(Number::Plain(id)),
        _ => None,
    }
}
