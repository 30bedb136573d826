//! An MCP client for tokio that settles every call exactly once and leaves no process behind.
//!
//! ```
//! use sans_mcp_tokio::{Client, Delivery, Server};
//! use serde_json::json;
//! use std::time::Duration;
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::new("docs", "docs-server").arg("/srv/docs");
//! # let mut server = server;
//! # server.command = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server").to_owned();
//! let client = Client::connect(server).await?;
//! let call = client.call_tool("search", json!({ "query": "deadline" })).timeout(Duration::from_secs(5));
//! match call.await {
//!     // A tool that ran and failed has its say, too: `reply.is_error()`.
//!     Ok(reply) => println!("{}", reply.text()),
//!     Err(error) if error.delivery() == Delivery::NotSent => println!("try again: {error}"),
//!     Err(error) => println!("{}", error.report()),
//! }
//! assert!(client.close().await.gone());
//! # Ok(()) }
//! ```
//!
//! [`Client`] is the handle of one server: it is cheap to clone, a call is a future, and dropping that future cancels
//! the call. [`Connection`] is the bare machine under tokio, for a host that wants every output of it and no task.
//!
//! # Errors
//!
//! Three kinds, never mixed. *Refused*: the command never took effect, and nothing was sent. *Failed*: an accepted
//! call ended so; [`CallError::delivery`] says whether the server may have executed it. *Ended*: [`End`] says why the
//! session is over, and whether any process of it is left. No call is ever repeated by itself.
//!
//! # Leaving
//!
//! [`Client::close`] is the polite way: the server's input is closed, it has time to leave, and then it is killed; it returns
//! within a known bound. Dropping the last clone is the impolite one: SIGKILL to the process group at once,
//! and a wait of at most 200 ms until it is reaped. That needs no runtime, so it also works when the runtime
//! is gone.
//!
//! A process that ends without running destructors does neither: [`std::process::exit`], a fatal signal, and a client that is
//! in a `static` or was leaked. The system then closes the pipes. A server in order leaves at the end of its input; one that
//! does not stays. Each server leads a process group of its own, so Ctrl-C in a terminal reaches the host and not the servers.
//! A host therefore awaits `tokio::signal::ctrl_c`, and SIGTERM and SIGHUP by `tokio::signal::unix::signal`, beside its work,
//! and then closes its clients or lets go of them.
//!
//! # Runtime
//!
//! Both flavours of runtime do, with I/O and time enabled. A client runs one task; it belongs to the runtime
//! on which [`Client::start`] or [`Client::connect`] was first awaited, and the client ends with that
//! runtime.
#![deny(unsafe_code)]

mod builder;
mod call;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod client;
mod clock;
mod connection;
mod error;
mod event;
mod operation;
mod peer;
mod pipes;
mod process;
mod progress;
mod reply;
mod request;
mod shared;
mod slot;
mod task;

pub use builder::Builder;
pub use call::ToolCall;
pub use client::Client;
pub use connection::Connection;
pub use error::{CallError, ConnectError};
pub use event::{Event, Events, Notification};
pub use peer::{PeerError, PeerRequest};
pub use pipes::Pipes;
pub use process::Process;
pub use progress::Progress;
pub use reply::ToolReply;
pub use request::RequestCall;

/// The machine that this crate drives, for what is not named here.
pub use sans_mcp;
pub use sans_mcp::{
    ArgumentType, Call, Capabilities, Catalog, Cause, ClientInfo, Code, Conduct, ConfigError, Content,
    Contents, Counters, DecodeError, Delivery, Descendants, Diagnostic, DiagnosticKind, End, Environment,
    Exit, Failure, FailureKind, Full, HandshakeFault, Hint, IdMatching, InvalidResponse, Latency, Limits,
    Payload, PeerFault, Reason, Refusal, RemoteError, Request, ResourceContents, SchemaNote, Secret, Server,
    ServerCapabilities, ServerInfo, SetAside, Settings, StartFailure, State, StderrMode, Tail, Timeouts,
    Tool, ToolResult, Tree, Utf8, Version, WalkFault,
};
