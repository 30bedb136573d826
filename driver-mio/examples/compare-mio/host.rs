//! A host with one server, which waits until something has come of it.

use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use sans_mcp_mio::{Call, Clock, Completion, Connection, Handle, Output, Reply, Server, Time, ToolResult};

use crate::Outcome;

/// What may take longest here without a reason: a start, a close.
pub(crate) const GUARD: Duration = Duration::from_secs(20);

const CONNECT: usize = usize::MAX;

pub(crate) struct Host {
    poll: Poll,
    events: Events,
    clock: Clock,
    pub(crate) connection: Connection<usize>,
}

impl Host {
    pub(crate) fn new(server: Server) -> Outcome<Host> {
        let poll = Poll::new()?;
        let connection = Connection::new(server, poll.registry().try_clone()?, Token(0))?;
        Ok(Host { poll, events: Events::with_capacity(64), clock: Clock::start(), connection })
    }

    pub(crate) fn connected(server: Server) -> Outcome<Host> {
        let mut host = Host::new(server)?;
        host.connect(GUARD)?.ok_or("no connection")??;
        Ok(host)
    }

    /// Puts a fresh server in the place of the one before, in the same poll.
    pub(crate) fn renew(&mut self, server: Server) -> Outcome {
        self.connection = Connection::new(server, self.poll.registry().try_clone()?, Token(0))?;
        Ok(())
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn call(&mut self, call: Call, key: usize) -> Outcome<Handle> {
        let now = self.now();
        Ok(self.connection.call(now, call, key)?)
    }

    /// Connects; why not, or `None` if nothing came in time.
    pub(crate) fn connect(&mut self, guard: Duration) -> Outcome<Option<Result<(), String>>> {
        let now = self.now();
        self.connection.connect(now, CONNECT)?;
        self.wait(guard, |output| match output {
            Output::Complete(done) => Some(done.outcome.map(|_| ()).map_err(|failure| failure.to_string())),
            _ => None,
        })
    }

    /// The text of the one call that is open, or why there is none.
    pub(crate) fn text(&mut self, guard: Duration) -> Outcome<Option<Result<String, String>>> {
        self.wait(guard, |output| match output {
            Output::Complete(done) => Some(text_of(done, str::to_owned)),
            _ => None,
        })
    }

    /// Closes what may be over already, and gives how it ended; `None` if it did not.
    pub(crate) fn close(&mut self) -> Outcome<Option<Result<(), String>>> {
        let (start, now) = (Instant::now(), self.now());
        self.connection.close(now);
        while self.connection.session().end().is_none() && start.elapsed() < GUARD {
            self.turn(GUARD.saturating_sub(start.elapsed()), |_| {})?;
        }
        let end = self.connection.session().end();
        Ok(end.map(|end| if end.gone() { Ok(()) } else { Err(end.to_string()) }))
    }

    /// Turns until an output gives something, or `guard` is over.
    fn wait<T>(
        &mut self,
        guard: Duration,
        mut fact: impl FnMut(Output<'_, usize>) -> Option<T>,
    ) -> Outcome<Option<T>> {
        let start = Instant::now();
        let mut found = None;
        while found.is_none() && start.elapsed() < guard {
            self.turn(guard.saturating_sub(start.elapsed()), |output| {
                if found.is_none() {
                    found = fact(output);
                }
            })?;
        }
        Ok(found)
    }

    /// Does what can be done now. If nothing comes of it, waits until something can be done, for `most` at most, and
    /// does that.
    pub(crate) fn turn(&mut self, most: Duration, mut host: impl FnMut(Output<'_, usize>)) -> Outcome {
        let mut came = false;
        let now = self.now();
        self.connection.pump(now, |output| {
            came = true;
            host(output);
        });
        if came {
            return Ok(());
        }
        let timeout = self.connection.timeout(now).map_or(most, |timeout| timeout.min(most));
        self.poll.poll(&mut self.events, Some(timeout))?;
        for event in &self.events {
            self.connection.handle_event(event);
        }
        let now = self.now();
        self.connection.pump(now, host);
        Ok(())
    }
}

/// What `read` makes of the text of an answered call.
pub(crate) fn text_of<T>(done: Completion<'_, usize>, read: impl FnOnce(&str) -> T) -> Result<T, String> {
    match done.outcome {
        Ok(Reply::Answer(answer)) => match ToolResult::parse(answer.as_str()) {
            Ok(result) => Ok(read(&result.text())),
            Err(error) => Err(error.to_string()),
        },
        Ok(Reply::Connected | Reply::Listed) => Err("not a call".to_owned()),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The program to compare on, with the arguments of the comparison.
pub(crate) fn server(program: &str) -> Server {
    let arguments = std::env::var("BENCH_SERVER_ARGS").unwrap_or_default();
    Server::new("bench", program).args(arguments.split_whitespace())
}
