//! Facts that the driver records. None of them fails, and they may come in any order and at any time.

use super::lifecycle::{Action, Event, Phase, transition};
use super::{Machine, Session, Step};
use crate::config::{StderrMode, Timeouts};
use crate::error::{Cause, End, HandshakeFault};
use crate::output::{DiagnosticKind, State};
use crate::process::{Exit, Signalled, StartFailure, Tree};
use crate::time::Time;

/// How long a closed input in the middle of the handshake waits for the exit that explains it.
const INPUT_LOST: std::time::Duration = std::time::Duration::from_secs(1);

/// Between two looks at a group that is not gone yet.
const PROBE: std::time::Duration = std::time::Duration::from_millis(10);

/// What is read at once of output that means nothing any more.
const DISCARD: usize = 16 << 10;

/// Standard error output that waits for a host that does not fetch it.
const STDERR_EVENTS: usize = 64 << 10;

impl<T> Session<T> {
    /// Where the driver puts what it reads from the server's output. It is empty while outputs wait to be polled, which bounds
    /// what is held, after the end of output, and once a server that leaves has written
    /// [`Limits::discard`](crate::Limits) bytes more, which bounds what is read.
    pub fn read_space(&mut self) -> &mut [u8] {
        self.discards = false;
        if self.machine.output_ended || self.cursor != super::Cursor::Between {
            return &mut [];
        }
        if self.machine.drains_output() {
            // It is still read, so that a server which writes while it leaves is not held up.
            self.discards = true;
            let left = self.machine.server.settings.limits.discard.saturating_sub(self.drained);
            self.discard.resize(DISCARD.min(left), 0);
            return &mut self.discard;
        }
        self.lines.read_space()
    }

    /// The first `count` bytes of [`Session::read_space`] were read.
    pub fn handle_read(&mut self, now: Time, count: usize) {
        self.machine.at(now);
        if self.discards {
            let count = count.min(self.discard.len());
            self.drained += count;
            self.machine.counters.discarded_bytes += count as u64;
        } else if !self.machine.output_ended {
            self.lines.filled(count);
        }
    }

    /// Copies output of the server in and says how much of it was accepted: the form for tests and for drivers that
    /// have their bytes already.
    pub fn handle_stdout(&mut self, now: Time, bytes: &[u8]) -> usize {
        let space = self.read_space();
        let count = space.len().min(bytes.len());
        let (Some(space), Some(part)) = (space.get_mut(..count), bytes.get(..count)) else { return 0 };
        space.copy_from_slice(part);
        self.handle_read(now, count);
        count
    }

    /// The server wrote this on standard error. It never fails a call by itself (row L22).
    pub fn handle_stderr(&mut self, now: Time, bytes: &[u8]) {
        self.machine.at(now);
        self.machine.on_stderr(bytes);
    }

    /// The server's output ended.
    pub fn handle_eof(&mut self, now: Time) {
        self.machine.at(now);
        if !self.machine.output_ended {
            self.lines.end();
            self.machine.output_ended = true;
            self.machine.event(Event::OutputEnded);
        }
    }

    /// The process runs; `pid` is for reports only.
    pub fn handle_spawned(&mut self, now: Time, _pid: u32) {
        self.machine.at(now);
        if matches!(self.machine.phase, Phase::Spawning | Phase::Aborting) {
            self.machine.tree = Tree::Unknown;
            self.machine.link.open();
            self.machine.event(Event::Spawned);
        }
    }

    /// The process could not be started.
    pub fn handle_spawn_failed(&mut self, now: Time, failure: StartFailure) {
        self.machine.at(now);
        let command = self.machine.server.command.clone();
        if self.machine.phase == Phase::Spawning {
            self.machine.cause.get_or_insert(Cause::Start { command, failure });
        }
        self.machine.event(Event::SpawnFailed);
    }

    /// The leader was seen to have exited, and all output it left was read before this is said. It must not be reaped before
    /// [`Output::Reap`](crate::Output::Reap) asks for that.
    pub fn handle_exit(&mut self, now: Time, exit: Exit) {
        self.machine.at(now);
        if self.machine.exit.is_none() {
            self.machine.exit = Some(exit);
            self.machine.circumstances = None;
        }
        self.machine.event(Event::Exited);
    }

    /// Whether a process was started and the session is not over.
    pub(crate) fn has_process(&self) -> bool {
        !matches!(self.machine.phase, Phase::New | Phase::Spawning | Phase::Closed)
    }

    /// Whether an exit was told already.
    pub(crate) fn knows_exit(&self) -> bool {
        self.machine.exit.is_some()
    }

    /// Whether the end of output was told already.
    pub(crate) fn knows_end_of_output(&self) -> bool {
        self.machine.output_ended
    }

    /// Whether a line is being read of which 64 KiB or more are there, or were thrown away.
    pub(crate) fn reads_long_line(&self) -> bool {
        self.lines.is_long()
    }

    /// The leader was reaped.
    pub fn handle_reaped(&mut self, now: Time, exit: Exit) {
        self.machine.at(now);
        if matches!(self.machine.exit, None | Some(Exit::Unknown)) {
            self.machine.exit = Some(exit);
        }
        self.machine.event(Event::Reaped);
    }

    /// What is left of the process tree, asked for by [`Output::ProbeTree`](crate::Output::ProbeTree).
    pub fn handle_tree(&mut self, now: Time, tree: Tree) {
        self.machine.at(now);
        if self.machine.phase != Phase::Probing {
            return;
        }
        self.machine.tree = tree;
        if tree == Tree::Gone {
            self.machine.event(Event::TreeGone);
        } else {
            self.machine.probe_at = Some(self.machine.now + PROBE);
            self.machine.event(Event::TreeLeft);
        }
    }

    /// `count` bytes of the offered write went; zero means that the server's input is full, and nothing is offered before
    /// [`Session::handle_writable`].
    pub fn handle_written(&mut self, now: Time, count: usize) {
        self.machine.at(now);
        self.machine.link.written(count);
    }

    /// The server's input takes bytes again.
    pub fn handle_writable(&mut self, now: Time) {
        self.machine.at(now);
        self.machine.link.writable();
    }

    /// The server's input is closed, by the server or because [`Output::CloseStdin`](crate::Output::CloseStdin) asked for it. Calls of
    /// which no byte left fail as not sent; the others keep waiting.
    pub fn handle_stdin_closed(&mut self, now: Time) {
        self.machine.at(now);
        self.machine.on_stdin_closed();
    }

    /// What became of a signal.
    pub fn handle_signalled(&mut self, now: Time, signalled: Signalled) {
        self.machine.at(now);
        if signalled == Signalled::NotPermitted {
            self.machine.signal_refused = true;
        }
    }

    /// Time passed. Early and spurious calls do no harm; what is due is decided by `now` alone.
    pub fn handle_timeout(&mut self, now: Time) {
        self.machine.at(now);
    }
}

impl<T> Machine<T> {
    fn on_stderr(&mut self, bytes: &[u8]) {
        if self.phase == Phase::Closed {
            // Nothing comes after the end.
            return;
        }
        self.circumstances = None;
        self.stderr.push(bytes);
        if self.server.stderr != StderrMode::Events {
            return;
        }
        if self.stderr_events.len() + bytes.len() <= STDERR_EVENTS {
            self.stderr_stream.push(bytes, &mut self.stderr_events);
        } else {
            self.diagnose(DiagnosticKind::StderrDropped);
        }
    }

    fn on_stdin_closed(&mut self) {
        self.link.close();
        if matches!(self.phase, Phase::Ready | Phase::Draining) {
            self.fail_unsent();
        }
        let unwritten = self.initialize.is_some_and(|id| {
            self.pending.get(id).is_some() && self.link.delivery(id) != crate::Delivery::Sent
        });
        if self.phase == Phase::Initializing && unwritten && !self.input_lost {
            self.input_lost = true;
            let until = self.now + INPUT_LOST;
            self.phase_until = Some(self.phase_until.map_or(until, |connect| connect.min(until)));
        }
    }

    /// Moves along the table and does what it says.
    pub(super) fn event(&mut self, event: Event) {
        let Some((next, actions)) = transition(self.phase, event) else { return };
        let before = self.phase.state();
        self.phase = next;
        self.circumstances = None;
        self.phase_until = self.time_of(next);
        if next.state() != before {
            self.ready.push_back(Step::State(next.state()));
        }
        if next.state() < State::Closing {
            self.busy_with = next.state();
        }
        if next == Phase::Closed && self.server.stderr == StderrMode::Events {
            self.stderr_stream.finish(&mut self.stderr_events);
        }
        for action in actions {
            match action {
                Action::Settle => {
                    self.settling = true;
                    self.cancel_peer_requests();
                }
                Action::SendInitialize => self.send_initialize(),
                Action::SendInitialized => self.send_initialized(),
                Action::CloseStdin => {
                    if next != Phase::Leaving {
                        // What a polite leave would still write is not worth a wait here.
                        self.link.close();
                    }
                    self.actions.push_back(Action::CloseStdin);
                }
                other => self.actions.push_back(*other),
            }
        }
    }

    /// When the time of a phase that begins now is over.
    fn time_of(&mut self, phase: Phase) -> Option<Time> {
        let timeouts = &self.server.settings.timeouts;
        match phase {
            Phase::Spawning => timeouts.connect.map(|timeout| self.now + timeout),
            Phase::Initializing | Phase::Draining => self.phase_until,
            Phase::Losing => Some(self.now + Timeouts::LOSS),
            Phase::Leaving => Some(self.now + timeouts.end_of_input),
            Phase::Terminating => Some(self.now + timeouts.terminate),
            Phase::Killing | Phase::Reaping | Phase::Probing => {
                Some(*self.gone_by.get_or_insert(self.now + Timeouts::REAP))
            }
            Phase::New | Phase::Aborting | Phase::Ready | Phase::Closed => None,
        }
    }

    /// The server did what ends the session.
    pub(super) fn fault(&mut self, cause: Cause) {
        if matches!(self.phase, Phase::Spawning | Phase::Initializing | Phase::Ready | Phase::Draining) {
            self.cause.get_or_insert(cause);
            self.event(Event::Fault);
        }
    }

    /// The time of the current phase is over.
    pub(super) fn phase_over(&mut self) {
        self.phase_until = None;
        match self.phase {
            Phase::Spawning | Phase::Initializing => {
                let cause = if self.input_lost {
                    Cause::Handshake(HandshakeFault::InputClosed)
                } else {
                    Cause::ConnectTimeout(self.server.settings.timeouts.connect.unwrap_or_default())
                };
                self.cause.get_or_insert(cause);
                self.event(Event::Deadline);
            }
            Phase::Losing => self.lose(),
            _ => self.event(Event::Deadline),
        }
    }

    /// Declares the loss, with all that is known by now.
    pub(super) fn lose(&mut self) {
        let connecting = self.peer.is_none();
        match self.exit {
            Some(exit) => {
                let cause = if connecting { Cause::ExitedInHandshake(exit) } else { Cause::Exited(exit) };
                self.cause.get_or_insert(cause);
                self.event(Event::Lost);
            }
            None => {
                self.cause.get_or_insert(Cause::OutputEnded);
                self.event(Event::Silenced);
            }
        }
    }

    /// The end, made once.
    pub(super) fn make_end(&mut self) {
        if self.end.is_none() {
            self.end = Some(End {
                server: self.name.clone(),
                cause: self.end_cause(),
                exit: self.exit,
                tree: self.tree,
                signal_refused: self.signal_refused,
                stderr: self.stderr.snapshot(),
            });
        }
    }
}
