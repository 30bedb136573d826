//! Many connections in one poll, of which nothing is wanted but that they are there.

use std::io::ErrorKind;

use mio::{Events, Poll, Token};
use sans_mcp_mio::{Clock, Connection, Server};

use crate::comparison::Outcome;

type Each = Connection<usize>;

pub(crate) struct Crowd {
    connections: Vec<Each>,
}

impl Crowd {
    /// A connection to each of `servers`; those are being connected when it is turned.
    pub(crate) fn new(servers: Vec<Server>, poll: &Poll, clock: &Clock) -> Outcome<Crowd> {
        let mut connections = Vec::with_capacity(servers.len());
        for (index, server) in servers.into_iter().enumerate() {
            let mut connection =
                Each::new(server, poll.registry().try_clone()?, Token(index * Each::TOKENS))?;
            connection.connect(clock.now(), index)?;
            connections.push(connection);
        }
        Ok(Crowd { connections })
    }

    pub(crate) fn any(&self, fact: impl Fn(&Each) -> bool) -> bool {
        self.connections.iter().any(fact)
    }

    pub(crate) fn close(&mut self, clock: &Clock) {
        self.connections.iter_mut().for_each(|connection| connection.close(clock.now()));
    }

    /// Waits until something can be done, and does it.
    pub(crate) fn turn(&mut self, poll: &mut Poll, events: &mut Events, clock: &Clock) -> Outcome {
        let now = clock.now();
        let timeout = self.connections.iter().filter_map(|connection| connection.timeout(now)).min();
        match poll.poll(events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            polled => polled?,
        }
        for event in &*events {
            if let Some(connection) = self.connections.get_mut(event.token().0 / Each::TOKENS) {
                connection.handle_event(event);
            }
        }
        let now = clock.now();
        for connection in &mut self.connections {
            connection.pump(now, |_| {});
        }
        Ok(())
    }
}
