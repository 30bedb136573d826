//! One situation as text: a title, and who met with what.

use std::fmt::{Display, Write};
use std::time::Duration;

use sans_mcp::Code;

use super::naive;
use crate::cli::text;
use crate::{CallError, ToolReply};

/// The text of a scene.
#[derive(Debug)]
pub(super) struct Scene(String);

impl Scene {
    pub(super) fn new(title: &str) -> Scene {
        Scene(format!("\n{title}\n"))
    }

    /// What this client met with.
    pub(super) fn ours(&mut self, what: impl Display) {
        self.line("sans-mcp", what);
    }

    pub(super) fn line(&mut self, who: &str, what: impl Display) {
        let what = text::one_line(&what.to_string(), 3 * text::LINE);
        // Writing into memory cannot fail.
        let _ = writeln!(self.0, "  {who:<24}{what}");
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// How a call ended, on one line.
pub(super) fn answer(outcome: &Result<ToolReply, CallError>) -> String {
    let quoted = |words: &str| format!("`{}`", text::one_line(words, text::LINE));
    match outcome {
        Ok(reply) if reply.is_error() => format!("isError, {}", quoted(&reply.text())),
        Ok(reply) => quoted(&reply.text()),
        Err(error) if error.code() == Code::ERROR => match error.remote() {
            Some(remote) => format!("error {}, {}", remote.code, quoted(&remote.message)),
            None => error.to_string(),
        },
        Err(error) => format!("{} ({}), {error}", error.code(), error.delivery().as_str()),
    }
}

/// What a reader got that takes every chunk for a message, in the time it was given.
pub(super) fn chunks(seen: naive::Chunks, patience: Duration) -> String {
    let found = match seen.messages {
        0 => "no message".to_owned(),
        count => format!("{count} understood"),
    };
    let fault = seen.fault.map(|fault| format!("; the parser: {fault}")).unwrap_or_default();
    format!("{} chunks in {}, {found}{fault}", seen.chunks, millis(patience))
}

/// What a parent got that never reads stderr, in the time it was given.
pub(super) fn unread(seen: &naive::Unread, bound: Duration) -> String {
    let answered = match seen.answered {
        Some(elapsed) => format!("answered after {}", millis(elapsed)),
        None => format!("nothing in {}, the server is stuck", millis(bound)),
    };
    let memory = seen.memory.map(|(before, after)| {
        format!("; memory of the server {}, then {}", mebibytes(before), mebibytes(after))
    });
    answered + memory.as_deref().unwrap_or_default()
}

/// What a reader got that waits for the end of a line.
pub(super) fn line(seen: &naive::Line, elapsed: Duration) -> String {
    let end = if seen.ended { "then it ended" } else { "no end in sight; stopped here" };
    format!("held {} after {}, {end}", mebibytes(seen.bytes as u64), millis(elapsed))
}

pub(super) fn millis(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
