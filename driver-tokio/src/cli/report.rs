//! What went wrong, for people: all that is known, and no more of stderr than is read.

use std::fmt::Write;

use sans_mcp::{ConfigError, End, Failure, Tail};

use super::status::Status;
use super::text;
use crate::{CallError, ConnectError};

/// Lines of stderr that are shown.
const LINES: usize = 20;

/// A failed call, and the status that tells it.
pub(super) fn call(error: &CallError) -> (String, Status) {
    match error {
        CallError::Refused { refusal, .. } => (error.to_string(), Status::of_refusal(refusal)),
        CallError::Failed(error) => (failure(error), Status::of_failure(error)),
        CallError::Undecodable { .. } => (error.to_string(), Status::Protocol),
    }
}

/// A failed connect, and the status that tells it.
pub(super) fn connect(error: &ConnectError) -> (String, Status) {
    match error {
        ConnectError::Config(error) => (config(error), Status::Usage),
        ConnectError::Refused { .. } => (error.to_string(), Status::Connect),
        ConnectError::Failed { failure: error, end } => {
            let mut text = failure(error);
            if !end.gone() {
                let _ = write!(text, "\n  {end}");
            }
            (text, Status::of_end(end))
        }
    }
}

/// A configuration that cannot be used; nothing was started.
pub(super) fn config(error: &ConfigError) -> String {
    let option = match error {
        ConfigError::Blocked { .. } => "--allow-shell",
        _ => return error.to_string(),
    };
    format!("{error} (here: {option})")
}

fn failure(failure: &Failure) -> String {
    let mut text =
        format!("server `{}`: `{}` failed: {}", failure.server(), failure.method(), failure.kind());
    for hint in failure.hints() {
        let _ = write!(text, "; {hint}");
    }
    let _ = write!(text, "\n  {}", failure.code());
    if failure.method() == "tools/call" {
        let _ = write!(text, ", {}", failure.delivery().as_str());
    }
    let _ = write!(text, ", after {} ms, phase {}", failure.elapsed().as_millis(), failure.phase());
    if let Some(version) = failure.version() {
        let _ = write!(text, ", version {version}");
    }
    if let Some(data) = failure.remote().and_then(|remote| remote.data.as_deref()) {
        let _ = write!(text, "\n  data: {}", text::one_line(data, 1_024));
    }
    if let Some(exit) = failure.exit() {
        let _ = write!(text, "\n  process: {exit}");
    }
    text.push_str(&stderr(failure.stderr()));
    text
}

/// The last lines of what a server wrote on stderr, indented; nothing if it wrote nothing.
pub(super) fn stderr(tail: &Tail) -> String {
    let lines: Vec<&str> = tail.as_str().lines().collect();
    let left_out = lines.len().saturating_sub(LINES);
    let mut text = match (lines.is_empty(), left_out > 0 || tail.is_truncated()) {
        (true, _) => return String::new(),
        (false, true) => String::from("\n  the end of its stderr:"),
        (false, false) => String::from("\n  its stderr:"),
    };
    for line in lines.into_iter().skip(left_out) {
        let _ = write!(text, "\n    {line}");
    }
    text
}

/// What is left although the session is over, if something is.
pub(super) fn left(end: &End) -> Option<String> {
    (!end.gone()).then(|| end.to_string())
}
