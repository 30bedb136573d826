//! A session, a driver that can stop anywhere, and a server, moved by the steps of a history.

mod commands;
mod twin;

use std::time::Duration;

use sans_mcp::{Exit, Handle, Output, PeerHandle, Session, Signal, Signalled, StartFailure, Time, Tree};

use super::server::Seen;
use super::{Answer, Setup, Step, Temper};
use crate::Token;
use crate::invariants::{Checked, Invariants, Rule, Violation};
use crate::model::Model;
use crate::trace;

/// More outputs than one drain may give.
const OUTPUTS: usize = 20_000;

/// What a driver does about an output, once the output's borrow is over.
enum Reaction {
    Nothing,
    Wrote(usize),
    Spawn,
    CloseInput,
    Signal(Signal),
    Reap,
    Probe,
    Asked(PeerHandle),
    Unasked(u64),
    Wait(Option<Time>),
    Closed,
}

#[derive(Clone)]
pub(crate) struct World {
    pub(super) setup: Setup,
    pub(super) session: Session<Token>,
    pub(super) invariants: Invariants,
    pub(super) server: Seen,
    pub(super) now: Time,
    pub(super) tokens: Token,
    pub(super) handles: Vec<Handle>,
    pub(super) requests: Vec<PeerHandle>,
    /// What the server wrote and the session has not read.
    pub(super) output: Vec<u8>,
    pub(super) output_ends: bool,
    pub(super) output_ended: bool,
    pub(super) takes: usize,
    pub(super) full: bool,
    pub(super) input_open: bool,
    pub(super) exit: Option<Exit>,
    pub(super) exit_told: bool,
    pub(super) running: bool,
    /// What the session waits for, as it was said last.
    pub(super) until: Option<Time>,
    pub(super) trace: Vec<String>,
    /// Whether it is kept.
    pub(super) traces: bool,
    pub(super) twin: Option<twin::Twin>,
}

impl World {
    pub(crate) fn new(setup: Setup) -> World {
        let server = setup.server();
        let invariants = if setup.lies { Invariants::for_lies(&server) } else { Invariants::new(&server) };
        let session = Session::new(server)
            .unwrap_or_else(|error| unreachable!("the configuration of histories: {error}"));
        World {
            setup,
            session,
            invariants,
            server: Seen::new(setup.batches, setup.paged),
            now: Time::ZERO,
            tokens: 0,
            handles: Vec::new(),
            requests: Vec::new(),
            output: Vec::new(),
            output_ends: false,
            output_ended: false,
            takes: usize::MAX,
            full: false,
            input_open: true,
            exit: None,
            exit_told: false,
            running: false,
            until: None,
            trace: Vec::new(),
            traces: true,
            twin: None,
        }
    }

    /// Keeps no trace.
    pub(crate) fn untraced(mut self) -> World {
        self.traces = false;
        self
    }

    /// Plays the beginning that its setup asks for.
    pub(crate) fn begin(&mut self) -> Checked {
        let Some(answer) = self.setup.handshake else { return Ok(()) };
        let list = Step::Answer(0, Answer::Result);
        for step in [Step::Connect, Step::Drain, Step::Answer(0, answer), Step::Drain, list, Step::Drain] {
            self.step(step)?;
        }
        Ok(())
    }

    pub(crate) fn step(&mut self, step: Step) -> Checked {
        match step {
            Step::Connect
            | Step::Call { .. }
            | Step::Request(_)
            | Step::Ping(_)
            | Step::List
            | Step::Notify
            | Step::Cancel(_)
            | Step::Respond(_)
            | Step::Shutdown(_)
            | Step::Close => self.command(step),
            Step::Advance(hundreds) => {
                self.now = self.now + Duration::from_micros(u64::from(hundreds) * 100);
                self.pass(self.now);
                Ok(())
            }
            Step::Tick => {
                if let Some(until) = self.until.filter(|until| *until > self.now) {
                    self.pass(until);
                }
                Ok(())
            }
            Step::Answer(which, how) => {
                if self.writes() {
                    let bytes = self.server.answer(which, how);
                    self.output.extend_from_slice(&bytes);
                }
                Ok(())
            }
            Step::Say(saying) => {
                if self.writes() {
                    let bytes = self.server.say(saying);
                    self.output.extend_from_slice(&bytes);
                }
                Ok(())
            }
            Step::Complain(count) => {
                if self.running {
                    self.session
                        .handle_stderr(self.now, &b"warning: \xe2\x98\x83\n".repeat(usize::from(count)));
                }
                Ok(())
            }
            Step::Feed(count) => {
                self.feed(usize::from(count));
                Ok(())
            }
            Step::Take(count) => {
                self.takes = if count == u8::MAX { usize::MAX } else { usize::from(count) };
                if count > 0 && self.full {
                    self.full = false;
                    self.session.handle_writable(self.now);
                    self.invariants.writable();
                    self.fact(|model| model.full(false));
                }
                Ok(())
            }
            Step::CloseInput => {
                // The driver learns of it when it writes next.
                self.input_open = false;
                Ok(())
            }
            Step::EndOutput => {
                self.output_ends |= self.running;
                Ok(())
            }
            Step::Exit(at_once) => {
                if self.running {
                    self.exits(Exit::Code(3));
                    if at_once {
                        self.tell_exit();
                    }
                }
                Ok(())
            }
            Step::Poll(count) => {
                for _ in 0..count {
                    if self.poll()?.is_some() {
                        break;
                    }
                }
                Ok(())
            }
            Step::Drain => self.drain().map(|_| ()),
            Step::Lie(lie) => {
                if self.setup.lies {
                    self.lie(lie);
                }
                Ok(())
            }
        }
    }

    /// It is `now`.
    fn pass(&mut self, now: Time) {
        self.now = now;
        self.invariants.time(now);
        self.session.handle_timeout(now);
        self.fact(|model| model.time(now));
    }

    /// Whether the server can write.
    fn writes(&self) -> bool {
        self.running && !self.output_ends
    }

    fn feed(&mut self, count: usize) {
        let mut rest = count.min(self.output.len());
        while rest > 0 {
            let bytes = self.output.get(..rest).unwrap_or_default();
            let taken = self.session.handle_stdout(self.now, bytes);
            if taken == 0 {
                return;
            }
            let taken: Vec<u8> = self.output.drain(..taken).collect();
            self.invariants.received(&taken);
            self.fact(|model| model.received(&taken));
            let taken = taken.len();
            rest -= taken;
        }
    }

    fn exits(&mut self, exit: Exit) {
        if self.running {
            self.running = false;
            self.output_ends = true;
            self.input_open = false;
            self.exit = Some(exit);
        }
    }

    fn tell_exit(&mut self) {
        if let Some(exit) = self.exit {
            self.exit_told = true;
            self.invariants.exit_told();
            self.fact(Model::exited);
            self.session.handle_exit(self.now, exit);
        }
    }

    /// One poll, and what a driver does about it. A wait, or the end, if that is what came.
    fn poll(&mut self) -> Result<Option<Option<Time>>, Violation> {
        let output = self.session.poll_output();
        if self.traces {
            self.trace.push(format!("{} {}", self.now.as_micros(), trace::line(&output)));
        }
        self.invariants.output(&output)?;
        if let Some(twin) = &mut self.twin {
            twin.output(&output)?;
        }
        let reaction = match output {
            Output::Write(_) if !self.input_open => Reaction::CloseInput,
            Output::Write(bytes) => {
                let count = bytes.len().min(self.takes);
                self.takes = if self.takes == usize::MAX { usize::MAX } else { self.takes - count };
                self.invariants.written(count)?;
                if !self.traces {
                    self.invariants.forget_lines();
                }
                if let Some(twin) = &mut self.twin {
                    twin.written(bytes, count);
                }
                self.server.read(bytes.get(..count).unwrap_or_default());
                Reaction::Wrote(count)
            }
            Output::Spawn => Reaction::Spawn,
            Output::CloseStdin => Reaction::CloseInput,
            Output::Signal(signal) => Reaction::Signal(signal),
            Output::Reap => Reaction::Reap,
            Output::ProbeTree => Reaction::Probe,
            Output::Request(request) => Reaction::Asked(request.handle),
            Output::RequestCancelled(number) => Reaction::Unasked(number),
            Output::Wait { until, .. } => Reaction::Wait(until),
            Output::Closed(_) => Reaction::Closed,
            _ => Reaction::Nothing,
        };
        self.react(reaction)
    }

    fn react(&mut self, reaction: Reaction) -> Result<Option<Option<Time>>, Violation> {
        let now = self.now;
        match reaction {
            Reaction::Nothing => {}
            Reaction::Wrote(count) => {
                self.full = count == 0;
                self.session.handle_written(now, count);
            }
            Reaction::Spawn if self.setup.spawn_fails => {
                self.fact(Model::spawn_failed);
                self.session.handle_spawn_failed(now, StartFailure::NotPermitted);
            }
            Reaction::Spawn => {
                self.running = true;
                self.fact(Model::spawned);
                self.session.handle_spawned(now, 7);
            }
            Reaction::CloseInput => {
                self.input_open = false;
                self.invariants.input_closed();
                self.fact(Model::input_closed);
                self.session.handle_stdin_closed(now);
                if self.setup.temper == Temper::Meek && self.session.state() >= sans_mcp::State::Closing {
                    self.exits(Exit::Code(0));
                }
            }
            Reaction::Signal(signal) => {
                let dies = match self.setup.temper {
                    Temper::Meek | Temper::Slow => true,
                    Temper::Stubborn | Temper::Lingering => signal == Signal::Kill,
                    Temper::Immortal => false,
                };
                if dies {
                    self.exits(Exit::Signal(9));
                }
                let alive = self.running || self.exit.is_some();
                self.session
                    .handle_signalled(now, if alive { Signalled::Delivered } else { Signalled::NoProcess });
            }
            Reaction::Reap => {
                self.fact(Model::reaped);
                self.session.handle_reaped(now, self.exit.unwrap_or(Exit::Unknown));
            }
            Reaction::Probe => {
                let lingers = self.setup.temper == Temper::Lingering;
                self.fact(|model| model.looked(!lingers));
                self.session.handle_tree(now, if lingers { Tree::Alive(1) } else { Tree::Gone });
            }
            Reaction::Asked(handle) => self.requests.push(handle),
            Reaction::Unasked(number) => self.requests.retain(|handle| handle.number() != number),
            Reaction::Wait(until) => {
                self.until = until;
                self.invariants.settled(&self.session)?;
                if let Some(twin) = &mut self.twin {
                    twin.compare(now, until)?;
                }
                return Ok(Some(until));
            }
            Reaction::Closed => {
                self.invariants.settled(&self.session)?;
                if let Some(twin) = &mut self.twin {
                    twin.compare_end()?;
                }
                return Ok(Some(None));
            }
        }
        Ok(None)
    }

    /// Reads and polls until nothing is left at this moment.
    fn drain(&mut self) -> Result<Option<Time>, Violation> {
        for _ in 0..OUTPUTS {
            let Some(until) = self.poll()? else { continue };
            // The same again, since nothing has happened.
            let again = self.poll()?;
            if again != Some(until) {
                return Err(Violation {
                    rule: Rule::WaitIsLater,
                    seen: format!("{until:?}, and then {again:?}"),
                });
            }
            let before = self.output.len();
            self.feed(before);
            if self.output.len() < before {
                continue;
            }
            if self.output_ends && !self.output_ended {
                self.output_ended = true;
                self.invariants.output_ended();
                self.fact(Model::ended);
                self.session.handle_eof(self.now);
                continue;
            }
            if self.exit.is_some() && !self.exit_told {
                self.tell_exit();
                continue;
            }
            return Ok(until);
        }
        Err(Violation { rule: Rule::WaitIsLater, seen: "the machine never goes idle".to_owned() })
    }

    /// Closes, and lets time pass until it is over.
    pub(crate) fn finish(mut self) -> Result<Vec<String>, Violation> {
        self.session.close(self.now);
        self.fact(Model::close);
        let begin = self.now;
        for _ in 0..OUTPUTS {
            let until = self.drain()?;
            if self.session.end().is_some() {
                break;
            }
            match until {
                Some(until) => self.pass(until),
                None => {
                    return Err(Violation {
                        rule: Rule::Ladder,
                        seen: format!("never over: {:?}", self.session),
                    });
                }
            }
        }
        let took = self.now.since(begin);
        let bound = self.session.server().settings.timeouts.close_bound();
        if self.session.end().is_none() || (took > bound && !self.setup.lies) {
            return Err(Violation { rule: Rule::Ladder, seen: format!("not over after {took:?}") });
        }
        self.after_the_end()?;
        self.invariants.dropped(self.session)?;
        Ok(self.trace)
    }

    /// Whatever comes now changes nothing.
    fn after_the_end(&mut self) -> Checked {
        let (now, end) = (self.now, self.trace.len());
        self.traces = true;
        self.twin = None;
        self.session.handle_stderr(now, b"last words");
        self.session.handle_stdout(now, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        self.session.handle_writable(now);
        self.session.handle_exit(now, Exit::Code(1));
        self.session.handle_timeout(now + Duration::from_secs(3_600));
        self.invariants.time(now + Duration::from_secs(3_600));
        self.command(Step::Ping(1))?;
        self.command(Step::Connect)?;
        for _ in 0..3 {
            self.poll()?;
        }
        let others = self
            .trace
            .iter()
            .skip(end)
            .find(|line| !line.contains(" closed ") && !line.starts_with("refused"));
        match others {
            Some(line) => {
                Err(Violation { rule: Rule::ClosedIsEmpty, seen: format!("after the end: {line}") })
            }
            None => Ok(()),
        }
    }
}
