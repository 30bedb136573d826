//! One server in the poll of the host.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mio::event::Event;
use mio::{Registry, Token};
use sans_mcp::{
    Completion, ConfigError, Output, Pipes, Pumped, Reply, Server, Session, Tail, Time, Why, pump,
};

use crate::process::{self, Process};

/// What one [`Connection::pump`] may move, in bytes; an output for the host counts as 64. It is a millisecond's work or
/// less, after which other connections have their turn.
const BUDGET: usize = 256 << 10;

/// Tells the sessions of this process apart in logs (row L29).
static INSTANCES: AtomicU64 = AtomicU64::new(1);

/// A server whose pipes and process are event sources of the host's `mio::Poll`.
///
/// `K` is the host's key of an operation: it goes in with a command and comes out with the one completion of that
/// command. The host tells it of every event and, whenever [`timeout`](Connection::timeout) is over, has it
/// [`pump`](Connection::pump)ed.
///
/// Nothing here waits or, where the system can tell of an exit by a descriptor as Linux does, starts a thread, and the only
/// time of a session is the one that the host hands in. The slowest of what it does are the system calls that start a
/// process, a millisecond or two, and at the end the look at all processes for those that left the group, some
/// milliseconds, which by its own clock stops after 100 ms. It holds five descriptors: its own handle of the poll, three
/// pipes, and one for the exit.
///
/// Dropping it closes the server's input, kills its process group at once and waits for it to be gone, 200 ms at most
/// (row L18). The polite way is [`close`](Connection::close).
///
/// `P` is what its bytes go through: a process, unless it was made [`over`](Connection::over) something else.
pub struct Connection<K, P = Process> {
    pub(crate) session: Session<K>,
    pipes: P,
    /// How the last pump ended.
    pumped: Pumped,
    /// Something happened since, or was left undone.
    pub(crate) stirred: bool,
}

impl<K> Connection<K> {
    /// How many tokens a connection takes, from the first one on.
    pub const TOKENS: usize = process::TOKENS;

    /// A connection to `server`, of which nothing is started before [`connect`](Connection::connect).
    ///
    /// `registry` is a clone of the one of the host's poll, and `first` the first of [`TOKENS`](Connection::TOKENS)
    /// tokens that no other source of that poll has.
    ///
    /// # Errors
    ///
    /// What [`Server::check`] finds.
    pub fn new(server: Server, registry: Registry, first: Token) -> Result<Connection<K>, ConfigError> {
        Connection::over(server, Process::new(registry, first))
    }

    /// Leaves the pipe of the server's output as large as the system makes it. Otherwise it gets one that holds 1 MiB once a
    /// line passes 64 KiB, as long as fewer than eight servers of this process have one, and the system allows it.
    #[must_use]
    pub fn keep_pipe_size(mut self) -> Connection<K> {
        self.pipes.keep_pipe_size();
        self
    }

    /// Tells it of an event of the poll. It only takes note: [`pump`](Connection::pump) then acts on it.
    ///
    /// False, and nothing happens, if the event's token is not one of its own; so a host may hand every event to
    /// every connection. An event that comes too late or in vain does no harm.
    pub fn handle_event(&mut self, event: &Event) -> bool {
        let own = self.pipes.handle_event(event);
        self.stirred |= own;
        own
    }

    /// The number of the server's process, while there is one; for messages.
    pub fn process_id(&self) -> Option<u32> {
        self.pipes.id()
    }
}

impl<K, P: Pipes> Connection<K, P> {
    /// A connection to `server` over pipes of the host's own, for instance in memory: so a host can be tested without a
    /// process, and, as the time is handed in anyway, without waiting. What `server` says about the program is then for
    /// [`Pipes::spawn`] to use or to ignore.
    ///
    /// The host tells it by [`pipes_mut`](Connection::pipes_mut) that something has happened, as
    /// [`handle_event`](Connection::handle_event) does with a process.
    ///
    /// # Errors
    ///
    /// What [`Server::check`] finds.
    ///
    /// ```
    /// use sans_mcp_mio::{Connection, Exit, Moved, Output, Pipes, Server, Signal, Signalled, StartFailure, Time, Tree};
    ///
    /// /// There is no server.
    /// struct Nobody;
    ///
    /// impl Pipes for Nobody {
    ///     fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
    ///         Err(StartFailure::NoResources { errno: 11 })
    ///     }
    ///     // Nothing else is asked of what was never started.
    /// #   fn read_stdout(&mut self, _: &mut [u8]) -> Moved { Moved::Blocked }
    /// #   fn read_stderr(&mut self, _: &mut [u8]) -> Moved { Moved::Blocked }
    /// #   fn write_stdin(&mut self, _: &[u8]) -> Moved { Moved::Ended }
    /// #   fn take_writable(&mut self) -> bool { false }
    /// #   fn close_stdin(&mut self) {}
    /// #   fn signal(&mut self, _: Signal) -> Signalled { Signalled::NoProcess }
    /// #   fn exit(&mut self) -> Option<Exit> { None }
    /// #   fn reap(&mut self) -> Exit { Exit::Unknown }
    /// #   fn probe(&mut self) -> Tree { Tree::Gone }
    /// }
    ///
    /// let mut connection = Connection::over(Server::new("docs", "docs-server"), Nobody)?;
    /// connection.connect(Time::ZERO, "connect")?;
    /// let mut failed = None;
    /// connection.pump(Time::ZERO, |output| if let Output::Complete(done) = output {
    ///     failed = done.outcome.err().map(|failure| (done.token, failure.code().as_str()));
    /// });
    /// assert_eq!(failed, Some(("connect", "MCP_START_FAILED")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over(server: Server, pipes: P) -> Result<Connection<K, P>, ConfigError> {
        let instance = INSTANCES.fetch_add(1, Ordering::Relaxed);
        Ok(Connection {
            session: Session::new(server)?.with_instance(instance),
            pipes,
            pumped: Pumped { until: None, why: Why::Idle, starved: false, closed: false },
            stirred: false,
        })
    }

    /// The pipes.
    pub fn pipes(&self) -> &P {
        &self.pipes
    }

    /// The pipes, to be told of what happened to them; the next [`pump`](Connection::pump) looks.
    pub fn pipes_mut(&mut self) -> &mut P {
        self.stirred = true;
        &mut self.pipes
    }

    /// How long the poll may wait: `None` for ever, also once the session is over; zero while work is left.
    ///
    /// It is rounded up to whole milliseconds, which is what epoll takes; a wait that ended earlier would be in vain.
    pub fn timeout(&self, now: Time) -> Option<Duration> {
        if self.pumped.closed {
            return None;
        }
        if self.stirred {
            return Some(Duration::ZERO);
        }
        let micros = self.pumped.until?.since(now).as_micros();
        Some(Duration::from_millis(u64::try_from(micros.div_ceil(1_000)).unwrap_or(u64::MAX)))
    }

    /// Does what can be done now, and hands to `host` what is for it. To be called after each wait of the poll, and
    /// after commands; it is cheap while [`timeout`](Connection::timeout) is not zero.
    ///
    /// What comes is [`Output::Complete`], [`Output::Request`], [`Output::RequestCancelled`], [`Output::Progress`],
    /// [`Output::Notification`], [`Output::Stderr`], [`Output::Diagnostic`] and [`Output::State`], and as the last
    /// one, once, [`Output::Closed`], which [`session`](Connection::session) keeps. The rest is carried out here. Structured results are already checked against
    /// the tool's output schema (row L25).
    ///
    /// Of all times that were ever handed in the latest one counts. So one that lies in the future by mistake holds up
    /// deadlines, and the bound of a close, until it is reached.
    ///
    /// Outputs lend from the connection, so commands that follow from them have to wait until this returns.
    ///
    /// One call moves 256 KiB or a few thousand outputs at most, so that a server that floods cannot starve the others
    /// (row L19): then [`Pumped::starved`] is set and the timeout stays zero.
    pub fn pump(&mut self, now: Time, mut host: impl FnMut(Output<'_, K>)) -> Pumped {
        if self.timeout(now) != Some(Duration::ZERO) {
            return self.pumped;
        }
        self.pumped = pump(&mut self.session, &mut self.pipes, now, BUDGET, |output| host(checked(output)));
        self.stirred = self.pumped.starved;
        self.pumped
    }

    /// The session, for what can be known at any time: state, version, catalog, counters, the end.
    pub fn session(&self) -> &Session<K> {
        &self.session
    }

    /// The newest of what the server wrote on standard error.
    pub fn stderr(&mut self) -> Arc<Tail> {
        self.session.stderr()
    }

    /// Ends it as dropping does, and gives back the keys of all operations that are still open.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        drop(self.pipes);
        self.session.into_tokens()
    }
}

/// Checks a structured result, which the session leaves to its driver because it takes time.
fn checked<K>(output: Output<'_, K>) -> Output<'_, K> {
    let Output::Complete(Completion { handle, token, outcome, elapsed }) = output else { return output };
    let outcome = outcome.and_then(|reply| match reply {
        Reply::Answer(mut answer) => answer.check().map(|()| Reply::Answer(answer)),
        Reply::Connected | Reply::Listed => Ok(reply),
    });
    Output::Complete(Completion { handle, token, outcome, elapsed })
}

impl<K, P: fmt::Debug> fmt::Debug for Connection<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("session", &self.session)
            .field("pipes", &self.pipes)
            .field("pumped", &self.pumped)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
