//! What goes wrong with a connection or a call.

use std::sync::Arc;

use sans_mcp::{Code, ConfigError, DecodeError, Delivery, End, Exit, Failure, Refusal, RemoteError, Tail};

/// Connecting did not succeed. When it is given out, no process of the server is left, as far as [`End`] can
/// say.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The configuration cannot be used; nothing was started.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The client is closing or closed; nothing was started.
    #[error("server `{server}`: connecting was refused: {refusal}")]
    Refused {
        /// Name of the server.
        server: Arc<str>,
        /// Why.
        refusal: Refusal,
    },
    /// The process could not be started, or the handshake did not succeed.
    #[error("{failure}")]
    Failed {
        /// Why, with all that is known.
        failure: Failure,
        /// How the process ended.
        end: Arc<End>,
    },
}

impl ConnectError {
    /// The stable name.
    pub fn code(&self) -> Code {
        match self {
            ConnectError::Config(_) => Code::INVALID_ARGUMENTS,
            ConnectError::Refused { refusal, .. } => refusal.code(),
            ConnectError::Failed { failure, .. } => failure.code(),
        }
    }

    /// All that is known, over several lines, for a log or a bug report.
    pub fn report(&self) -> String {
        match self {
            ConnectError::Failed { failure, end } => format!("{}\n  end: {end}", failure.report()),
            _ => format!("{}: {self}", self.code()),
        }
    }
}

/// A call without a result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It was never accepted: nothing was sent.
    #[error("server `{server}`: not sent: {refusal}")]
    Refused {
        /// Name of the server.
        server: Arc<str>,
        /// Why.
        refusal: Refusal,
    },
    /// It was accepted and failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The server answered, but not with the result of a tool.
    #[error("server `{server}`: the answer to request {id} is not the result of a tool: {problem}")]
    Undecodable {
        /// Name of the server.
        server: Arc<str>,
        /// The number under which the call was accepted.
        id: u64,
        /// What is wrong with it.
        problem: DecodeError,
    },
}

impl CallError {
    /// The stable name.
    pub fn code(&self) -> Code {
        match self {
            CallError::Refused { refusal, .. } => refusal.code(),
            CallError::Failed(failure) => failure.code(),
            CallError::Undecodable { .. } => Code::INVALID_RESPONSE,
        }
    }

    /// How far the call got: whether the server may have executed it (row L16).
    pub fn delivery(&self) -> Delivery {
        match self {
            CallError::Refused { .. } => Delivery::NotSent,
            CallError::Failed(failure) => failure.delivery(),
            CallError::Undecodable { .. } => Delivery::Sent,
        }
    }

    /// Why it was refused, if it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            CallError::Refused { refusal, .. } => Some(refusal),
            CallError::Failed(_) | CallError::Undecodable { .. } => None,
        }
    }

    /// Why it failed after it had been accepted, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            CallError::Failed(failure) => Some(failure),
            CallError::Refused { .. } | CallError::Undecodable { .. } => None,
        }
    }

    /// The server's error, if that is why.
    pub fn remote(&self) -> Option<&RemoteError> {
        self.failure()?.remote()
    }

    /// How the process ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.failure()?.exit()
    }

    /// The newest of what the server wrote on standard error, if the call was accepted.
    pub fn stderr(&self) -> Option<&Tail> {
        Some(self.failure()?.stderr())
    }

    /// All that is known, over several lines, for a log or a bug report.
    pub fn report(&self) -> String {
        match self {
            CallError::Failed(failure) => failure.report(),
            _ => format!("{}: {self}", self.code()),
        }
    }
}
