//! What went wrong, for people: all that is known, and no more of stderr than is read.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use sans_mcp::error::{HandshakeFault, Hint, PeerFault, WalkFault};
use sans_mcp::{Cause, End, Failure, FailureKind, StartFailure, Tail};

use super::status::Status;
use super::{server_options, text};
use crate::{CallError, ConnectError};

/// Lines of stderr that are shown.
const LINES: usize = 20;

/// A failed call, and the status that tells it. `maximum` is what progress could extend its timeout to, if it could.
pub(super) fn call(error: &CallError, maximum: Option<Duration>) -> (String, Status) {
    match error {
        CallError::Refused { refusal, .. } => (error.to_string(), Status::of_refusal(refusal)),
        CallError::Failed(error) => {
            let option = option_for(error.kind(), maximum);
            (failure(error, option.map(str::to_owned)), Status::of_failure(error))
        }
        CallError::Undecodable { .. } => (error.to_string(), Status::Protocol),
    }
}

/// A failed connect to a server that was to work in `directory`, and the status that tells it.
pub(super) fn connect(error: &ConnectError, directory: Option<&Path>) -> (String, Status) {
    match error {
        ConnectError::Config(error) => (server_options::config(error), Status::Usage),
        ConnectError::Refused { .. } => (error.to_string(), Status::Connect),
        ConnectError::Failed { failure: error, end } => {
            let option = match (&end.cause, directory) {
                (Cause::Start { failure: StartFailure::BadWorkingDirectory, .. }, Some(directory)) => {
                    Some(format!("--cwd {}", directory.display()))
                }
                _ => option_for(error.kind(), None).map(str::to_owned),
            };
            let mut text = failure(error, option);
            if !end.gone() {
                let _ = write!(text, "\n  {end}");
            }
            (text, Status::of_end(end))
        }
    }
}

/// Names the option of this command that a message is about.
fn here(option: Option<&str>) -> String {
    option.map(|option| format!(" (here: {option})")).unwrap_or_default()
}

/// The option that decides whether something fails so.
fn option_for(kind: &FailureKind, maximum: Option<Duration>) -> Option<&'static str> {
    match kind {
        FailureKind::Timeout(limit) if Some(*limit) == maximum => Some("--max-total"),
        FailureKind::Timeout(_) | FailureKind::Walk(WalkFault::TimedOut(_)) => Some("--timeout"),
        FailureKind::Ended(Cause::ConnectTimeout(_)) => Some("--connect-timeout"),
        FailureKind::TooLarge { .. }
        | FailureKind::Ended(
            Cause::Handshake(HandshakeFault::TooLarge(_)) | Cause::Peer(PeerFault::LongLine { .. }),
        ) => Some("--max-line"),
        FailureKind::InvalidResult(_) => Some("--no-validate"),
        _ => None,
    }
}

fn option_for_hint(hint: &Hint) -> Option<&'static str> {
    let Hint::NearMiss(id) = hint else { return None };
    let digits = id.strip_prefix('"')?.strip_suffix('"')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some("--id-matching decimal")
}

/// What a start that failed so may be about, beyond what it says itself.
fn question(failure: &Failure) -> Option<&'static str> {
    let FailureKind::Ended(cause) = failure.kind() else { return None };
    match cause {
        Cause::Start { command, failure: StartFailure::NotFound { .. } } if command.contains('=') => {
            Some("is it an argument of the tool? those go before `--`")
        }
        _ => None,
    }
}

fn failure(failure: &Failure, option: Option<String>) -> String {
    let mut text = format!(
        "server `{}`: `{}` failed: {}{}",
        failure.server(),
        failure.method(),
        failure.kind(),
        here(option.as_deref())
    );
    for hint in failure.hints() {
        let _ = write!(text, "; {hint}{}", here(option_for_hint(hint)));
    }
    if let Some(question) = question(failure) {
        let _ = write!(text, "\n  {question}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_option_decides_names_that_option() {
        let time = Duration::from_secs(5);
        for (kind, option) in [
            (FailureKind::Timeout(time), "--timeout"),
            (FailureKind::Walk(WalkFault::TimedOut(time)), "--timeout"),
            (FailureKind::Ended(Cause::ConnectTimeout(time)), "--connect-timeout"),
            (FailureKind::TooLarge { limit: 9 }, "--max-line"),
            (FailureKind::Ended(Cause::Handshake(HandshakeFault::TooLarge(9))), "--max-line"),
            (FailureKind::Ended(Cause::Peer(PeerFault::LongLine { limit: 9 })), "--max-line"),
            (FailureKind::InvalidResult("it is".into()), "--no-validate"),
        ] {
            assert_eq!(option_for(&kind, None), Some(option), "{kind:?}");
        }
        assert_eq!(option_for(&FailureKind::Timeout(time), Some(time)), Some("--max-total"));
        assert_eq!(option_for(&FailureKind::Timeout(time), Some(time * 2)), Some("--timeout"));
        assert_eq!(option_for(&FailureKind::Ended(Cause::OutputEnded), None), None);
    }

    #[test]
    fn only_digits_as_a_string_are_a_matter_of_id_matching() {
        let option = |id: &str| option_for_hint(&Hint::NearMiss(id.into()));
        assert_eq!(option("\"17\""), Some("--id-matching decimal"));
        assert_eq!(option("17.0"), None);
        assert_eq!(option("\"017 \""), None);
    }
}
