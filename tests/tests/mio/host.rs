//! The mio driver as the suite for all drivers sees it: a loop on one thread, which turns while something is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use sans_mcp_mio::{
    Call, Catalog, Clock, Code, ConfigError, Connection, Counters, End, Failure, Handle, Output, PeerHandle,
    PeerReply, Refused, Reply, Request, Server, State, Tail, Time, Version,
};

use crate::drivers::outcome::{Answer, Answering, Outcome, Seen, Unsuccessful};
use crate::drivers::support::LIMIT;

/// There is one kind of poll.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind;

impl Kind {
    pub(crate) const ALL: [Kind; 1] = [Kind];
}

/// A connection and its poll.
pub(crate) struct Host {
    connection: Connection<u64>,
    poll: Poll,
    events: Events,
    clock: Clock,
    next_key: u64,
    /// Keys that did not come out yet.
    open: BTreeSet<u64>,
    /// What came out and was not taken yet.
    outcomes: BTreeMap<u64, Outcome>,
    seen: Vec<Seen>,
    answering: Vec<Answering>,
    /// Requests of the server, each with its method and when it came.
    asked: Vec<(Instant, PeerHandle, &'static str)>,
}

/// An operation that was handed in.
pub(crate) struct Ticket(Result<(u64, Handle), Outcome>);

impl Host {
    /// A host of a connection that is not started.
    pub(crate) fn new(_: Kind, mut server: Server, answering: &[Answering]) -> Result<Host, ConfigError> {
        for Answering { method, .. } in answering {
            let capabilities = &mut server.settings.capabilities;
            match *method {
                "roots/list" => capabilities.roots = true,
                "sampling/createMessage" => capabilities.sampling = true,
                "elicitation/create" => capabilities.elicitation = true,
                other => unreachable!("nobody can answer {other}"),
            }
        }
        let poll = Poll::new().unwrap();
        Ok(Host {
            connection: Connection::new(server, poll.registry().try_clone().unwrap(), Token(0))?,
            poll,
            events: Events::with_capacity(16),
            clock: Clock::start(),
            next_key: 0,
            open: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            seen: Vec::new(),
            answering: answering.to_vec(),
            asked: Vec::new(),
        })
    }

    pub(crate) fn begin_connect(&mut self) -> Ticket {
        self.begin(|connection, now, key| connection.connect(now, key))
    }

    /// Connects; if that fails, the session is over.
    pub(crate) fn connect(&mut self) -> Result<(), Unsuccessful> {
        let ticket = self.begin_connect();
        let connected = self.wait(ticket).map(drop);
        if connected.is_err() && self.state() != State::New {
            self.closed();
        }
        connected
    }

    pub(crate) fn call(&mut self, call: Call) -> Ticket {
        self.begin(|connection, now, key| connection.call(now, call, key))
    }

    pub(crate) fn request(&mut self, method: &str) -> Ticket {
        self.begin(|connection, now, key| connection.request(now, Request::new(method), key))
    }

    pub(crate) fn ping(&mut self) -> Ticket {
        self.begin(|connection, now, key| connection.ping(now, None, key))
    }

    pub(crate) fn list(&mut self) -> Ticket {
        self.begin(|connection, now, key| connection.list_tools(now, key))
    }

    fn begin(
        &mut self,
        command: impl FnOnce(&mut Connection<u64>, Time, u64) -> Result<Handle, Refused<u64>>,
    ) -> Ticket {
        let key = self.next_key;
        self.next_key += 1;
        Ticket(match command(&mut self.connection, self.clock.now(), key) {
            Ok(handle) => {
                self.open.insert(key);
                Ok((key, handle))
            }
            Err(Refused { value, refusal }) => {
                assert_eq!(value, key, "a refused key comes back");
                Err(Err(Unsuccessful::Refused(refusal)))
            }
        })
    }

    pub(crate) fn wait(&mut self, ticket: Ticket) -> Outcome {
        let (key, _) = match ticket.0 {
            Ok(accepted) => accepted,
            Err(outcome) => return outcome,
        };
        self.turn_until("an outcome", |host| host.outcomes.remove(&key))
    }

    /// Cancels an operation, of which nothing is heard again.
    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        let Ok((key, handle)) = ticket.0 else { return };
        let open = self.connection.cancel(self.clock.now(), handle, "the test");
        self.pump();
        let outcome = self.outcomes.remove(&key).expect("a cancelled operation is settled at once");
        if open {
            assert_eq!(outcome.unwrap_err().code(), Code::ABORTED);
        }
    }

    /// Has the client work for so long.
    pub(crate) fn turn(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            self.turn_once(time.saturating_sub(start.elapsed()));
        }
    }

    pub(crate) fn begin_close(&mut self) {
        self.connection.close(self.clock.now());
    }

    pub(crate) fn begin_shutdown(&mut self, grace: Duration) {
        self.connection.shutdown(self.clock.now(), grace);
    }

    pub(crate) fn close(&mut self) -> End {
        self.begin_close();
        self.closed()
    }

    /// Waits for the end, and does nothing towards it.
    pub(crate) fn closed(&mut self) -> End {
        self.turn_until("the end", |host| host.connection.session().end().cloned())
    }

    fn turn_until<T>(&mut self, what: &str, mut fact: impl FnMut(&mut Host) -> Option<T>) -> T {
        let start = Instant::now();
        self.pump();
        loop {
            if let Some(fact) = fact(self) {
                return fact;
            }
            assert!(start.elapsed() < LIMIT, "{what} did not come");
            self.turn_once(LIMIT);
        }
    }

    /// Waits until something can be done, for `most` at most, and does it.
    fn turn_once(&mut self, most: Duration) {
        let due = self.asked.iter().map(|(came, _, method)| {
            (*came + self.answer_to(method).after).saturating_duration_since(Instant::now())
        });
        let timeout = self.connection.timeout(self.clock.now()).into_iter().chain(due).min();
        match self.poll.poll(&mut self.events, Some(timeout.unwrap_or(most).min(most))) {
            // Somebody stopped and continued this process.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            polled => polled.unwrap(),
        }
        for event in &self.events {
            assert!(self.connection.handle_event(event), "an event of nobody");
        }
        self.pump();
    }

    fn pump(&mut self) {
        let Host { connection, open, outcomes, seen, asked, .. } = self;
        connection.pump(self.clock.now(), |output| match output {
            Output::Complete(done) => {
                assert!(open.remove(&done.token), "operation {} came out twice", done.token);
                outcomes.insert(done.token, owned(done.outcome));
            }
            Output::Request(request) => asked.push((Instant::now(), request.handle, request.method)),
            Output::RequestCancelled(number) => asked.retain(|(_, handle, _)| handle.number() != number),
            Output::Progress(_) => {}
            Output::Notification(notification) => seen.push(Seen::Notification(notification.method)),
            Output::Stderr(bytes) => seen.push(Seen::Stderr(bytes.to_owned())),
            Output::Diagnostic(diagnostic) => seen.push(Seen::Diagnostic(diagnostic.to_string())),
            Output::State(state) => seen.push(Seen::State(state)),
            Output::Closed(_) => seen.push(Seen::Closed),
            other => panic!("the driver carries this out: {other:?}"),
        });
        // Only now, so that a request whose time is over is given up before it is answered.
        self.respond();
    }

    /// Answers the server's requests that are due.
    fn respond(&mut self) {
        for (came, handle, method) in std::mem::take(&mut self.asked) {
            let Answering { after, with, .. } = self.answer_to(method);
            if came.elapsed() < after {
                self.asked.push((came, handle, method));
                continue;
            }
            let reply = match with {
                Ok(result) => PeerReply::Result(result),
                Err(code) => PeerReply::Error { code, message: "the host says no" },
            };
            // It is refused if the session is over meanwhile.
            let _ = self.connection.respond(self.clock.now(), handle, reply);
        }
    }

    fn answer_to(&self, method: &str) -> Answering {
        let answer = self.answering.iter().find(|answering| answering.method == method);
        *answer.expect("only what is declared is asked for")
    }

    /// Drops the connection, and gives back what it ran on, which lives on.
    pub(crate) fn abandon(self) -> Poll {
        self.poll
    }

    /// What was seen since this was asked last.
    pub(crate) fn seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.connection.session().counters()
    }

    pub(crate) fn state(&self) -> State {
        self.connection.session().state()
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.connection.session().version()
    }

    pub(crate) fn tools(&self) -> Arc<Catalog> {
        self.connection.session().catalog().clone()
    }

    pub(crate) fn tools_are_stale(&self) -> bool {
        self.connection.session().catalog_is_stale()
    }

    pub(crate) fn stderr(&mut self) -> Arc<Tail> {
        self.connection.stderr()
    }

    pub(crate) fn noise_samples(&self) -> Vec<Box<str>> {
        self.connection.session().noise_samples().to_vec()
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.connection.process_id()
    }
}

fn owned(outcome: Result<Reply<'_>, Failure>) -> Outcome {
    match outcome {
        Ok(Reply::Connected | Reply::Listed) => Ok(Answer::Done),
        Ok(Reply::Answer(answer)) => Ok(Answer::Result(answer.as_str().to_owned())),
        Err(failure) => Err(Unsuccessful::Failed(failure)),
    }
}
