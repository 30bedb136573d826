//! The server side of a conversation in memory: what it does, and when.

use std::time::Duration;

use sans_mcp::{Exit, Time};

/// A server as a script: it is told what happens to it and says what it does about that.
pub trait Peer {
    /// The process was started.
    fn start(&mut self, _agenda: &mut Agenda) {}

    /// A line came, without its newline.
    fn line(&mut self, line: &[u8], agenda: &mut Agenda);

    /// Its input ended. A server leaves then, unless it says otherwise.
    fn end_of_input(&mut self, agenda: &mut Agenda) {
        agenda.exit(Duration::ZERO, Exit::Code(0));
    }

    /// It got SIGTERM, and leaves unless it says otherwise.
    fn terminate(&mut self, agenda: &mut Agenda) {
        agenda.exit(Duration::ZERO, Exit::Signal(15));
    }

    /// A moment it asked for has come.
    fn wake(&mut self, _agenda: &mut Agenda) {}
}

/// What a server does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes on its output.
    Write(Bytes),
    /// Writes on standard error.
    Complain(Vec<u8>),
    /// Closes its output and lives on.
    CloseOutput,
    /// Closes its input, so that writing to it fails.
    CloseInput,
    /// Leaves what is written to it in the pipe.
    StopReading,
    /// Reads again.
    Read,
    /// Starts a process of its own, which holds its output open.
    Fork(Child),
    /// Exits.
    Exit(Exit),
    /// Is woken.
    Wake,
}

/// A process that a server started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// It dies by any signal to its group.
    Meek,
    /// It dies by SIGKILL only.
    Stubborn,
    /// It is in no group that can be signalled, and lives on.
    Escaped,
}

/// Bytes that a server writes; a repeated unit takes no more memory than one.
#[derive(Clone, Debug)]
pub struct Bytes {
    unit: Vec<u8>,
    /// How many are left, what is read of the first one included.
    count: usize,
    /// What was read of the first unit.
    at: usize,
}

impl Bytes {
    /// `unit`, `count` times.
    pub const fn repeated(unit: Vec<u8>, count: usize) -> Bytes {
        Bytes { unit, count, at: 0 }
    }

    /// How many bytes are left.
    pub const fn len(&self) -> usize {
        (self.unit.len() * self.count).saturating_sub(self.at)
    }

    /// Whether none is left.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves as many bytes as there are, and fit, to `space`.
    pub fn read(&mut self, mut space: &mut [u8]) -> usize {
        let mut moved = 0;
        while !space.is_empty() && !self.is_empty() {
            let rest = self.unit.get(self.at..).unwrap_or_default();
            let (Some(from), Some((to, after))) = (
                rest.get(..rest.len().min(space.len())),
                space.split_at_mut_checked(rest.len().min(space.len())),
            ) else {
                break;
            };
            to.copy_from_slice(from);
            moved += from.len();
            self.at += from.len();
            space = after;
            if self.at == self.unit.len() {
                self.at = 0;
                self.count -= 1;
            }
        }
        moved
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(unit: Vec<u8>) -> Bytes {
        Bytes::repeated(unit, 1)
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        Bytes::from(text.as_bytes().to_vec())
    }
}

/// Where a peer writes down what it will do.
#[derive(Debug)]
pub struct Agenda {
    now: Time,
    acts: Vec<(Time, Act)>,
}

impl Agenda {
    /// An empty one, at `now`.
    pub const fn new(now: Time) -> Agenda {
        Agenda { now, acts: Vec::new() }
    }

    /// The moment of what the peer was told.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Writes on its output, `after` so much time.
    pub fn write(&mut self, after: Duration, bytes: impl Into<Bytes>) {
        self.act(after, Act::Write(bytes.into()));
    }

    /// Writes a line on its output at once.
    pub fn say(&mut self, line: &str) {
        self.write(Duration::ZERO, Bytes::from(format!("{line}\n").into_bytes()));
    }

    /// Writes on standard error at once.
    pub fn complain(&mut self, text: impl Into<Vec<u8>>) {
        self.act(Duration::ZERO, Act::Complain(text.into()));
    }

    /// Exits, `after` so much time.
    pub fn exit(&mut self, after: Duration, exit: Exit) {
        self.act(after, Act::Exit(exit));
    }

    /// Does anything else, `after` so much time. Acts of one moment are done in the order in which they were written
    /// down.
    pub fn act(&mut self, after: Duration, act: Act) {
        self.acts.push((self.now + after, act));
    }

    /// All that was written down.
    pub fn into_acts(self) -> impl Iterator<Item = (Time, Act)> {
        self.acts.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_bytes_are_read_in_any_pieces() {
        for size in [1, 2, 3, 5, 100] {
            let mut bytes = Bytes::repeated(b"abc".to_vec(), 4);
            let mut all = Vec::new();
            let mut space = vec![0; size];
            while !bytes.is_empty() {
                let moved = bytes.read(&mut space);
                all.extend_from_slice(&space[..moved]);
            }
            assert_eq!(all, b"abcabcabcabc");
            assert_eq!(bytes.read(&mut space), 0);
        }
        assert!(Bytes::repeated(Vec::new(), 9).is_empty());
    }
}
