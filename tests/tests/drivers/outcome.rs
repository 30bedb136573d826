//! What a host sees of its client, whatever drives it.

use std::fmt;
use std::time::Duration;

use sans_mcp::{Code, Delivery, Exit, Failure, Refusal, State, ToolResult};

/// What came of one operation.
pub(crate) type Outcome = Result<Answer, Unsuccessful>;

/// An operation that went well.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Connected, listed, or a ping was answered.
    Done,
    /// The raw result.
    Result(String),
}

impl Answer {
    /// The raw result.
    pub(crate) fn raw(&self) -> &str {
        match self {
            Answer::Done => panic!("it has no result"),
            Answer::Result(raw) => raw,
        }
    }

    /// The text of a tool's result.
    pub(crate) fn text(&self) -> String {
        ToolResult::parse(self.raw()).unwrap().text().into_owned()
    }

    /// Whether the tool ran and failed.
    pub(crate) fn is_error(&self) -> bool {
        ToolResult::parse(self.raw()).unwrap().is_error()
    }
}

/// An operation without a result.
#[derive(Debug)]
pub(crate) enum Unsuccessful {
    /// It was never accepted.
    Refused(Refusal),
    /// It was accepted and failed.
    Failed(Failure),
}

impl Unsuccessful {
    pub(crate) fn code(&self) -> Code {
        match self {
            Unsuccessful::Refused(refusal) => refusal.code(),
            Unsuccessful::Failed(failure) => failure.code(),
        }
    }

    pub(crate) fn delivery(&self) -> Delivery {
        match self {
            Unsuccessful::Refused(_) => Delivery::NotSent,
            Unsuccessful::Failed(failure) => failure.delivery(),
        }
    }

    /// The failure; a refusal is none.
    pub(crate) fn failure(&self) -> &Failure {
        match self {
            Unsuccessful::Refused(refusal) => panic!("it was refused: {refusal}"),
            Unsuccessful::Failed(failure) => failure,
        }
    }

    /// How the process ended, if the failure tells.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self {
            Unsuccessful::Refused(_) => None,
            Unsuccessful::Failed(failure) => failure.exit(),
        }
    }
}

impl fmt::Display for Unsuccessful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsuccessful::Refused(refusal) => refusal.fmt(f),
            Unsuccessful::Failed(failure) => failure.fmt(f),
        }
    }
}

/// What happened without having been asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    State(State),
    /// The method of a notification.
    Notification(&'static str),
    Diagnostic(String),
    Stderr(Vec<u8>),
    /// The session is over.
    Closed,
}

/// How the host answers a request of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answering {
    pub(crate) method: &'static str,
    /// So long after it came.
    pub(crate) after: Duration,
    /// A result as raw JSON, or the code of an error.
    pub(crate) with: Result<&'static str, i64>,
}
