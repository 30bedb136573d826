//! The host of clients on mio.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::mem;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use sans_mcp::{Call, Code, Counters, End, Handle, Output, Refused, Reply, Server, ToolResult};
use sans_mcp_mio::{Clock, Connection};

use crate::host::{self, Host};

/// More than any proof lasts.
const LONG: Duration = Duration::from_secs(600);

pub(crate) struct Mio {
    poll: Poll,
    events: Events,
    clock: Clock,
    clients: BTreeMap<host::Client, Client>,
    opened: usize,
}

struct Client {
    connection: Connection<u32>,
    operations: Operations,
    end: Option<End>,
}

/// What became of them; one that ends twice, or was never begun, is a panic.
#[derive(Default)]
struct Operations {
    open: BTreeMap<u32, Option<Handle>>,
    ended: BTreeMap<u32, Result<String, Code>>,
}

impl Operations {
    fn begin(&mut self, key: u32, accepted: Result<Handle, Refused<u32>>) {
        let (handle, refusal) = match accepted {
            Ok(handle) => (Some(handle), None),
            Err(refused) => (None, Some(refused.refusal.code())),
        };
        assert!(self.open.insert(key, handle).is_none(), "{key} is open");
        if let Some(code) = refusal {
            self.end(key, Err(code));
        }
    }

    fn end(&mut self, key: u32, outcome: Result<String, Code>) {
        assert!(self.open.remove(&key).is_some(), "{key} is not open");
        self.ended.insert(key, outcome);
    }
}

impl Mio {
    /// One turn of the loop, which waits for `most` at most.
    fn turn_once(&mut self, most: Duration) {
        let now = self.clock.now();
        let timeouts = self.clients.values().filter_map(|client| client.connection.timeout(now));
        let timeout = timeouts.min().unwrap_or(most).min(most);
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => self.events.clear(),
            polled => polled.expect("a working poll"),
        }
        let now = self.clock.now();
        for Client { connection, operations, end } in self.clients.values_mut() {
            for event in &self.events {
                connection.handle_event(event);
            }
            connection.pump(now, |output| match output {
                Output::Complete(done) => {
                    operations.end(done.token, done.outcome.map(text).map_err(|failure| failure.code()));
                }
                Output::Closed(closed) => *end = Some(closed.clone()),
                _ => {}
            });
        }
    }

    fn client(&mut self, client: host::Client) -> &mut Client {
        self.clients.get_mut(&client).expect("it is open")
    }
}

impl Host for Mio {
    fn new() -> Mio {
        let poll = Poll::new().expect("a poll");
        let (events, clock) = (Events::with_capacity(16), Clock::start());
        Mio { poll, events, clock, clients: BTreeMap::new(), opened: 0 }
    }

    fn open(&mut self, server: Server) -> host::Client {
        let number = self.opened;
        self.opened += 1;
        let registry = self.poll.registry().try_clone().expect("a registry");
        let first = Token(number * Connection::<u32>::TOKENS);
        let connection = Connection::new(server, registry, first).expect("valid");
        self.clients.insert(number, Client { connection, operations: Operations::default(), end: None });
        number
    }

    fn connect(&mut self, client: host::Client, key: u32) {
        let now = self.clock.now();
        let Client { connection, operations, .. } = self.client(client);
        operations.begin(key, connection.connect(now, key));
    }

    fn call(&mut self, client: host::Client, call: Call, key: u32) {
        let now = self.clock.now();
        let Client { connection, operations, .. } = self.client(client);
        operations.begin(key, connection.call(now, call, key));
    }

    fn cancel(&mut self, client: host::Client, key: u32) {
        let now = self.clock.now();
        let Client { connection, operations, .. } = self.client(client);
        if let Some(handle) = operations.open.get(&key).copied().flatten() {
            connection.cancel(now, handle, "not wanted any more");
        }
    }

    fn close(&mut self, client: host::Client) {
        let now = self.clock.now();
        self.client(client).connection.close(now);
    }

    fn process_id(&self, client: host::Client) -> Option<u32> {
        self.clients.get(&client)?.connection.process_id()
    }

    fn counters(&self, client: host::Client) -> Counters {
        self.clients[&client].connection.session().counters()
    }

    fn turn(&mut self, time: Duration) {
        let start = Instant::now();
        loop {
            self.turn_once(time.saturating_sub(start.elapsed()));
            if start.elapsed() >= time {
                return;
            }
        }
    }

    fn outcome(&mut self, client: host::Client, key: u32) -> Result<String, Code> {
        loop {
            if let Some(outcome) = self.client(client).operations.ended.remove(&key) {
                return outcome;
            }
            self.turn_once(LONG);
        }
    }

    fn end(&mut self, client: host::Client) -> End {
        loop {
            if let Some(end) = self.client(client).end.clone() {
                return end;
            }
            self.turn_once(LONG);
        }
    }

    fn drop_client(&mut self, client: host::Client) {
        let Client { connection, mut operations, .. } = self.clients.remove(&client).expect("it is open");
        connection.into_keys().for_each(|key| operations.end(key, Err(Code::CLOSED)));
        assert_eq!(operations.open.keys().collect::<BTreeSet<_>>(), BTreeSet::new(), "they did not end");
    }

    fn drop_loop_then_client(&mut self, client: host::Client) {
        drop(mem::replace(&mut self.poll, Poll::new().expect("a poll")));
        self.drop_client(client);
    }

    fn tasks(&self) -> usize {
        0
    }
}

fn text(reply: Reply<'_>) -> String {
    match reply {
        Reply::Answer(answer) => ToolResult::parse(answer.as_str()).expect("a result").text().into_owned(),
        Reply::Connected | Reply::Listed => String::new(),
    }
}
