//! Lines to commands.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::error::Refusal;
use crate::sample::escaped;
use crate::tool::{Call, Request};

/// A word of a line that is quoted in an error, in bytes.
const QUOTED: usize = 64;

/// [`Call`] and [`Request`] have the same builders and no type in common.
macro_rules! apply {
    ($options:expr, $to:expr) => {{
        let (options, mut to) = ($options, $to);
        if let Some(timeout) = options.timeout {
            to = to.timeout(timeout);
        }
        if let Some(maximum) = options.maximum {
            to = to.maximum(maximum);
        }
        if options.progress {
            to = to.progress();
        }
        if options.reset_on_progress {
            to = to.reset_on_progress();
        }
        options.meta.iter().try_fold(to, |to, (key, json)| to.meta(key, json.get()))
    }};
}

/// One command of a script.
#[derive(Debug)]
pub(super) enum Command<'a> {
    Call {
        id: Option<Box<str>>,
        tool: Box<str>,
        arguments: &'a str,
        options: Options<'a>,
    },
    Request {
        id: Option<Box<str>>,
        method: Box<str>,
        params: Option<&'a str>,
        options: Options<'a>,
    },
    List {
        id: Option<Box<str>>,
    },
    Notify {
        method: Box<str>,
        params: Option<&'a str>,
    },
    Cancel {
        id: Box<str>,
        reason: Box<str>,
    },
    /// For the operation of this id, or for all.
    Wait {
        id: Option<Box<str>>,
    },
    Sleep(Duration),
    Counters,
    Shutdown {
        grace: Duration,
    },
    Close,
}

/// How an operation is to be carried out; what is not set follows the session's settings.
#[derive(Debug)]
pub(super) struct Options<'a> {
    timeout: Option<Option<Duration>>,
    maximum: Option<Option<Duration>>,
    progress: bool,
    reset_on_progress: bool,
    meta: BTreeMap<String, &'a RawValue>,
}

/// Why a line is no command, or is one that cannot be carried out. It has no effect; the script goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadLine {
    #[error("the line is over {} bytes", super::Input::LINE)]
    TooLong,
    #[error("not UTF-8 at byte {column}")]
    Utf8 { column: usize },
    #[error("not JSON at byte {column}: check its quotes, commas and brackets")]
    Json { column: usize },
    #[error("not JSON: the line ends at byte {column}, before the command does")]
    CutOff { column: usize },
    #[error("a command is a JSON object, such as {{\"op\":\"ping\"}}")]
    NotAnObject,
    #[error("a command needs a member `op`, such as {{\"op\":\"ping\"}}")]
    NoOp,
    #[error("there is no op `{0}`; there are {known}", known = OPS.join(", "))]
    UnknownOp(String),
    #[error("`{op}` needs a member `{member}`")]
    Missing { op: &'static str, member: &'static str },
    #[error("`{op}` has no member `{member}`")]
    UnknownMember { op: &'static str, member: String },
    #[error("`{member}` must be {wanted}")]
    Type { member: &'static str, wanted: &'static str },
    #[error("an operation `{0}` is open: choose another id, or wait for it")]
    IdInUse(Box<str>),
    #[error("there was no operation `{0}`: write the id that it was given")]
    NotUsed(Box<str>),
    #[error("{0}")]
    Refused(Refusal),
}

const OPS: [&str; 11] =
    ["call", "request", "list", "ping", "notify", "cancel", "wait", "sleep", "counters", "shutdown", "close"];

impl<'a> Command<'a> {
    pub(super) fn parse(line: &'a str) -> Result<Command<'a>, BadLine> {
        let mut members = Members::parse(line)?;
        let command = match members.op {
            "call" => Command::Call {
                id: members.id()?,
                tool: members.needed_text("tool")?,
                arguments: members.object("arguments")?.unwrap_or("{}"),
                options: members.options()?,
            },
            "request" => Command::Request {
                id: members.id()?,
                method: members.needed_text("method")?,
                params: members.object("params")?,
                options: members.options()?,
            },
            "ping" => Command::Request {
                id: members.id()?,
                method: "ping".into(),
                params: None,
                options: members.options()?,
            },
            "list" => Command::List { id: members.id()? },
            "notify" => {
                Command::Notify { method: members.needed_text("method")?, params: members.object("params")? }
            }
            "cancel" => Command::Cancel {
                id: members.needed_text("id")?,
                reason: members.text("reason")?.unwrap_or_else(|| "cancelled by the script".into()),
            },
            "wait" => Command::Wait { id: members.text("id")?.filter(|id| **id != *"all") },
            "sleep" => Command::Sleep(members.needed_milliseconds("ms")?),
            "shutdown" => Command::Shutdown { grace: members.needed_milliseconds("grace_ms")? },
            "counters" => Command::Counters,
            _ => Command::Close,
        };
        members.none_left()?;
        Ok(command)
    }
}

impl Options<'_> {
    pub(super) fn for_call(&self, call: Call) -> Result<Call, Refusal> {
        apply!(self, call)
    }

    pub(super) fn for_request(&self, request: Request) -> Result<Request, Refusal> {
        apply!(self, request)
    }
}

/// The members of a line that were not taken yet.
struct Members<'a> {
    op: &'static str,
    left: BTreeMap<String, &'a RawValue>,
}

impl<'a> Members<'a> {
    fn parse(line: &'a str) -> Result<Members<'a>, BadLine> {
        let mut left: BTreeMap<String, &RawValue> =
            serde_json::from_str(line).map_err(|error| json_fault(&error))?;
        let op = left.remove("op").ok_or(BadLine::NoOp)?;
        let op: String =
            serde_json::from_str(op.get()).map_err(|_| BadLine::Type { member: "op", wanted: "a string" })?;
        match OPS.into_iter().find(|known| *known == op) {
            Some(op) => Ok(Members { op, left }),
            None => Err(BadLine::UnknownOp(escaped(&op, QUOTED))),
        }
    }

    fn none_left(&self) -> Result<(), BadLine> {
        match self.left.keys().next() {
            Some(member) => Err(BadLine::UnknownMember { op: self.op, member: escaped(member, QUOTED) }),
            None => Ok(()),
        }
    }

    fn take(&mut self, member: &str) -> Option<&'a str> {
        self.left.remove(member).map(RawValue::get)
    }

    fn read<V: serde::Deserialize<'a>>(
        &mut self,
        member: &'static str,
        wanted: &'static str,
    ) -> Result<Option<V>, BadLine> {
        let read = self.take(member).map(serde_json::from_str);
        read.transpose().map_err(|_| BadLine::Type { member, wanted })
    }

    fn needed<V>(&self, value: Option<V>, member: &'static str) -> Result<V, BadLine> {
        value.ok_or(BadLine::Missing { op: self.op, member })
    }

    fn text(&mut self, member: &'static str) -> Result<Option<Box<str>>, BadLine> {
        self.read(member, "a string")
    }

    fn needed_text(&mut self, member: &'static str) -> Result<Box<str>, BadLine> {
        let text = self.text(member)?;
        self.needed(text, member)
    }

    /// An id, short enough to be repeated in every event; `all` has a meaning of its own in `wait`.
    fn id(&mut self) -> Result<Option<Box<str>>, BadLine> {
        /// 256 bytes: a UUID with a prefix fits.
        const LONGEST: usize = 256;
        let wanted = "a string of at most 256 bytes other than \"all\"";
        match self.read::<Box<str>>("id", wanted)? {
            Some(id) if id.len() > LONGEST || *id == *"all" => Err(BadLine::Type { member: "id", wanted }),
            id => Ok(id),
        }
    }

    fn flag(&mut self, member: &'static str) -> Result<bool, BadLine> {
        Ok(self.read(member, "true or false")?.unwrap_or(false))
    }

    /// Milliseconds, or null for no end.
    fn milliseconds(&mut self, member: &'static str) -> Result<Option<Option<Duration>>, BadLine> {
        let wanted = "a whole number of milliseconds, or null for no end";
        Ok(self.read::<Option<u64>>(member, wanted)?.map(|millis| millis.map(Duration::from_millis)))
    }

    fn needed_milliseconds(&mut self, member: &'static str) -> Result<Duration, BadLine> {
        let millis = self.read(member, "a whole number of milliseconds")?;
        self.needed(millis, member).map(Duration::from_millis)
    }

    fn object(&mut self, member: &'static str) -> Result<Option<&'a str>, BadLine> {
        match self.take(member) {
            Some(json) if !json.starts_with('{') => Err(BadLine::Type { member, wanted: "a JSON object" }),
            object => Ok(object),
        }
    }

    fn options(&mut self) -> Result<Options<'a>, BadLine> {
        Ok(Options {
            timeout: self.milliseconds("timeout_ms")?,
            maximum: self.milliseconds("max_total_ms")?,
            progress: self.flag("progress")?,
            reset_on_progress: self.flag("reset_on_progress")?,
            meta: self.read("meta", "a JSON object")?.unwrap_or_default(),
        })
    }
}

fn json_fault(error: &serde_json::Error) -> BadLine {
    if error.is_data() {
        return BadLine::NotAnObject;
    }
    let column = error.column();
    if error.is_eof() { BadLine::CutOff { column } } else { BadLine::Json { column } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &str) -> String {
        Command::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn a_bad_line_is_told_with_what_and_where() {
        assert_eq!(fault(r#"{"op":"call","#), "not JSON: the line ends at byte 13, before the command does");
        assert_eq!(fault(r#"{"op":"ping"} x"#), "not JSON at byte 15: check its quotes, commas and brackets");
        assert_eq!(fault("[1]"), r#"a command is a JSON object, such as {"op":"ping"}"#);
        assert_eq!(fault("{}"), r#"a command needs a member `op`, such as {"op":"ping"}"#);
        assert_eq!(fault(r#"{"op":7}"#), "`op` must be a string");
        assert!(
            fault(r#"{"op":"ca\nll"}"#)
                .starts_with("there is no op `ca\\nll`; there are call, request, list")
        );
        assert_eq!(fault(r#"{"op":"call","id":"a"}"#), "`call` needs a member `tool`");
        assert_eq!(fault(r#"{"op":"ping","tool":"t"}"#), "`ping` has no member `tool`");
        assert_eq!(fault(r#"{"op":"call","tool":"t","arguments":[]}"#), "`arguments` must be a JSON object");
        assert_eq!(fault(r#"{"op":"call","tool":"t","progress":1}"#), "`progress` must be true or false");
        assert_eq!(
            fault(r#"{"op":"call","tool":"t","timeout_ms":1.5}"#),
            "`timeout_ms` must be a whole number of milliseconds, or null for no end"
        );
        assert_eq!(fault(r#"{"op":"sleep","ms":null}"#), "`ms` must be a whole number of milliseconds");
        assert_eq!(fault(r#"{"op":"sleep"}"#), "`sleep` needs a member `ms`");
        assert_eq!(
            fault(r#"{"op":"ping","id":"all"}"#),
            r#"`id` must be a string of at most 256 bytes other than "all""#
        );
    }

    #[test]
    fn an_id_has_256_bytes_at_most() {
        let named =
            |length| Command::parse(&format!(r#"{{"op":"list","id":"{}"}}"#, "i".repeat(length))).is_ok();
        assert_eq!([1, 256, 257, 1_000].map(named), [true, true, false, false]);
    }

    #[test]
    fn every_op_is_read() {
        let lines = [
            r#"{"op":"call","id":"a","tool":"t","arguments":{"n":1.0},"timeout_ms":5,"progress":true,"reset_on_progress":true,"max_total_ms":null,"meta":{"traceparent":"x"}}"#,
            r#"{"op":"request","id":"r","method":"resources/read","params":{"uri":"u"}}"#,
            r#"{"op":"list"}"#,
            r#"{"op":"ping","timeout_ms":null}"#,
            r#"{"op":"notify","method":"m"}"#,
            r#"{"op":"cancel","id":"a","reason":"r"}"#,
            r#"{"op":"wait","id":"all"}"#,
            r#"{"op":"sleep","ms":3}"#,
            r#"{"op":"counters"}"#,
            r#"{"op":"shutdown","grace_ms":10}"#,
            r#"{"op":"close"}"#,
        ];
        for line in lines {
            assert!(Command::parse(line).is_ok(), "{line}");
        }
        let Command::Call { arguments, options, .. } = Command::parse(lines[0]).unwrap() else { panic!() };
        assert_eq!(arguments, r#"{"n":1.0}"#);
        assert_eq!((options.timeout, options.maximum), (Some(Some(Duration::from_millis(5))), Some(None)));
        assert!(matches!(Command::parse(lines[6]).unwrap(), Command::Wait { id: None }));
    }

    #[test]
    fn w07_depth_and_digits_pass_through() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let line = format!(r#"{{"op":"call","tool":"t","arguments":{{"d":{deep},"n":1e999}}}}"#);
        let Command::Call { arguments, .. } = Command::parse(&line).unwrap() else { panic!() };
        assert_eq!(arguments, format!(r#"{{"d":{deep},"n":1e999}}"#));
    }
}
