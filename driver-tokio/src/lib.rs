//! An MCP client for tokio that settles every call exactly once and leaves no process behind.
//!
//! ```
//! use sans_mcp_tokio::{Client, Delivery, Server};
//! use serde_json::json;
//! use std::time::Duration;
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let docs_server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server");
//! let server = Server::new("docs", docs_server).arg("/srv/docs");
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
    Call, Capabilities, Catalog, Cause, ClientInfo, Code, Conduct, ConfigError, Content, Counters, Delivery,
    Descendants, Diagnostic, DiagnosticKind, End, Environment, Exit, Failure, FailureKind, IdMatching,
    Limits, Payload, Refusal, RemoteError, Request, Secret, Server, ServerCapabilities, ServerInfo, Settings,
    State, StderrMode, Tail, Timeouts, Tool, ToolResult, Tree, Utf8, Version,
};
