//! Why a session is over.

use std::sync::Arc;

use super::{Code, RemoteError};
use crate::process::{Exit, StartFailure, Tree};
use crate::stderr::Tail;

/// The end of a session: why, how the process ended, and whether anything of it is left (row L17).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct End {
    /// Name of the server.
    pub server: Arc<str>,
    /// Why it is over.
    pub cause: Cause,
    /// How the process ended; `None` if there was none, or it could not be seen to end.
    pub exit: Option<Exit>,
    /// What is left of the process tree.
    pub tree: Tree,
    /// Whether the system forbade a signal.
    pub signal_refused: bool,
    /// The newest of what the server wrote on standard error.
    pub stderr: Arc<Tail>,
}

impl End {
    /// Whether no process of the server is left.
    pub const fn gone(&self) -> bool {
        matches!(self.tree, Tree::Gone)
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "server `{}`: {}", self.server, self.cause)?;
        let is_told = matches!(&self.cause, Cause::Exited(told) | Cause::ExitedInHandshake(told) if Some(*told) == self.exit);
        if let (Some(exit), false) = (self.exit, is_told) {
            write!(f, "; {exit}")?;
        }
        match self.tree {
            Tree::Gone => f.write_str("; no process left"),
            Tree::Alive(count) if self.signal_refused => {
                write!(f, "; {count} or more processes left, the system forbids the signal")
            }
            Tree::Alive(count) => write!(f, "; {count} or more processes left"),
            Tree::Unknown => f.write_str("; whether a process is left could not be found out"),
        }
    }
}

/// Why a session is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The host asked for it.
    #[error("closed by the host")]
    Closed,
    /// Every caller that waited for the connection gave up.
    #[error("connecting was cancelled")]
    ConnectCancelled,
    /// The process could not be started.
    #[error("could not start `{command}`: {failure}{}", arguments(.command, .failure))]
    Start {
        /// The executable, as configured.
        command: String,
        /// What the system said.
        failure: StartFailure,
    },
    /// `initialize` was not answered in time.
    #[error("no answer to `initialize` within {} ms: raise the connect timeout if it is slow to start", .0.as_millis())]
    ConnectTimeout(std::time::Duration),
    /// The handshake went wrong.
    #[error("handshake failed: {0}")]
    Handshake(HandshakeFault),
    /// The process exited before the handshake was over.
    #[error("server exited before the handshake was over ({0})")]
    ExitedInHandshake(Exit),
    /// The process exited by itself.
    #[error("server exited ({0})")]
    Exited(Exit),
    /// The server closed its output.
    #[error("server closed its output")]
    OutputEnded,
    /// The server broke the protocol beyond what is tolerated.
    #[error("protocol violation: {0}")]
    Peer(PeerFault),
    /// The health check failed.
    #[error("no answer to the health check within {} ms", .0.as_millis())]
    Unhealthy(std::time::Duration),
}

impl Cause {
    /// The stable name.
    pub const fn code(&self) -> Code {
        match self {
            Cause::Closed | Cause::ConnectCancelled => Code::CLOSED,
            Cause::Start { failure, .. } => match failure {
                StartFailure::NotFound { .. } => Code::NOT_FOUND,
                StartFailure::NotPermitted | StartFailure::NotExecutable => Code::NOT_PERMITTED,
                StartFailure::BadWorkingDirectory => Code::BAD_DIRECTORY,
                StartFailure::NoResources { .. } | StartFailure::System { .. } => Code::START_FAILED,
            },
            Cause::ConnectTimeout(_) => Code::CONNECT_TIMEOUT,
            Cause::Handshake(HandshakeFault::Version { .. }) => Code::VERSION,
            Cause::Handshake(_) => Code::HANDSHAKE_FAILED,
            Cause::ExitedInHandshake(_) | Cause::Exited(_) | Cause::OutputEnded => Code::PROCESS_EXIT,
            Cause::Peer(PeerFault::LongLine { .. } | PeerFault::EndlessLine { .. }) => Code::TOO_LARGE,
            Cause::Peer(_) => Code::PROTOCOL,
            Cause::Unhealthy(_) => Code::UNHEALTHY,
        }
    }
}

/// What a command that was not found and has a blank in it may be about.
fn arguments(command: &str, failure: &StartFailure) -> &'static str {
    if matches!(failure, StartFailure::NotFound { .. }) && command.contains(char::is_whitespace) {
        "; it has a blank in it: arguments are given separately"
    } else {
        ""
    }
}

/// What went wrong in the handshake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeFault {
    /// The server refused `initialize`.
    #[error("{0}")]
    Refused(RemoteError),
    /// The server answered with a version that is not accepted; `offered` is bounded and escaped (row L23).
    #[error("server speaks version `{offered}`, accepted are {}", accepted.join(", "))]
    Version {
        /// What the server answered.
        offered: String,
        /// What this session accepts.
        accepted: Vec<&'static str>,
    },
    /// A required member of the answer is missing or of the wrong type.
    #[error("the answer to `initialize` has no valid `{0}`")]
    Invalid(&'static str),
    /// The answer to `initialize` is no valid response.
    #[error("the answer to `initialize` is invalid: {0}")]
    Response(super::InvalidResponse),
    /// The server closed its input before it had read `initialize`.
    #[error("the server closed its input before `initialize` was written")]
    InputClosed,
    /// The answer to `initialize` is over the line limit.
    #[error("the answer to `initialize` is over the line limit of {0} bytes")]
    TooLarge(usize),
}

/// What the server did that is not tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerFault {
    /// A line that is no message, under `Conduct::Strict`.
    #[error("a line on its output is no message, and conduct is strict")]
    Noise,
    /// A malformed response, under `Conduct::Strict`.
    #[error("a malformed response, and conduct is strict")]
    MalformedResponse,
    /// A line over the line limit, under `Conduct::Strict`.
    #[error("a line over the limit of {limit} bytes, and conduct is strict")]
    LongLine {
        /// The limit.
        limit: usize,
    },
    /// A line without an end, past the discard limit.
    #[error("{limit} bytes without an end of line")]
    EndlessLine {
        /// The limit.
        limit: usize,
    },
    /// It sends requests and does not read the replies.
    #[error("it sends requests and does not read {limit} bytes of replies")]
    UnreadReplies {
        /// The limit.
        limit: usize,
    },
    /// More notifications than allowed, where that ends the session.
    #[error("more notifications than allowed")]
    NotificationFlood,
}
