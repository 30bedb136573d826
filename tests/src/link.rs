//! The pipes between a session and a server in memory, and the process that is none.

mod options;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use sans_mcp::{Exit, Moved, Pipes, Server, Signal, Signalled, StartFailure, Time, Tree};

use crate::invariants::{Checked, Invariants};
use crate::peer::{Act, Agenda, Bytes, Child, Peer};
use crate::random::{Chunking, Random};

pub use options::LinkOptions;

/// What a pipe holds.
const CAPACITY: usize = 64 << 10;

/// The leader of the process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leader {
    Absent,
    Running,
    Exited(Exit),
    Reaped(Exit),
}

/// A server in memory, seen through its pipes.
pub struct Link {
    options: LinkOptions,
    random: Random,
    now: Time,
    peer: Box<dyn Peer>,
    agenda: BTreeMap<(Time, u64), Act>,
    acts: u64,
    output: VecDeque<Bytes>,
    output_closed: bool,
    output_end_seen: bool,
    complaints: VecDeque<u8>,
    unread: Vec<u8>,
    line: Vec<u8>,
    reading: bool,
    input_open: bool,
    input_closed_by_peer: bool,
    full_until: Option<Time>,
    gap_until: Option<Time>,
    leader: Leader,
    exit_seen: bool,
    children: Vec<Child>,
    wire: Vec<(Time, String)>,
    process: Vec<(Time, String)>,
    bytes_read: u64,
    invariants: Rc<RefCell<Invariants>>,
    checked: Checked,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("now", &self.now).field("leader", &self.leader).finish_non_exhaustive()
    }
}

impl Link {
    /// Links a session to `peer`; what passes is told to `invariants`.
    pub fn new(peer: Box<dyn Peer>, options: LinkOptions, invariants: Rc<RefCell<Invariants>>) -> Link {
        Link {
            random: Random::new(options.seed),
            options,
            now: Time::ZERO,
            peer,
            agenda: BTreeMap::new(),
            acts: 0,
            output: VecDeque::new(),
            output_closed: false,
            output_end_seen: false,
            complaints: VecDeque::new(),
            unread: Vec::new(),
            line: Vec::new(),
            reading: true,
            input_open: false,
            input_closed_by_peer: false,
            full_until: None,
            gap_until: None,
            leader: Leader::Absent,
            exit_seen: false,
            children: Vec::new(),
            wire: Vec::new(),
            process: Vec::new(),
            bytes_read: 0,
            invariants,
            checked: Ok(()),
        }
    }

    /// Moves time on to `now`: what was to happen until then happens.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.act();
    }

    /// Whether something can be read, if the session `reads`, or was not seen yet, at this moment.
    pub fn has_news(&self, reads: bool) -> bool {
        let ended = self.output.is_empty() && self.output_is_over() && !self.output_end_seen;
        let exited = matches!(self.leader, Leader::Exited(_)) && !self.exit_seen;
        reads && !self.output.is_empty() && !self.is_in_gap()
            || !self.complaints.is_empty()
            || ended
            || exited
    }

    /// When something happens next by itself.
    pub fn next(&self) -> Option<Time> {
        let act = self.agenda.keys().next().map(|(time, _)| *time);
        let room = self.unread.len() < CAPACITY;
        let gap = self.gap_until.filter(|_| self.is_in_gap());
        act.into_iter().chain(self.full_until.filter(|_| room)).chain(gap).min()
    }

    fn is_in_gap(&self) -> bool {
        self.leader == Leader::Running && self.gap_until.is_some_and(|until| until > self.now)
    }

    /// Whether output that is there is not to be found now. A dead server's is found at once, as in a real pipe.
    fn hides_output(&mut self) -> bool {
        if self.options.gaps
            && self.leader == Leader::Running
            && self.gap_until.is_none()
            && self.random.one_in(8)
        {
            let pause = Duration::from_micros(1 + self.random.below(3_000) as u64);
            self.gap_until = Some(self.tick(self.now + pause));
        }
        let hides = self.is_in_gap();
        if !hides {
            self.gap_until = None;
        }
        hides
    }

    /// The moment at which something happens that is to happen at `time`.
    fn tick(&self, time: Time) -> Time {
        let tick = u64::try_from(self.options.tick.as_micros()).unwrap_or(u64::MAX);
        if tick == 0 {
            return time;
        }
        let earliest = time.as_micros().max(self.now.as_micros() + 1);
        Time::from_micros(earliest.div_ceil(tick) * tick)
    }

    /// Lines that the server got, what came last without its newline included.
    pub fn wire(&self) -> &[(Time, String)] {
        &self.wire
    }

    /// What was done with the process.
    pub fn process(&self) -> &[(Time, String)] {
        &self.process
    }

    /// Bytes of the server's output that the session has read.
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Whether anything of the server is left: a process that runs, or a status that nobody took.
    pub fn leaves_something(&self) -> bool {
        matches!(self.leader, Leader::Running | Leader::Exited(_)) || !self.children.is_empty()
    }

    /// The first violation that was seen on the link.
    pub fn checked(&self) -> Checked {
        self.checked.clone()
    }

    fn check(&mut self, check: impl FnOnce(&mut Invariants) -> Checked) {
        let checked = check(&mut self.invariants.borrow_mut());
        if self.checked.is_ok() {
            self.checked = checked;
        }
    }

    fn note(&mut self, what: impl Into<String>) {
        self.process.push((self.now, what.into()));
    }

    fn output_is_over(&self) -> bool {
        let gone = matches!(self.leader, Leader::Exited(_) | Leader::Reaped(_)) && self.children.is_empty();
        self.output_closed || gone
    }

    fn plan(&mut self, tell: impl FnOnce(&mut dyn Peer, &mut Agenda)) {
        let mut agenda = Agenda::new(self.now);
        tell(&mut *self.peer, &mut agenda);
        for (time, act) in agenda.into_acts() {
            self.plan_act(time, act);
        }
        self.act();
    }

    fn plan_act(&mut self, time: Time, act: Act) {
        self.acts += 1;
        self.agenda.insert((self.tick(time), self.acts), act);
    }

    fn act(&mut self) {
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let act = entry.remove();
            if self.leader != Leader::Running {
                continue;
            }
            match act {
                Act::Write(bytes) => self.output.push_back(bytes),
                Act::Complain(bytes) => self.complaints.extend(bytes),
                Act::CloseOutput => self.output_closed = true,
                Act::CloseInput => {
                    self.input_closed_by_peer = true;
                    self.full_until = self.full_until.map(|_| self.now);
                    self.unread.clear();
                }
                Act::StopReading => self.reading = false,
                Act::Read => {
                    self.reading = true;
                    let unread = std::mem::take(&mut self.unread);
                    self.read(&unread);
                }
                Act::Fork(child) => self.children.push(child),
                Act::Exit(exit) => self.end(exit),
                Act::Wake => self.plan(|peer, agenda| peer.wake(agenda)),
            }
        }
        self.output.retain(|bytes| !bytes.is_empty());
    }

    fn end(&mut self, exit: Exit) {
        self.leader = Leader::Exited(exit);
        self.agenda.clear();
        self.full_until = self.full_until.map(|_| self.now);
        self.note(format!("exited: {exit}"));
    }

    /// The server reads.
    fn read(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") {
                let mut line = std::mem::take(&mut self.line);
                line.pop();
                self.wire.push((self.now, String::from_utf8_lossy(&line).into_owned()));
                self.plan(|peer, agenda| peer.line(&line, agenda));
            }
        }
    }
}

impl Pipes for Link {
    fn spawn(&mut self, _server: &Server) -> Result<u32, StartFailure> {
        self.check(Invariants::spawn_asked);
        if let Some(failure) = self.options.spawn_failure.clone() {
            self.note("spawn failed");
            return Err(failure);
        }
        self.note("spawned");
        self.leader = Leader::Running;
        self.input_open = true;
        self.plan(|peer, agenda| peer.start(agenda));
        Ok(4_242)
    }

    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        if self.output.is_empty() {
            if self.leader != Leader::Absent && self.output_is_over() {
                self.output_end_seen = true;
                self.invariants.borrow_mut().output_ended();
                return Moved::Ended;
            }
            return Moved::Blocked;
        }
        if self.hides_output() {
            return Moved::Blocked;
        }
        let most = self.output.front().map_or(0, Bytes::len).min(space.len());
        let count = match self.options.reads {
            // A pipe gives all it has, whatever it was written in.
            Chunking::Whole => space.len(),
            cut => cut.size(&mut self.random, most),
        };
        let space = space.get_mut(..count).unwrap_or_default();
        let mut moved = 0;
        while let Some(bytes) = self.output.front_mut() {
            moved += bytes.read(space.get_mut(moved..).unwrap_or_default());
            if !bytes.is_empty() {
                break;
            }
            self.output.pop_front();
        }
        self.bytes_read += moved as u64;
        self.invariants.borrow_mut().received(space.get(..moved).unwrap_or_default());
        if moved == 0 { Moved::Blocked } else { Moved::Bytes(moved) }
    }

    fn read_stderr(&mut self, space: &mut [u8]) -> Moved {
        let available = self.complaints.len().min(space.len());
        let count = self.options.reads.size(&mut self.random, available);
        for (to, from) in space.iter_mut().zip(self.complaints.drain(..count)) {
            *to = from;
        }
        if count == 0 { Moved::Blocked } else { Moved::Bytes(count) }
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        self.check(|invariants| invariants.offered(bytes));
        let dead = matches!(self.leader, Leader::Exited(_) | Leader::Reaped(_)) && self.children.is_empty();
        if dead || self.input_closed_by_peer || !self.input_open || self.checked.is_err() {
            self.invariants.borrow_mut().input_closed();
            return Moved::Ended;
        }
        let room = if self.reading { bytes.len() } else { CAPACITY - self.unread.len() };
        let refuses = self.options.blocks && self.random.one_in(4);
        let count = self.options.writes.size(&mut self.random, bytes.len().min(room));
        if count == 0 || refuses {
            let pause = Duration::from_micros(1 + self.random.below(3_000) as u64);
            self.full_until = Some(if refuses { self.tick(self.now + pause) } else { self.now });
            self.check(|invariants| invariants.written(0));
            return Moved::Blocked;
        }
        self.check(|invariants| invariants.written(count));
        let part = bytes.get(..count).unwrap_or_default();
        if self.reading && self.leader == Leader::Running {
            self.read(part);
        } else {
            self.unread.extend_from_slice(part);
        }
        Moved::Bytes(count)
    }

    fn take_writable(&mut self) -> bool {
        let room = self.unread.len() < CAPACITY;
        let ready = self.full_until.is_some_and(|until| until <= self.now && room);
        if ready {
            self.full_until = None;
            self.invariants.borrow_mut().writable();
        }
        ready
    }

    fn close_stdin(&mut self) {
        self.note("input closed");
        self.check(Invariants::close_asked);
        self.invariants.borrow_mut().input_closed();
        self.input_open = false;
        if !self.line.is_empty() {
            let line = String::from_utf8_lossy(&self.line).into_owned();
            self.wire.push((self.now, format!("[cut] {line}")));
        }
        if self.leader == Leader::Running {
            self.plan(|peer, agenda| peer.end_of_input(agenda));
        }
    }

    fn signal(&mut self, signal: Signal) -> Signalled {
        self.check(Invariants::signal_asked);
        self.note(format!("signal {signal:?}"));
        if self.options.signals_forbidden {
            return Signalled::NotPermitted;
        }
        if matches!(self.leader, Leader::Absent | Leader::Reaped(_)) && self.children.is_empty() {
            return Signalled::NoProcess;
        }
        let survives = |child: &Child| match child {
            Child::Meek => false,
            Child::Stubborn => signal == Signal::Terminate,
            Child::Escaped => true,
        };
        self.children.retain(survives);
        if self.leader == Leader::Running {
            match signal {
                Signal::Kill => {
                    self.plan_act(self.now, Act::Exit(Exit::Signal(9)));
                    self.act();
                }
                Signal::Terminate => self.plan(|peer, agenda| peer.terminate(agenda)),
            }
        }
        Signalled::Delivered
    }

    fn exit(&mut self) -> Option<Exit> {
        let Leader::Exited(exit) = self.leader else { return None };
        self.exit_seen = true;
        self.invariants.borrow_mut().exit_told();
        Some(if self.options.foreign_reaper { Exit::Unknown } else { exit })
    }

    fn reap(&mut self) -> Exit {
        self.check(Invariants::reap_asked);
        self.note("reaped");
        match self.leader {
            Leader::Exited(exit) | Leader::Reaped(exit) => {
                self.leader = Leader::Reaped(exit);
                if self.options.foreign_reaper { Exit::Unknown } else { exit }
            }
            Leader::Absent | Leader::Running => Exit::Unknown,
        }
    }

    fn probe(&mut self) -> Tree {
        self.check(|invariants| invariants.probe_asked());
        match u32::try_from(self.children.len()) {
            Ok(0) => Tree::Gone,
            Ok(count) => Tree::Alive(count),
            Err(_) => Tree::Unknown,
        }
    }
}
