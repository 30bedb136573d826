//! The one way out, and the order of what comes out (design property: order inside one poll is fixed by core).
//!
//! Decided things first, then whole messages, so that an answer already in hand beats its deadline; then what is due;
//! then writes, so that an expired call is never encoded; then the process; then the wait. Replies go before messages once
//! half their reserve is used.

use super::lifecycle::{Action, Event, Phase};
use super::{Cursor, Given, Machine, Owner, Session, Step};
use crate::handle::{Handle, PeerHandle};
use crate::output::{Answer, Completion, Lent, Notification, Output, PeerRequest, Progress, Reply, Why};
use crate::rpc::Stage;
use crate::time::Time;
use crate::wire::encode;

/// Messages that are read in one poll while nothing comes of them: a line may hold millions, and deadlines must not wait for
/// all of them.
const READ: usize = 16 << 10;

/// Calls that are made in one poll once the catalog they waited for is there: each may have a schema to check.
const RESUMED: usize = 16;

impl<T> Session<T> {
    /// What to do or to know next. Poll until [`Output::Wait`] or [`Output::Closed`].
    ///
    /// What an output lends is given back by the next poll.
    pub fn poll_output(&mut self) -> Output<'_, T> {
        self.lent_stderr.clear();
        // An output that lends from the current line may still be waiting behind another one.
        if self.cursor == Cursor::Between && self.machine.ready.is_empty() {
            self.lines.release();
        }
        let step = self.step();
        self.lend(step)
    }

    fn step(&mut self) -> Step<T> {
        let (mut read, mut resumed) = (0, 0);
        loop {
            if let Some(step) = self.machine.ready.pop_front() {
                if self.machine.is_void(&step) {
                    continue;
                }
                return step;
            }
            if let Some(step) = self.machine.settle_next() {
                return step;
            }
            // A server that reads its replies is not to be ended for asking much in one go.
            if self.machine.link.wants_replies_first() {
                if let Some(step) = self.machine.expire_not_begun() {
                    return step;
                }
                // What expired may have been the end of it.
                if self.machine.settling || !self.machine.link.wants_replies_first() {
                    continue;
                }
                self.machine.link.fill_only_replies();
                return Step::Write;
            }
            if read < READ && self.read_message() {
                read += 1;
                continue;
            }
            if let Some(step) = self.machine.due() {
                return step;
            }
            if !self.machine.ready.is_empty() || self.machine.settling {
                continue;
            }
            if !self.machine.stderr_events.is_empty() {
                std::mem::swap(&mut self.lent_stderr, &mut self.machine.stderr_events);
                return Step::Stderr;
            }
            if self.machine.has_write() {
                return Step::Write;
            }
            if let Some(step) = self.machine.act() {
                return step;
            }
            if self.machine.phase == Phase::Closed {
                self.machine.make_end();
                return Step::Closed;
            }
            if resumed < RESUMED && self.machine.resume_next() {
                resumed += 1;
                continue;
            }
            let (until, why) = self.machine.next_wait();
            let until = if read == READ { Some(self.machine.soon()) } else { until };
            return Step::Wait { until, why };
        }
    }

    /// Turns a step into an output, the last act of a poll.
    fn lend(&mut self, step: Step<T>) -> Output<'_, T> {
        match step {
            Step::Complete { handle, token, outcome, elapsed } => {
                let handle = Handle(handle);
                let outcome = match outcome {
                    Ok(Given::Connected) => Ok(Reply::Connected),
                    Ok(Given::Listed) => Ok(Reply::Listed),
                    Ok(Given::Answer { span, check }) => {
                        let lent = if self.cursor == Cursor::Between && self.lines.is_owned() {
                            Lent::Line { lines: &mut self.lines, span }
                        } else {
                            Lent::Shared(self.lines.text().get(span).unwrap_or_default())
                        };
                        Ok(Reply::Answer(Answer::new(lent, check)))
                    }
                    Err(failure) => Err(failure),
                };
                Output::Complete(Completion { handle, token, outcome, elapsed })
            }
            Step::Request { handle, method, params } => {
                let params = params.and_then(|span| self.lines.text().get(span));
                Output::Request(PeerRequest { handle: PeerHandle(handle), method, params })
            }
            Step::Progress { id, params } => {
                let params = self.lines.text().get(params).unwrap_or_default();
                match self.machine.pending.get(id) {
                    Some(crate::rpc::Entry { handle, owner: Owner::Caller(caller), .. }) => {
                        Output::Progress(Progress { handle: Handle(*handle), token: &caller.token, params })
                    }
                    _ => Output::Wait { until: Some(self.machine.soon()), why: Why::Idle },
                }
            }
            Step::Notification { method, params } => {
                let params = params.and_then(|span| self.lines.text().get(span));
                Output::Notification(Notification { method, params })
            }
            Step::RequestCancelled(handle) => Output::RequestCancelled(handle),
            Step::Diagnostic(diagnostic) => Output::Diagnostic(diagnostic),
            Step::State(state) => Output::State(state),
            Step::Stderr => Output::Stderr(&self.lent_stderr),
            Step::Spawn => Output::Spawn,
            Step::Write => Output::Write(self.machine.link.offer()),
            Step::CloseStdin => Output::CloseStdin,
            Step::Signal(signal) => Output::Signal(signal),
            Step::Reap => Output::Reap,
            Step::ProbeTree => Output::ProbeTree,
            Step::Wait { until, why } => Output::Wait { until, why },
            Step::Closed => match &self.machine.end {
                Some(end) => Output::Closed(end),
                None => Output::Wait { until: Some(self.machine.soon()), why: Why::Idle },
            },
        }
    }
}

impl<T> Machine<T> {
    /// The earliest moment a wait may name.
    fn soon(&self) -> Time {
        self.now + std::time::Duration::from_micros(1)
    }

    /// Whether a step has lost its meaning while it waited: progress of a call that has ended since.
    fn is_void(&self, step: &Step<T>) -> bool {
        matches!(step, Step::Progress { id, .. } if self.pending.get(*id).is_none())
    }

    /// Does what is due at this moment; gives one settled operation at a time.
    fn due(&mut self) -> Option<Step<T>> {
        if let Some(step) = self.expire_next() {
            return Some(step);
        }
        if let Some(step) = self.expire_peer_request() {
            return Some(step);
        }
        let now = self.now;
        if self.phase == Phase::Losing && self.exit.is_some() && self.output_ended {
            self.lose();
        }
        if self.phase_until.is_some_and(|until| until <= now) {
            self.phase_over();
        }
        if self.phase == Phase::Draining && !self.awaits_anything() && self.link.is_idle() {
            self.event(Event::Drained);
        }
        if self.probe_at.is_some_and(|at| at <= now) {
            self.probe_at = None;
            if self.phase == Phase::Probing {
                self.actions.push_back(Action::Probe);
            }
        }
        self.health_due();
        None
    }

    /// Whether a caller waits for something.
    fn awaits_anything(&self) -> bool {
        self.pending.iter().any(|(_, entry)| matches!(entry.owner, Owner::Caller(_)))
    }

    /// Encodes what can be written now; true if there is something to offer.
    fn has_write(&mut self) -> bool {
        let pending = &mut self.pending;
        self.link.fill(|id, out| {
            let entry = pending.get_mut(id)?;
            let params = match std::mem::replace(&mut entry.stage, Stage::Encoded) {
                Stage::Queued(params) => params,
                other => {
                    entry.stage = other;
                    return None;
                }
            };
            encode::push_request(out, id, &entry.method, params.as_ref());
            Some(params.as_deref().map_or(0, str::len))
        });
        self.link.has_offer()
    }

    /// The next thing to do with the process.
    fn act(&mut self) -> Option<Step<T>> {
        Some(match self.actions.pop_front()? {
            Action::Spawn => Step::Spawn,
            Action::CloseStdin => {
                self.link.close();
                Step::CloseStdin
            }
            Action::Signal(signal) => Step::Signal(signal),
            Action::Reap => Step::Reap,
            Action::Probe => Step::ProbeTree,
            Action::SendInitialize | Action::SendInitialized | Action::Settle => return self.act(),
        })
    }

    /// When something is due next, and what.
    fn next_wait(&self) -> (Option<Time>, Why) {
        let phase = match self.phase {
            Phase::Spawning | Phase::Initializing => Why::Connect,
            Phase::Draining => Why::Grace,
            Phase::Losing => Why::Loss,
            _ => Why::Ladder,
        };
        if self.tools.is_resuming() {
            return (Some(self.soon()), Why::Call);
        }
        let next = [
            self.pending.next_deadline().map(|at| (at, Why::Call)),
            self.peer_requests.next_deadline().map(|at| (at, Why::PeerRequest)),
            self.phase_until.map(|at| (at, phase)),
            self.probe_at.map(|at| (at, Why::Probe)),
            self.health.due().map(|at| (at, Why::Health)),
        ]
        .into_iter()
        .flatten()
        .min();
        match next {
            Some((at, why)) => (Some(at.max(self.soon())), why),
            None => (None, Why::Idle),
        }
    }
}
