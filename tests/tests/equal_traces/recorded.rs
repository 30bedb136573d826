//! The pipes in memory, under every driver: what is done with them is written down.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use sans_mcp::{Exit, Moved, Server, Signal, Signalled, StartFailure, Time, Tree};
use sans_mcp_tests::invariants::Invariants;
use sans_mcp_tests::link::Link;
use sans_mcp_tests::trace::checksum;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::script;

/// What happened, line by line, and the clock and the checker that go with it.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    lines: Rc<RefCell<Vec<String>>>,
    now: Rc<Cell<Time>>,
    pub(crate) invariants: Rc<RefCell<Invariants>>,
}

impl Log {
    pub(crate) fn new() -> Log {
        Log::checked_by(Invariants::new(&script::server()))
    }

    /// For a driver that does not show what it accepts: checks only what does not depend on that.
    pub(crate) fn at_the_pipes() -> Log {
        Log::checked_by(Invariants::for_lies(&script::server()))
    }

    fn checked_by(invariants: Invariants) -> Log {
        let invariants = Rc::new(RefCell::new(invariants));
        Log { lines: Rc::default(), now: Rc::new(Cell::new(Time::ZERO)), invariants }
    }

    pub(crate) fn now(&self) -> Time {
        self.now.get()
    }

    pub(crate) fn set(&self, now: Time) {
        self.now.set(now);
        self.invariants.borrow_mut().time(now);
    }

    pub(crate) fn push(&self, line: impl AsRef<str>) {
        let mut lines = self.lines.borrow_mut();
        lines.push(format!("{:>7} {}", self.now().as_micros(), line.as_ref()));
        assert!(lines.len() < LONGEST, "it goes on for ever: {}", line.as_ref());
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.borrow().len()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// A violation is a line, which no log may have.
    pub(crate) fn check(&self, checked: sans_mcp_tests::invariants::Checked) {
        if let Err(violation) = checked {
            self.push(format!("VIOLATION {violation}"));
        }
    }
}

/// More steps than any history has.
const LONGEST: usize = 100_000;

#[derive(Debug)]
pub(crate) struct Recorded {
    link: Link,
    log: Log,
    exit_seen: bool,
    /// Under tokio: the sleep until something happens by itself, and the moment that time is counted from.
    sleep: Option<Pin<Box<Sleep>>>,
    start: Option<Instant>,
}

impl Recorded {
    /// Pipes to the server of `seed`.
    pub(crate) fn new(seed: u64, log: Log) -> Recorded {
        let peer = Box::new(script::peer(seed));
        let link = Link::new(peer, script::options(seed), Rc::clone(&log.invariants));
        Recorded { link, log, exit_seen: false, sleep: None, start: None }
    }

    /// When something happens next by itself.
    pub(crate) fn next(&self) -> Option<Time> {
        self.link.next()
    }

    /// Lets happen what was to happen until now. False: nothing was.
    pub(crate) fn advance(&mut self) -> bool {
        let due = self.next().is_some_and(|next| next <= self.log.now());
        self.link.advance(self.log.now());
        due
    }

    /// Before each use: a driver that woke for a deadline of its own has told the link nothing.
    fn link(&mut self) -> &mut Link {
        self.link.advance(self.log.now());
        &mut self.link
    }

    fn moved(&self, what: &str, moved: Moved, bytes: &[u8]) -> Moved {
        match moved {
            Moved::Bytes(count) => {
                let sum = checksum(bytes.get(..count).unwrap_or_default());
                self.log.push(format!("{what} {count} {sum:016x}"));
            }
            Moved::Ended => self.log.push(format!("{what} ended")),
            Moved::Blocked => {}
        }
        self.log.check(self.link.checked());
        moved
    }
}

impl sans_mcp::Pipes for Recorded {
    fn spawn(&mut self, server: &Server) -> Result<u32, StartFailure> {
        self.log.push("spawn");
        self.link().spawn(server)
    }

    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        let moved = self.link().read_stdout(space);
        self.moved("read", moved, space)
    }

    fn read_stderr(&mut self, space: &mut [u8]) -> Moved {
        let moved = self.link().read_stderr(space);
        self.moved("read stderr", moved, space)
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        let moved = self.link().write_stdin(bytes);
        if moved == Moved::Blocked {
            self.log.push(format!("write of {} blocked", bytes.len()));
        }
        self.moved(&format!("write of {}", bytes.len()), moved, bytes)
    }

    fn take_writable(&mut self) -> bool {
        let writable = self.link().take_writable();
        if writable {
            self.log.push("writable");
        }
        writable
    }

    fn close_stdin(&mut self) {
        self.log.push("close input");
        self.link().close_stdin();
    }

    fn signal(&mut self, signal: Signal) -> Signalled {
        let signalled = self.link().signal(signal);
        self.log.push(format!("signal {signal:?}: {signalled:?}"));
        signalled
    }

    fn exit(&mut self) -> Option<Exit> {
        let exit = self.link().exit();
        if let Some(exit) = exit.filter(|_| !self.exit_seen) {
            self.exit_seen = true;
            self.log.push(format!("exit {exit}"));
        }
        exit
    }

    fn reap(&mut self) -> Exit {
        let exit = self.link().reap();
        self.log.push(format!("reap {exit}"));
        exit
    }

    fn probe(&mut self) -> Tree {
        let tree = self.link().probe();
        self.log.push(format!("probe {tree:?}"));
        tree
    }

    fn release(&mut self) {
        self.log.check(self.link.checked());
        self.log.push("release");
    }
}

impl sans_mcp_tokio::Pipes for Recorded {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let start = *self.start.get_or_insert_with(Instant::now);
            self.log.set(Time::ZERO + start.elapsed());
            if self.advance() {
                return Poll::Ready(());
            }
            let Some(next) = self.next() else { return Poll::Pending };
            let next = start + next.since(Time::ZERO);
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(next)));
            if sleep.deadline() != next {
                sleep.as_mut().reset(next);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
