//! An MCP client as a pure state machine.
#![forbid(unsafe_code)]

pub mod config;
pub mod error;
pub mod process;
pub mod protocol;
mod rate;
mod redact;
mod sample;
mod stderr;
mod time;
pub mod tool;
pub(crate) mod wire;

pub use config::{
    BLOCKED_COMMANDS, BlockedCommand, Capabilities, ClientInfo, Conduct, ConfigError, Descendants,
    Environment, IdMatching, Limits, Secret, Server, Settings, StderrMode, Timeouts, Utf8, validate_command,
};
pub use error::{Cause, Code, Delivery, End, Failure, FailureKind, Refusal, Refused, RemoteError};
pub use process::{Exit, Signal, Signalled, StartFailure, Tree};
pub use protocol::Version;
pub use stderr::Tail;
pub use time::Time;
pub use tool::{
    ArgumentType, Call, Catalog, Content, Contents, DecodeError, Reason, Request, ResourceContents,
    SchemaNote, SetAside, Tool, ToolResult,
};
