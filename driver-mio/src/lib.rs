//! An MCP client for a host that owns its [`mio::Poll`]: it never blocks, and settles every call exactly once.
//!
//! A [`Connection`] is one server. The host gives it tokens, events and the time, and it gives back what became of each
//! operation under the host's own key. Several connections, and whatever else the host waits for, share one poll.
//!
//! ```rust,standalone_crate
//! use mio::{Events, Poll, Token};
//! use sans_mcp_mio::{Call, Clock, Connection, Output, Reply, Server, ToolResult};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if std::env::args().nth(1).as_deref() == Some("fixture-server") {
//! #     sans_mcp_fixtures::Server::new(["fixture-server"]).run(std::env::args().skip(2));
//! #     return Ok(());
//! # }
//! # let program = std::env::current_exe()?.into_os_string().into_string().expect("a path in UTF-8");
//! let mut poll = Poll::new()?;
//! let mut events = Events::with_capacity(64);
//! let clock = Clock::start();
//!
//! let server = Server::new("docs", program).arg("fixture-server");
//! let mut docs = Connection::new(server, poll.registry().try_clone()?, Token(0))?;
//! docs.connect(clock.now(), "connect")?;
//! loop {
//!     poll.poll(&mut events, docs.timeout(clock.now()))?;
//!     let now = clock.now();
//!     for event in &events {
//!         docs.handle_event(event);
//!     }
//!     let mut done = None;
//!     docs.pump(now, |output| match output {
//!         Output::Complete(completion) => done = Some((completion.token, completion.outcome.map(text))),
//!         Output::Closed(end) => done = Some(("close", Ok(end.to_string()))),
//!         _ => {}
//!     });
//!     // Outputs lend from the connection, so what follows from them comes after the pump.
//!     match done {
//!         Some(("connect", outcome)) => {
//!             outcome?;
//!             docs.call(now, Call::new("echo", r#"{"value":"hello"}"#), "echo")?;
//!         }
//!         Some(("echo", outcome)) => {
//!             assert_eq!(outcome?, "hello");
//!             docs.close(now);
//!         }
//!         Some(_) => break,
//!         None => {}
//!     }
//! }
//! assert!(docs.session().end().is_some_and(|end| end.gone()));
//!
//! fn text(reply: Reply<'_>) -> String {
//!     match reply {
//!         Reply::Answer(answer) => match ToolResult::parse(answer.as_str()) {
//!             Ok(result) => result.text().into_owned(),
//!             Err(error) => error.to_string(),
//!         },
//!         Reply::Connected | Reply::Listed => String::new(),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # The loop
//!
//! 1. Wait in the poll, for the least [`timeout`](Connection::timeout) of all connections at most.
//! 2. Hand each event to [`handle_event`](Connection::handle_event); a connection ignores what is not its own.
//! 3. [`pump`](Connection::pump) each connection. Those that have nothing to do return at once.
//! 4. Give the commands that follow. The connection then has work, so its timeout is zero and the next turn does not
//!    wait; or pump again before it.
//!
//! # Errors
//!
//! Three kinds, never mixed. *Refused*: the command never took effect, and the key comes back. *Failed*: an accepted
//! operation ended so; [`Failure::delivery`] says whether the server may have executed it. *Ended*: [`End`] says why
//! the session is over, and whether any process of it is left. No call is ever repeated by itself.
//!
//! # Platforms
//!
//! Linux and macOS. Where an exit cannot be awaited by a descriptor (macOS, Linux before 5.4, some sandboxes), a
//! thread for each server waits for it, and does nothing else.
#![forbid(unsafe_code)]

mod clock;
mod commands;
mod connection;
mod process;

pub use clock::Clock;
pub use connection::Connection;
pub use process::Process;

pub use sans_mcp::{
    Answer, Call, Capabilities, Catalog, Cause, ClientInfo, Code, Completion, Conduct, ConfigError, Content,
    Contents, Counters, DecodeError, Delivery, Descendants, Diagnostic, DiagnosticKind, End, Environment,
    Exit, Failure, FailureKind, Handle, IdMatching, Limits, Moved, Notification, Output, Payload, PeerHandle,
    PeerReply, PeerRequest, Pipes, Progress, Pumped, Refusal, Refused, RemoteError, Reply, Request, Secret,
    Server, ServerCapabilities, ServerInfo, Session, Settings, Signal, Signalled, StartFailure, State,
    StderrMode, Tail, Time, Timeouts, Tool, ToolResult, Tree, Utf8, Version, Why,
};
