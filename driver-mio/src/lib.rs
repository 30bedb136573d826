//! An MCP client for a host that owns its `mio::Poll`: it never blocks, and settles every call exactly once.
//!
//! A [`Connection`] is one server. The host gives it tokens, events and the time, and it gives back what became of each
//! operation under the host's own key. Several connections, and whatever else the host waits for, share one poll.
//!
//! ```rust,standalone_crate
//! use std::io;
//! use std::time::Duration;
//!
//! use mio::{Events, Poll, Token};
//! use sans_mcp_mio::{Call, Clock, Connection, Output, Reply, Server, ToolResult};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #   if std::env::args().nth(1).as_deref() == Some("fixture-server") {
//! #       sans_mcp_fixtures::Server::new(["fixture-server"]).run(std::env::args().skip(2));
//! #       return Ok(());
//! #   }
//!     let mut poll = Poll::new()?;
//!     let mut events = Events::with_capacity(64);
//!     let clock = Clock::start();
//!
//!     let server = Server::new("docs", "docs-server").arg("/srv/docs");
//! #   let program = std::env::current_exe()?.into_os_string().into_string().expect("a path in UTF-8");
//! #   let server = Server::new(server.name, program).arg("fixture-server");
//!     let mut docs = Connection::new(server, poll.registry().try_clone()?, Token(0))?;
//!     docs.connect(clock.now(), "connect")?;
//!     loop {
//!         wait(&mut poll, &mut events, docs.timeout(clock.now()))?;
//!         let now = clock.now();
//!         for event in &events {
//!             docs.handle_event(event);
//!         }
//!         let mut done = None;
//!         docs.pump(now, |output| match output {
//!             Output::Complete(completion) => done = Some((completion.token, completion.outcome.map(text))),
//!             Output::Closed(end) => done = Some(("close", Ok(Ok(end.to_string())))),
//!             _ => {}
//!         });
//!         // Outputs lend from the connection, so what follows from them comes after the pump.
//!         match done {
//!             Some(("connect", outcome)) => {
//!                 outcome??;
//!                 docs.call(now, Call::new("echo", r#"{"value":"hello"}"#), "echo")?;
//!             }
//!             Some(("echo", outcome)) => {
//!                 assert_eq!(outcome??, "hello");
//!                 docs.close(now);
//!             }
//!             Some(_) => break,
//!             None => {}
//!         }
//!     }
//!     assert!(docs.session().end().is_some_and(|end| end.gone()));
//!     Ok(())
//! }
//!
//! fn wait(poll: &mut Poll, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
//!     match poll.poll(events, timeout) {
//!         Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
//!         polled => polled,
//!     }
//! }
//!
//! /// What the tool says, or what it says went wrong.
//! fn text(reply: Reply<'_>) -> Result<String, String> {
//!     let Reply::Answer(answer) = reply else { return Ok(String::new()) };
//!     let result = ToolResult::parse(answer.as_str()).map_err(|error| error.to_string())?;
//!     let text = result.text().into_owned();
//!     if result.is_error() { Err(text) } else { Ok(text) }
//! }
//! ```
//!
//! # The loop
//!
//! 1. Wait in the poll, for the least [`timeout`](Connection::timeout) of all connections at most. A signal that was
//!    handled, or that stopped and continued the process, ends the wait as [`Interrupted`](std::io::ErrorKind::Interrupted):
//!    that is no error, and the turn goes on without events.
//! 2. Hand each event to [`handle_event`](Connection::handle_event); a connection ignores what is not its own.
//! 3. [`pump`](Connection::pump) each connection. Those that have nothing to do return at once.
//! 4. Give the commands that follow. The connection then has work, so its timeout is zero and the next turn does not
//!    wait; or pump again before it.
//!
//! [`Output::Closed`] comes once, so it is what to count ended connections by. [`Pumped::closed`] stays true in every later
//! pump, and the timeout of an ended connection is `None` for ever: a host whose last connection has ended must leave its
//! loop, or wait for something else.
//!
//! # Leaving
//!
//! [`Connection::close`] is the polite way: the server's input is closed, it has time to leave, and then it is killed;
//! [`Output::Closed`] comes within a known bound. Dropping the connection is the impolite one: SIGKILL to the process
//! group at once, and a wait of at most 200 ms until it is reaped.
//!
//! A process that ends without running destructors does neither: [`std::process::exit`], a fatal signal, and a connection that
//! is in a `static` or was leaked. The system then closes the pipes. A server in order leaves at the end of its input; one
//! that does not stays. Each server leads a process group of its own, so Ctrl-C in a terminal reaches the host and not the
//! servers. A host therefore handles SIGINT, SIGTERM and SIGHUP: as events of its poll, upon which it closes its connections
//! and goes on turning until they have ended, or drops them. `examples/script/signals.rs` in the repository shows how.
//!
//! # Without a process
//!
//! [`Connection::over`] takes [`Pipes`] of the host's own, so that what a host does with a server that answers late, halfway or
//! never is tested without a process and without waiting. `examples/in_memory.rs` is one whole such server. What it must keep to:
//!
//! * [`exit`](Pipes::exit) gives `None` until the server is to have exited, and from then on always the same, also after
//!   [`reap`](Pipes::reap), which comes once and gives that again.
//! * [`read_stdout`](Pipes::read_stdout) gives what was written before the exit first, then [`Moved::Ended`];
//!   [`Moved::Blocked`] after the exit means that a descendant holds the pipe open.
//! * [`probe`](Pipes::probe) is asked after the exit and gives [`Tree::Gone`] unless something of the server is to be left.
//!   What it leaves gets [`signal`](Pipes::signal)s, and is asked about again.
//! * What happens inside one of its own methods, such as an exit in [`close_stdin`](Pipes::close_stdin), is seen at the next
//!   look. Of all else it is told by [`pipes_mut`](Connection::pipes_mut), as of an event.
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

/// The machine that this crate drives, for what is not named here.
pub use sans_mcp;
pub use sans_mcp::{
    Answer, ArgumentType, BLOCKED_COMMANDS, BlockedCommand, Call, Capabilities, Catalog, Cause, ClientInfo,
    Code, Completion, Conduct, ConfigError, Content, Contents, Counters, DecodeError, Delivery, Descendants,
    Diagnostic, DiagnosticKind, End, Environment, Exit, Failure, FailureKind, Full, Handle, HandshakeFault,
    Hint, IdMatching, InvalidResponse, Latency, Limits, Moved, Notification, Output, Payload, PeerFault,
    PeerHandle, PeerReply, PeerRequest, Pipes, Progress, Pumped, Reason, Refusal, Refused, RemoteError,
    Reply, Request, ResourceContents, SchemaNote, Secret, Server, ServerCapabilities, ServerInfo, Session,
    SetAside, Settings, Signal, Signalled, StartFailure, State, StderrMode, Tail, Time, Timeouts, Tool,
    ToolResult, Tree, Utf8, Version, WalkFault, Why, pump, validate_command,
};
