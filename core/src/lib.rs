//! An MCP client as a pure state machine: bytes, clock ticks and commands go in; frames, completions and process
//! actions come out. It does no I/O, reads no clock, starts no thread and holds no lock.
//!
//! One promise:
//!
//! > Every call is settled exactly once, on time, with the truth about what happened to it; every process that was started
//! > is gone when the client says so; and whatever the server sends costs bounded memory and bounded time.
//!
//! Most programs want a driver: `sans-mcp-tokio` for async hosts, `sans-mcp-mio` for hosts with a poll of their own. This crate is for those who write a driver, a test or a
//! fuzzer, and for those who read before they trust.
//!
//! # The loop
//!
//! A driver records facts with the `handle_…` methods, hands on commands, and then polls until it is told to wait. There is
//! no order to keep between the three: facts and commands may come at any time, any number of them between two polls. Only
//! output of the server is taken piece by piece: there is no space for the next one before the last one was polled out,
//! which bounds what is held.
//!
//! ```
//! use sans_mcp::{Call, Output, Reply, Server, Session, Time};
//!
//! let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
//! let now = Time::ZERO;
//! session.connect(now, "connect").unwrap();
//! // What a server would write; a driver reads it from a pipe.
//! let mut answers = [
//!     r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}}"#,
//!     r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"search","inputSchema":{"type":"object"}}]}}"#,
//!     r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"found"}]}}"#,
//! ].into_iter();
//! let mut settled = Vec::new();
//! loop {
//!     let written = match session.poll_output() {
//!         Output::Write(bytes) => bytes.len(),
//!         Output::Spawn => {
//!             session.handle_spawned(now, 4242);
//!             continue;
//!         }
//!         Output::Complete(done) => {
//!             settled.push(done.token);
//!             match done.outcome {
//!                 Ok(Reply::Connected) => drop(session.call(now, Call::new("search", r#"{"query":"deadline"}"#), "search")),
//!                 Ok(Reply::Answer(answer)) => assert!(answer.as_str().contains("found")),
//!                 other => panic!("{other:?}"),
//!             }
//!             continue;
//!         }
//!         Output::Wait { .. } => match answers.next() {
//!             Some(answer) => {
//!                 session.handle_stdout(now, format!("{answer}\n").as_bytes());
//!                 continue;
//!             }
//!             None => break,
//!         },
//!         _ => continue,
//!     };
//!     session.handle_written(now, written);
//! }
//! assert_eq!(settled, ["connect", "search"]);
//! # Ok::<(), sans_mcp::ConfigError>(())
//! ```
//!
//! [`pump`] is that loop over anything that moves bytes; drivers use it instead of writing it again.
//!
//! # Errors
//!
//! Three kinds, never mixed. [`Refused`]: a command never took effect, and what was handed in comes back. [`Failure`]: one
//! accepted call ended so. [`End`]: the session is over because of this. Nothing that a server sends is an error of a
//! function: it is a completion, a [`Diagnostic`], or an end. Nothing is ever sent twice by itself; [`Delivery`] says how
//! far a failed call got, and the caller decides.
//!
//! # Not here
//!
//! Many servers, HTTP, the stateless revision of the protocol, and any policy about which calls are wise.
//!
//! # Features
//!
//! * `schema`: checks arguments and structured results against the tools' JSON Schemas, at a bounded cost.
//! * `script`: the interpreter of the command line's `script` format.
#![forbid(unsafe_code)]

pub mod config;
mod counters;
#[cfg(feature = "explore")]
mod digest;
pub mod error;
mod handle;
mod link;
mod output;
pub mod process;
pub mod protocol;
mod pump;
mod rate;
mod redact;
mod rpc;
mod sample;
#[cfg(feature = "script")]
pub mod script;
mod session;
mod stderr;
mod time;
pub mod tool;
mod wire;

pub use config::{
    BLOCKED_COMMANDS, BlockedCommand, Capabilities, ClientInfo, Conduct, ConfigError, Descendants,
    Environment, IdMatching, Limits, Secret, Server, Settings, StderrMode, Timeouts, Utf8, validate_command,
};
pub use counters::{Counters, Latency};
pub use error::{
    Cause, Code, Delivery, End, Failure, FailureKind, Full, HandshakeFault, Hint, InvalidResponse, PeerFault,
    Refusal, Refused, RemoteError, WalkFault,
};
pub use handle::{Handle, PeerHandle};
pub use output::{
    Answer, Completion, Diagnostic, DiagnosticKind, Notification, Output, Payload, PeerRequest, Progress,
    Reply, State, Why,
};
pub use process::{Exit, Signal, Signalled, StartFailure, Tree};
pub use protocol::Version;
pub use pump::{Moved, Pipes, Pumped, pump};
pub use session::{PeerReply, ServerCapabilities, ServerInfo, Session, lifecycle};
pub use stderr::Tail;
pub use time::Time;
pub use tool::{
    ArgumentType, Call, Catalog, Content, Contents, DecodeError, Reason, Request, ResourceContents,
    ResultParts, SchemaNote, SetAside, Tool, ToolResult,
};
