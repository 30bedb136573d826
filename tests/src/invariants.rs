//! What holds for every session at every moment, whatever is done to it.
//!
//! One checker is fed with all that goes into a session and all that comes out of it, and says what does not hold. It
//! shares no code with the machine. Random histories, exploration, fuzzing, the cases and the drivers' tests all use it.

mod answers;
mod operations;
mod process;
mod wire;

use std::fmt::{self, Write};

use sans_mcp::{Counters, Handle, Output, Reply, Server, Session, State, Time};

use crate::Token;
use answers::Answers;
use operations::Operations;
use process::Process;
use wire::Wire;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which invariant.
    pub rule: Rule,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.seen)
    }
}

impl std::error::Error for Violation {}

/// The invariants, by the promise that they guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Each accepted token comes back by one completion, under its own handle (row L10).
    ExactlyOnce,
    /// A refused token comes back at once, and nothing happens (row L09).
    RefusedAtOnce,
    /// A wait is strictly later than now, and nothing is due before it.
    WaitIsLater,
    /// A call does not outlive its deadline, nor end by it before it (row L11).
    Deadline,
    /// After the end nothing is pending, queued or timed.
    ClosedIsEmpty,
    /// Budgets stay within their limits (rows L19 to L21).
    Budget,
    /// Each written line is one valid message; only the last may be cut, when the server's input is gone (row W04).
    WholeMessages,
    /// Only what was not written is offered, and never after it was refused or closed.
    Offer,
    /// Ids of requests only grow (row L07).
    IdsGrow,
    /// A cancel notice follows its request, at most once, names what was written, and never `initialize` (row L12).
    CancelNotice,
    /// Before `initialized` there is `initialize`, and replies (row L23).
    Handshake,
    /// Delivery is what the wire saw (row L16).
    Delivery,
    /// A result is the server's answer to that very id (rows L07, L08).
    OwnAnswer,
    /// States follow each other in the order of a life.
    States,
    /// The session does what its specification says.
    Model,
    /// Equal inputs give equal outputs.
    Repeats,
    /// Steps with the process are asked for in order, each at most once, and none too late (row L17).
    Ladder,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a check gives.
pub type Checked = Result<(), Violation>;

fn violated<V>(rule: Rule, seen: impl Into<String>) -> Result<V, Violation> {
    Err(Violation { rule, seen: seen.into() })
}

fn ensure(holds: bool, rule: Rule, seen: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { violated(rule, seen()) }
}

/// What an accepted operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A connect or a listing: it has no request of its own.
    Waiting,
    /// A request whose handle is its id.
    Request,
    /// A call: its handle is its id, unless it had to wait for a catalog. Where its arguments have the member [`MARKER`] with
    /// its token, its line is known by that.
    Call,
}

/// The member of a call's arguments by which its line is known.
pub const MARKER: &str = "marker";

/// The checker of one session. After a violation it says nothing that can be relied on.
#[derive(Clone, Debug)]
pub struct Invariants {
    now: Time,
    state: State,
    operations: Operations,
    wire: Wire,
    answers: Answers,
    process: Process,
    limits: Budget,
    /// An honest driver reports what happened and nothing else.
    honest: bool,
}

#[derive(Clone, Debug)]
struct Budget {
    pending: usize,
    queued_bytes: usize,
    reply_bytes: usize,
    peer_requests: usize,
}

/// Requests of the session's own that may be open beside those of callers: `initialize` or a page, and a health check.
const OWN_REQUESTS: usize = 2;
/// Bytes of the session's own that may be queued: `initialize`, a cursor, `initialized`.
const OWN_BYTES: usize = 64 << 10;

impl Invariants {
    /// For a session of `server` to which nothing has happened.
    pub fn new(server: &Server) -> Invariants {
        let limits = &server.settings.limits;
        Invariants {
            now: Time::ZERO,
            state: State::New,
            operations: Operations::default(),
            wire: Wire::default(),
            answers: Answers::default(),
            process: Process::default(),
            limits: Budget {
                pending: limits.pending + OWN_REQUESTS,
                queued_bytes: limits.send_queue + OWN_BYTES,
                reply_bytes: limits.replies,
                peer_requests: limits.peer_requests,
            },
            honest: true,
        }
    }

    /// For a driver that lies about the process and the pipes: no fact can be relied on then, so only what does not
    /// depend on any is checked.
    pub fn for_lies(server: &Server) -> Invariants {
        Invariants { honest: false, ..Invariants::new(server) }
    }

    /// It is `now`; an earlier time changes nothing.
    pub fn time(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// The latest time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// A command was accepted. `deadline` is when it must be over, if that is certain.
    pub fn accepted(
        &mut self,
        token: Token,
        handle: Handle,
        asked: Asked,
        deadline: Option<Time>,
    ) -> Checked {
        self.operations.accepted(token, handle.number(), asked, deadline, self.now)
    }

    /// A command was refused, and this came back.
    pub fn refused(&mut self, handed_in: Token, came_back: Token) -> Checked {
        ensure(handed_in == came_back, Rule::RefusedAtOnce, || {
            format!("{handed_in} was refused, {came_back} came back")
        })?;
        self.operations.refused(handed_in)
    }

    /// The host cancelled an operation, and was told whether it was open.
    pub fn cancelled(&mut self, handle: Handle, was_open: bool) -> Checked {
        self.operations.cancelled(handle.number(), was_open)
    }

    /// The session took these bytes as the server's output.
    pub fn received(&mut self, bytes: &[u8]) {
        self.answers.received(bytes);
    }

    /// The server's output ended, so that what came last is a line too.
    pub fn output_ended(&mut self) {
        self.answers.ended();
    }

    /// These bytes are offered for writing.
    pub fn offered(&mut self, bytes: &[u8]) -> Checked {
        if self.honest {
            self.wire.offered(bytes)
        } else {
            ensure(!bytes.is_empty(), Rule::Offer, || "nothing".to_owned())
        }
    }

    /// The first `count` bytes of what was offered last were written; none means that the pipe is full.
    pub fn written(&mut self, count: usize) -> Checked {
        if !self.honest {
            return Ok(());
        }
        let from = self.wire.lines().len();
        self.wire.written(count)?;
        for line in self.wire.lines().iter().skip(from) {
            self.operations.began(line)?;
        }
        Ok(())
    }

    /// The pipe takes bytes again.
    pub fn writable(&mut self) {
        self.wire.writable();
    }

    /// The server's input is closed, by either side.
    pub fn input_closed(&mut self) {
        self.wire.closed();
    }

    /// The process was asked for.
    pub fn spawn_asked(&mut self) -> Checked {
        self.process.spawn_asked()
    }

    /// Closing the input was asked for.
    pub fn close_asked(&mut self) -> Checked {
        self.process.close_asked()
    }

    /// A signal was asked for.
    pub fn signal_asked(&mut self) -> Checked {
        self.process.signal_asked()
    }

    /// The session was told that the process exited.
    pub fn exit_told(&mut self) {
        self.process.exit_told();
    }

    /// Taking the status was asked for.
    pub fn reap_asked(&mut self) -> Checked {
        if self.honest { self.process.reap_asked() } else { Ok(()) }
    }

    /// Looking at the tree was asked for.
    pub fn probe_asked(&mut self) -> Checked {
        if self.honest { self.process.probe_asked() } else { Ok(()) }
    }

    /// Anything that came out of a poll.
    pub fn output(&mut self, output: &Output<'_, Token>) -> Checked {
        match output {
            Output::Complete(completion) => {
                let handle = completion.handle.number();
                let ended =
                    self.operations.completed(completion.token, handle, completion.elapsed, self.now)?;
                match &completion.outcome {
                    Ok(Reply::Connected | Reply::Listed) => {
                        ensure(ended.asked == Asked::Waiting, Rule::OwnAnswer, || {
                            format!("{handle} is no waiting one")
                        })
                    }
                    Ok(Reply::Answer(answer)) if self.honest => {
                        // A server may answer before it has read the newline.
                        let Some(id) = ended.wire.filter(|id| self.wire.has_begun(*id)) else {
                            return violated(
                                Rule::OwnAnswer,
                                format!("{handle} was answered and not written"),
                            );
                        };
                        ensure(self.answers.has_result(id, answer.as_str()), Rule::OwnAnswer, || {
                            format!(
                                "{handle}, written as {id}, got what was not its answer: {:.200}",
                                answer.as_str()
                            )
                        })
                    }
                    Ok(Reply::Answer(_)) => Ok(()),
                    Err(failure) => {
                        self.operations.failed(&ended, failure, self.now)?;
                        if !self.honest {
                            return Ok(());
                        }
                        self.wire.settled(&ended, failure)?;
                        self.answers.check_error(&ended, failure)
                    }
                }
            }
            Output::State(state) => {
                let before = std::mem::replace(&mut self.state, *state);
                ensure(before < *state, Rule::States, || format!("{state:?} after {before:?}"))
            }
            Output::Write(bytes) => self.offered(bytes),
            Output::Spawn => self.spawn_asked(),
            Output::CloseStdin => self.close_asked(),
            Output::Signal(_) => self.signal_asked(),
            Output::Reap => self.reap_asked(),
            Output::ProbeTree => self.probe_asked(),
            Output::Wait { until, .. } => self.wait(*until),
            Output::Closed(_) => ensure(self.operations.open().is_none(), Rule::ClosedIsEmpty, || {
                format!("closed, and token {:?} never came back", self.operations.open())
            }),
            Output::Request(_)
            | Output::RequestCancelled(_)
            | Output::Progress(_)
            | Output::Notification(_)
            | Output::Stderr(_)
            | Output::Diagnostic(_) => Ok(()),
        }
    }

    /// Everything is drained until this moment.
    pub fn wait(&mut self, until: Option<Time>) -> Checked {
        let now = self.now;
        ensure(until.is_none_or(|until| until > now), Rule::WaitIsLater, || format!("{until:?} at {now:?}"))?;
        self.operations.none_overdue(now, until)?;
        if self.honest { self.wire.none_untold() } else { Ok(()) }
    }

    /// Looks at the session itself, after it was drained.
    pub fn settled(&mut self, session: &Session<Token>) -> Checked {
        let counters = session.counters();
        ensure(session.state() == self.state, Rule::States, || {
            format!("{:?} was told, it is {:?}", self.state, session.state())
        })?;
        self.within_limits(&counters)?;
        self.budgets_are_back(&counters)?;
        let open = self.operations.count_open();
        let own = counters.pending.saturating_sub(open);
        let most = self.limits.pending - OWN_REQUESTS;
        ensure(open <= most, Rule::Budget, || format!("{open} tokens are out, the limit is {most}"))?;
        ensure(counters.pending >= open && own <= OWN_REQUESTS, Rule::ExactlyOnce, || {
            format!("{} are pending and {open} tokens are out", counters.pending)
        })?;
        if session.state() == State::Closed {
            let left =
                (counters.pending, counters.queued_bytes, counters.reply_bytes, counters.peer_requests);
            ensure(left == (0, 0, 0, 0), Rule::ClosedIsEmpty, || {
                format!("pending, queued, replies, requests of the peer: {left:?}")
            })?;
        }
        Ok(())
    }

    /// What can be written is written by now, and what never can be is forgotten.
    fn budgets_are_back(&self, counters: &Counters) -> Checked {
        if !self.honest || self.wire.is_blocked() {
            return Ok(());
        }
        let waits = self.operations.any_waits_for_catalog();
        let left = (counters.reply_bytes, if waits { 0 } else { counters.queued_bytes });
        ensure(left == (0, 0), Rule::Budget, || {
            format!("bytes of replies and of requests that are left: {left:?}")
        })
    }

    fn within_limits(&self, counters: &Counters) -> Checked {
        let limits = &self.limits;
        for (what, value, limit) in [
            ("pending", counters.pending, limits.pending),
            ("queued bytes", counters.queued_bytes, limits.queued_bytes),
            ("reply bytes", counters.reply_bytes, limits.reply_bytes),
            ("requests of the peer", counters.peer_requests, limits.peer_requests),
        ] {
            ensure(value <= limit, Rule::Budget, || format!("{what}: {value}, the limit is {limit}"))?;
        }
        Ok(())
    }

    /// The session is given up: what is still open must come back as tokens, and nothing else.
    pub fn dropped(&mut self, session: Session<Token>) -> Checked {
        for token in session.into_tokens() {
            self.operations.given_back(token)?;
        }
        ensure(self.operations.open().is_none(), Rule::ExactlyOnce, || {
            format!("token {:?} never came back", self.operations.open())
        })
    }

    /// Nobody will ask for the lines that the server got so far.
    pub(crate) fn forget_lines(&mut self) {
        self.wire.forget_lines();
    }

    /// What a later verdict can depend on, times counted from now.
    pub(crate) fn digest(&self, into: &mut String) {
        let Invariants { now, state, operations, wire, answers, process, limits: _, honest: _ } = self;
        let _ = write!(into, "{state:?} {process:?} ");
        operations.digest(*now, into);
        wire.digest(into);
        answers.digest(&operations.awaited(), into);
    }

    /// Lines that the server got, as far as they were written.
    pub fn lines(&self) -> &[Line] {
        self.wire.lines()
    }
}

pub use wire::{Line, Message};

#[cfg(test)]
mod tests;
