//! A host with one server, which waits until something has come of it.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};
use sans_mcp_mio::{
    Call, Clock, Completion, Connection, End, Output, Reply, Server, State, ToolResult, Tree,
};

use crate::comparison::{GUARD, Host, Outcome, Step, Tally};
use crate::crowd::Crowd;

const CONNECT: usize = usize::MAX;

const WAKER: Token = Token(usize::MAX);

pub(crate) struct MioHost {
    poll: Poll,
    events: Events,
    clock: Clock,
    connection: Option<Connection<usize>>,
}

impl MioHost {
    pub(crate) fn new() -> Outcome<MioHost> {
        let events = Events::with_capacity(64);
        Ok(MioHost { poll: Poll::new()?, events, clock: Clock::start(), connection: None })
    }

    fn connection(&mut self) -> Outcome<&mut Connection<usize>> {
        self.connection.as_mut().ok_or_else(|| "no connection".into())
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
    fn turn(&mut self, most: Duration, mut host: impl FnMut(Output<'_, usize>)) -> Outcome {
        let MioHost { poll, events, clock, connection: Some(connection) } = self else {
            return Err("no connection".into());
        };
        let mut came = false;
        let now = clock.now();
        connection.pump(now, |output| {
            came = true;
            host(output);
        });
        if came {
            return Ok(());
        }
        let timeout = connection.timeout(now).map_or(most, |timeout| timeout.min(most));
        match poll.poll(events, Some(timeout)) {
            // A signal that was handled, or that stopped and continued the process, ends a wait.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            polled => polled?,
        }
        for event in &*events {
            connection.handle_event(event);
        }
        connection.pump(clock.now(), host);
        Ok(())
    }
}

impl Host for MioHost {
    fn connect(&mut self, server: Server, guard: Duration) -> Outcome<Step> {
        let now = self.clock.now();
        let connection = Connection::new(server, self.poll.registry().try_clone()?, Token(0))?;
        self.connection.insert(connection).connect(now, CONNECT)?;
        let connected = self.wait(guard, |output| match output {
            Output::Complete(done) => Some(done.outcome.map(|_| ()).map_err(|failure| failure.to_string())),
            _ => None,
        })?;
        if let Some(Err(_)) = connected {
            // Its process is gone when the session is over.
            self.close(guard)?;
        }
        Ok(connected)
    }

    fn tools(&self) -> usize {
        self.connection.as_ref().map_or(0, |connection| connection.session().catalog().len())
    }

    fn call<T>(&mut self, call: Call, guard: Duration, read: impl FnOnce(&str) -> T) -> Outcome<Step<T>> {
        let now = self.clock.now();
        if let Err(refused) = self.connection()?.call(now, call, 0) {
            return Ok(Some(Err(refused.to_string())));
        }
        let mut read = Some(read);
        self.wait(guard, |output| match output {
            Output::Complete(done) => read.take().map(|read| with_text(done, |outcome| outcome.map(read))),
            _ => None,
        })
    }

    fn calls(
        &mut self,
        window: usize,
        n: usize,
        guard: Duration,
        make: impl Fn(usize) -> Call + Send + Sync + 'static,
        judge: impl Fn(usize, Result<&str, String>) -> Cow<'static, str> + Send + Sync + 'static,
    ) -> Outcome<Tally> {
        let start = Instant::now();
        let mut tally = Tally::new();
        let (mut next, mut open) = (0, 0);
        while (next < n || open > 0) && start.elapsed() < guard {
            while open < window && next < n {
                let now = self.clock.now();
                match self.connection()?.call(now, make(next), next) {
                    Ok(_) => open += 1,
                    Err(refused) => {
                        *tally.entry(judge(next, Err(refused.to_string()))).or_default() += 1;
                    }
                }
                next += 1;
            }
            if open == 0 {
                continue;
            }
            self.turn(guard.saturating_sub(start.elapsed()), |output| {
                if let Output::Complete(done) = output {
                    open -= 1;
                    let key = done.token;
                    *tally.entry(with_text(done, |outcome| judge(key, outcome))).or_default() += 1;
                }
            })?;
        }
        Ok(tally)
    }

    fn give_up(&mut self, calls: Vec<Call>, after: Call) -> Outcome<String> {
        let now = self.clock.now();
        let connection = self.connection()?;
        let handles = calls.into_iter().map(|call| connection.call(now, call, 0));
        let handles = handles.collect::<Result<Vec<_>, _>>()?;
        let text = self.call(after, GUARD, str::to_owned)?.ok_or("no answer")??;
        let now = self.clock.now();
        let connection = self.connection()?;
        for handle in handles {
            connection.cancel(now, handle, "enough");
        }
        // Their ends are not to be taken for that of the next call.
        self.turn(Duration::ZERO, |_| {})?;
        Ok(text)
    }

    fn rest<T: Send + 'static>(
        &mut self,
        servers: Vec<Server>,
        guard: Duration,
        meanwhile: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T> {
        let start = Instant::now();
        let mut crowd = Crowd::new(servers, &self.poll, &self.clock)?;
        while crowd.any(|connection| connection.session().state() != State::Ready) {
            if crowd.any(|connection| connection.session().end().is_some()) || start.elapsed() > guard {
                return Err("not all are connected".into());
            }
            crowd.turn(&mut self.poll, &mut self.events, &self.clock)?;
        }
        // A waker that is dropped takes back what it did.
        let waker = Arc::new(Waker::new(self.poll.registry(), WAKER)?);
        let (wakes, (send, receive)) = (waker.clone(), mpsc::channel());
        thread::spawn(move || {
            drop(send.send(meanwhile()));
            wakes.wake()
        });
        let result = loop {
            match receive.try_recv() {
                Err(TryRecvError::Empty) => crowd.turn(&mut self.poll, &mut self.events, &self.clock)?,
                result => break result?,
            }
        };
        drop(waker);
        crowd.close(&self.clock);
        while crowd.any(|connection| connection.session().end().is_none()) {
            crowd.turn(&mut self.poll, &mut self.events, &self.clock)?;
        }
        // So many look at all processes at once that some cannot prove in time that nothing is left.
        let is_alive = |end: &End| matches!(end.tree, Tree::Alive(_));
        if crowd.any(|connection| connection.session().end().is_some_and(is_alive)) {
            return Err("something is left".into());
        }
        Ok(result)
    }

    fn abandon(&mut self) {
        self.connection = None;
    }

    fn close(&mut self, guard: Duration) -> Outcome<Step> {
        let (start, now) = (Instant::now(), self.clock.now());
        self.connection()?.close(now);
        loop {
            if let Some(end) = self.connection()?.session().end() {
                return Ok(Some(if end.gone() { Ok(()) } else { Err(end.to_string()) }));
            }
            let left = guard.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.turn(left, |_| {})?;
        }
    }
}

/// What `read` makes of the text of an answered call, or of why there is none.
fn with_text<T>(done: Completion<'_, usize>, read: impl FnOnce(Result<&str, String>) -> T) -> T {
    match done.outcome {
        Ok(Reply::Answer(answer)) => match ToolResult::parse(answer.as_str()) {
            Ok(result) => read(Ok(&result.text())),
            Err(error) => read(Err(error.to_string())),
        },
        Ok(Reply::Connected | Reply::Listed) => read(Err("not a call".to_owned())),
        Err(failure) => read(Err(failure.to_string())),
    }
}
