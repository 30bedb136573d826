//! The bare machine under tokio.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use sans_mcp::{ConfigError, Output, Server, Session, Time, pump};

use crate::clock::{Clock, Timer};
use crate::pipes::Pipes;
use crate::process::Process;
use crate::task::yield_to_reactor;

/// A session and its process without a task: for hosts that want the machine itself, with tokens of their own
/// and every output.
///
/// It moves only while [`next`](Connection::next) is awaited. Dropping it kills the process group and reaps,
/// without a runtime.
///
/// ```
/// use sans_mcp::Output;
/// use sans_mcp_tokio::{Connection, Server};
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let docs_server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server");
/// let mut connection = Connection::<&str>::new(Server::new("docs", docs_server))?;
/// let now = connection.now();
/// connection.session_mut().connect(now, "connect")?;
/// let connected = connection.next(|output| match output {
///     Output::Complete(done) if done.token == "connect" => Some(done.outcome.is_ok()),
///     _ => None,
/// });
/// assert_eq!(connected.await, Some(true));
/// # Ok(()) }
/// ```
///
/// `P` is what its bytes go through: a process, unless it was made [`over`](Connection::over) something else.
pub struct Connection<T, P = Process> {
    session: Session<T>,
    pipes: P,
    clock: Clock,
    timer: Timer,
}

/// Turns of the pump, each with one output or one read, before others get theirs.
const TURNS: usize = 256;

impl<T> Connection<T> {
    /// A connection to `server`; nothing is started before [`Session::connect`].
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn new(server: Server) -> Result<Connection<T>, ConfigError> {
        Connection::over(server, Process::default())
    }
}

impl<T, P: Pipes> Connection<T, P> {
    /// A connection to `server` over pipes of the host's own, for instance in memory: so a host can be tested without a
    /// process and, under a runtime whose time is paused, without waiting. What `server` says about the program is
    /// then for [`spawn`](sans_mcp::Pipes::spawn) to use or to ignore.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn over(server: Server, pipes: P) -> Result<Connection<T, P>, ConfigError> {
        let session = Session::new(server)?;
        Ok(Connection { session, pipes, clock: Clock::start(), timer: Timer::default() })
    }

    /// The present, for commands.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The session.
    pub fn session(&self) -> &Session<T> {
        &self.session
    }

    /// The session, for commands. What follows from them is carried out by [`next`](Connection::next). Do not
    /// poll it.
    pub fn session_mut(&mut self) -> &mut Session<T> {
        &mut self.session
    }

    /// The process number of the server while it has one; it may be another's later.
    pub fn process_id(&self) -> Option<u32> {
        self.pipes.process_id()
    }

    /// Moves bytes, watches the process and keeps time, and hands every output that is for the host to
    /// `host`, until that makes something of one. `None`: the session is over, and `host` made nothing of its
    /// end.
    ///
    /// Dropping the future loses nothing but what `host` made nothing of.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn next<R>(&mut self, mut host: impl FnMut(Output<'_, T>) -> Option<R>) -> Option<R> {
        poll_fn(|cx| self.poll_next(cx, &mut host)).await
    }

    fn poll_next<R>(
        &mut self,
        cx: &mut Context<'_>,
        host: &mut impl FnMut(Output<'_, T>) -> Option<R>,
    ) -> Poll<Option<R>> {
        for _ in 0..TURNS {
            let now = self.clock.now();
            // What it says does not matter: the pump looks at everything.
            let _ = self.pipes.poll_ready(cx);
            let mut made = None;
            // With the least budget a run stops after one output, so that nothing comes after the one that
            // was wanted.
            let pumped = pump(&mut self.session, &mut self.pipes, now, 1, |output| made = host(output));
            if made.is_some() || pumped.closed {
                return Poll::Ready(made);
            }
            if pumped.starved {
                continue;
            }
            if self.pipes.poll_ready(cx).is_pending()
                && self.timer.poll(cx, self.clock, pumped.until).is_pending()
            {
                return Poll::Pending;
            }
        }
        yield_to_reactor(cx);
        Poll::Pending
    }
}

impl<T, P> fmt::Debug for Connection<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("session", &self.session).finish_non_exhaustive()
    }
}
