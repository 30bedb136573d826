//! Odd things that settled no call.

use std::fmt;
use std::sync::Arc;

use crate::error::{RemoteError, WalkFault};

/// Something odd that was seen. Of each kind the first 32 are given out and then each whose count is a power of two,
/// so a flood stays readable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Name of the server.
    pub server: Arc<str>,
    /// What was seen.
    pub kind: DiagnosticKind,
    /// How many of this kind there were, this one included.
    pub count: u64,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server `{}`: {}", self.server, self.kind)?;
        if self.count > 1 {
            write!(f, " ({} so far)", self.count)?;
        }
        Ok(())
    }
}

/// What was seen. Samples are bounded, escaped, and free of secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// A line of output that is no message (row W05).
    #[error("a line on its output is no message: {0}")]
    Noise(Box<str>),
    /// Several lines that look like one pretty-printed message; the sample is the first of them.
    #[error("{lines} lines on its output look like multi-line JSON, a message must be on one line: {sample}")]
    MultiLineJson {
        /// How many lines.
        lines: usize,
        /// The first of them.
        sample: Box<str>,
    },
    /// A line over the line limit that names no open call.
    #[error("a line over the limit of {0} bytes was thrown away")]
    LongLine(usize),
    /// A batch, where the negotiated version has none (row W08).
    #[error("a batch, which the negotiated version does not have")]
    Batch,
    /// An answer to a call that timed out or was cancelled.
    #[error("a late answer to request {0}")]
    Late(u64),
    /// A second answer to a call.
    #[error("a second answer to request {0}")]
    Duplicate(u64),
    /// An answer to a call that was settled long ago.
    #[error("an answer to request {0}, which ended long ago")]
    Stale(u64),
    /// An answer to a request that was never sent.
    #[error("an answer with id {0}, which was never sent")]
    UnknownId(Box<str>),
    /// An answer whose id is the right number in the wrong form (row L07).
    #[error("an answer with id {0}, which is not the id that was sent")]
    NearMiss(Box<str>),
    /// An error that names no call.
    #[error("an error that names no call: {0}")]
    Uncorrelated(RemoteError),
    /// A request whose id is null or no valid id: it cannot be answered.
    #[error("a request without a valid id: {0}")]
    BadRequest(Box<str>),
    /// A request whose method the host did not declare; it was answered with an error.
    #[error("refused its request `{0}`")]
    RefusedRequest(Box<str>),
    /// A notification that is unknown, or whose capability was not negotiated.
    #[error("ignored its notification `{0}`")]
    IgnoredNotification(Box<str>),
    /// Notifications over the allowed rate were dropped.
    #[error("notifications over the allowed rate were dropped")]
    NotificationFlood,
    /// A capability that is there but not of the right shape.
    #[error("its capability `{0}` is not of the right shape and counts as plain")]
    OddCapability(Box<str>),
    /// A tool of the list that cannot be called.
    #[error("tool `{name}` was set aside: {reason}")]
    ToolSetAside {
        /// Its name, escaped.
        name: Box<str>,
        /// Why.
        reason: crate::tool::Reason,
    },
    /// A walk over the tools ended early; the tools so far are kept.
    #[error("its tool list is not complete: {0}")]
    IncompleteCatalog(WalkFault),
    /// Listing the tools while connecting failed; the session is connected all the same.
    #[error("listing its tools failed: {0}")]
    ListFailed(Box<str>),
    /// Standard error output over what the host fetched was dropped.
    #[error("standard error output was dropped: nobody fetched it")]
    StderrDropped,
}

impl DiagnosticKind {
    /// Tells kinds apart, whatever they carry.
    pub(crate) const fn number(&self) -> u8 {
        match self {
            DiagnosticKind::Noise(_) => 0,
            DiagnosticKind::MultiLineJson { .. } => 1,
            DiagnosticKind::LongLine(_) => 2,
            DiagnosticKind::Batch => 3,
            DiagnosticKind::Late(_) => 4,
            DiagnosticKind::Duplicate(_) => 5,
            DiagnosticKind::Stale(_) => 6,
            DiagnosticKind::UnknownId(_) => 7,
            DiagnosticKind::NearMiss(_) => 8,
            DiagnosticKind::Uncorrelated(_) => 9,
            DiagnosticKind::BadRequest(_) => 10,
            DiagnosticKind::RefusedRequest(_) => 11,
            DiagnosticKind::IgnoredNotification(_) => 12,
            DiagnosticKind::NotificationFlood => 13,
            DiagnosticKind::OddCapability(_) => 14,
            DiagnosticKind::ToolSetAside { .. } => 15,
            DiagnosticKind::IncompleteCatalog(_) => 16,
            DiagnosticKind::ListFailed(_) => 17,
            DiagnosticKind::StderrDropped => 18,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_says_how_many_there_were_of_its_kind_from_the_second_on() {
        let told =
            |count| Diagnostic { server: "docs".into(), kind: DiagnosticKind::Late(7), count }.to_string();
        assert_eq!(told(1), "server `docs`: a late answer to request 7");
        assert_eq!(told(2), "server `docs`: a late answer to request 7 (2 so far)");
    }
}
