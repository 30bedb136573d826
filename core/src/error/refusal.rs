//! Commands that never took effect.

use std::fmt;

use super::Code;

/// A command that was refused: no id was used, no timer started, no byte queued (row L09). `value` is what was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused<V> {
    /// What the caller handed in.
    pub value: V,
    /// Why.
    pub refusal: Refusal,
}

impl<V> fmt::Display for Refused<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(f)
    }
}

impl<V: fmt::Debug> std::error::Error for Refused<V> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.refusal)
    }
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing has connected the session yet.
    #[error("not connected: connect first")]
    NotReady,
    /// The session is being connected.
    #[error("still connecting: wait for `connect` to complete")]
    Connecting,
    /// The session is closing or over; this is the name of why.
    #[error("the session is closed: {}; start a new one", why_closed(*.0))]
    Closed(Code),
    /// A bound is reached.
    #[error("busy: {0}; wait for an answer, or raise the limit")]
    Busy(Full),
    /// The parameters are over their limit.
    #[error("parameters of {bytes} bytes are over the limit of {limit}: send less, or raise the limit")]
    TooLarge {
        /// Their size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The text is not JSON.
    #[error("not JSON at byte {at}: check the text")]
    NotJson {
        /// Where reading stopped.
        at: usize,
    },
    /// Arguments or parameters must be a JSON object.
    #[error("arguments must be a JSON object")]
    NotAnObject,
    /// The server has no tool of that name.
    #[error("no tool `{name}`{}", suggestion(.near))]
    UnknownTool {
        /// The name, bounded and escaped.
        name: String,
        /// Names that the server does have and that look alike, best first, at most three.
        near: Vec<String>,
    },
    /// The arguments do not fit the tool's input schema.
    #[error("arguments do not fit the schema of tool `{tool}`: {problem}")]
    Arguments {
        /// Name of the tool.
        tool: String,
        /// What does not fit, naming the argument; bounded.
        problem: String,
    },
    /// The server did not offer this.
    #[error("the server did not offer `{0}`")]
    NotOffered(&'static str),
    /// The client did not declare this.
    #[error("the client did not declare `{0}`: set it in the capabilities")]
    NotDeclared(&'static str),
    /// The method belongs to the session itself.
    #[error("method `{0}` belongs to the session: use its own command")]
    ReservedMethod(&'static str),
    /// A key of `_meta` is reserved, or no valid key.
    #[error("`_meta` key `{0}` is reserved or not valid")]
    ReservedKey(String),
    /// The method name is empty, too long, or has control characters.
    #[error("not a method name")]
    BadMethod,
    /// The server no longer reads.
    #[error("the server closed its input: start a new session")]
    StdinClosed,
    /// Ids below 2^53 are used up.
    #[error("request ids are used up: start a new session")]
    IdsExhausted,
    /// The request of the server is not open any more: answered, cancelled or past its deadline.
    #[error("the server's request is not open any more")]
    NotOpen,
}

impl Refusal {
    /// The stable name.
    pub const fn code(&self) -> Code {
        match self {
            Refusal::NotReady | Refusal::Connecting => Code::NOT_READY,
            Refusal::Closed(cause) => *cause,
            Refusal::NotOpen => Code::CLOSED,
            Refusal::Busy(_) => Code::BUSY,
            Refusal::TooLarge { .. } => Code::TOO_LARGE,
            Refusal::NotJson { .. }
            | Refusal::NotAnObject
            | Refusal::Arguments { .. }
            | Refusal::BadMethod => Code::INVALID_ARGUMENTS,
            Refusal::UnknownTool { .. } => Code::UNKNOWN_TOOL,
            Refusal::NotOffered(_) | Refusal::NotDeclared(_) => Code::UNSUPPORTED,
            Refusal::ReservedMethod(_) | Refusal::ReservedKey(_) => Code::RESERVED,
            Refusal::StdinClosed => Code::STDIN_CLOSED,
            Refusal::IdsExhausted => Code::IDS_EXHAUSTED,
        }
    }
}

/// Which bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// [`Limits::pending`](crate::Limits).
    #[error("too many calls wait for their answer")]
    Pending,
    /// [`Limits::send_queue`](crate::Limits).
    #[error("too many bytes wait to be written")]
    SendQueue,
    /// [`Limits::replies`](crate::Limits).
    #[error("too many bytes of replies wait to be written")]
    Replies,
}

fn suggestion(names: &[String]) -> String {
    if names.is_empty() {
        "; list the tools to see what there is".to_owned()
    } else {
        format!("; did you mean `{}`?", names.join("`, `"))
    }
}

/// Why a session is closed, in words.
fn why_closed(code: Code) -> &'static str {
    match code {
        Code::CLOSED => "the host closed it",
        Code::PROCESS_EXIT => "the server exited, or closed its output",
        Code::NOT_FOUND => "the server's program was not found",
        Code::NOT_PERMITTED => "the server's program may not be executed",
        Code::BAD_DIRECTORY => "the server's working directory cannot be used",
        Code::START_FAILED => "the server could not be started",
        Code::CONNECT_TIMEOUT => "the server did not answer `initialize` in time",
        Code::HANDSHAKE_FAILED => "the handshake failed",
        Code::VERSION => "the server speaks no version that is accepted",
        Code::TOO_LARGE => "the server sent a line over the limit",
        Code::PROTOCOL => "the server broke the protocol",
        Code::UNHEALTHY => "the server did not answer the health check",
        other => other.as_str(),
    }
}
