//! What came of operations, in a form that outlives the poll.

use sans_mcp::error::Failure;
use sans_mcp::{Answer, Code, Completion, Delivery, PeerHandle, Reply, Time};

use crate::Token;

/// A completed operation.
#[derive(Debug)]
pub struct Done {
    /// When it ended.
    pub at: Time,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// Connected.
    Connected,
    /// Listed.
    Listed,
    /// The raw result.
    Answer(String),
    /// It failed.
    Failed(Failure),
}

impl Outcome {
    /// The raw result, if there is one.
    pub fn answer(&self) -> Option<&str> {
        match self {
            Outcome::Answer(text) => Some(text),
            _ => None,
        }
    }

    /// The failure, if it failed.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// The code of the failure.
    pub fn code(&self) -> Option<Code> {
        self.failure().map(Failure::code)
    }

    /// How far it got, if it failed.
    pub fn delivery(&self) -> Option<Delivery> {
        self.failure().map(Failure::delivery)
    }
}

/// A request of the server that the host has not answered.
#[derive(Debug)]
pub struct PeerAsked {
    /// Answer with this.
    pub handle: PeerHandle,
    /// Its method.
    pub method: &'static str,
    /// Its parameters.
    pub params: Option<String>,
}

/// As a driver does it: the result is taken, then checked.
pub(super) fn outcome(completion: Completion<'_, Token>) -> Outcome {
    match completion.outcome {
        Ok(Reply::Connected) => Outcome::Connected,
        Ok(Reply::Listed) => Outcome::Listed,
        Ok(Reply::Answer(answer)) => checked(answer),
        Err(failure) => Outcome::Failed(failure),
    }
}

fn checked(answer: Answer<'_>) -> Outcome {
    let mut payload = answer.take();
    match payload.check() {
        Ok(()) => Outcome::Answer(payload.to_string()),
        Err(failure) => Outcome::Failed(failure),
    }
}
