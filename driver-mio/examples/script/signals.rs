//! SIGHUP, SIGINT and SIGTERM as events of a poll: the server is in a process group of its own and would not see them.

use std::io;

use mio::event::Event;
use mio::unix::pipe;
use mio::{Interest, Registry, Token};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe::register;

use crate::hang_up;
use crate::status::Status;

const WATCHED: [(i32, Status); 3] =
    [(SIGHUP, Status::HungUp), (SIGINT, Status::Interrupted), (SIGTERM, Status::Terminated)];

/// Watches signals. From when it is made, they no longer end the process by themselves.
pub(crate) struct Signals {
    first: Token,
    /// A pipe for each, into which its handler writes a byte.
    _pipes: Vec<pipe::Receiver>,
}

impl Signals {
    pub(crate) const TOKENS: usize = WATCHED.len();

    pub(crate) fn new(registry: &Registry, first: Token) -> io::Result<Signals> {
        let mut pipes = Vec::new();
        for (number, (signal, _)) in WATCHED.into_iter().enumerate() {
            if signal == SIGHUP && hang_up::is_ignored() {
                continue;
            }
            let (sender, mut receiver) = pipe::new()?;
            registry.register(&mut receiver, Token(first.0 + number), Interest::READABLE)?;
            register(signal, sender)?;
            pipes.push(receiver);
        }
        Ok(Signals { first, _pipes: pipes })
    }

    /// The status with which the process is to end if the event is a signal. The byte stays in the pipe: the next one is
    /// an event all the same.
    pub(crate) fn of(&self, event: &Event) -> Option<Status> {
        let number = event.token().0.checked_sub(self.first.0)?;
        WATCHED.get(number).map(|(_, status)| *status)
    }
}
