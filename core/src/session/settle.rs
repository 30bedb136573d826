//! Ends of operations: every completion is built here, from an entry that left the pending table.

use std::sync::Arc;

use super::catalog::size_of;
use super::{Given, Machine, Owner, Step, Waiting};
use crate::error::{
    Cause, Circumstances, Delivery, Failure, FailureKind, HandshakeFault, Hint, Report, WalkFault,
};
use crate::link::Abandoned;
use crate::output::ResultCheck;
use crate::rpc::{Entry, SettledAs, Stage};

pub(super) type Taken<T> = Entry<Owner<T>, Waiting>;

impl<T> Machine<T> {
    /// Ends an operation without a result. `None` if it was one of the session's own.
    ///
    /// `why` is what the server is told if any of the request left; with `None` it is told nothing, because it has
    /// answered or the session is ending.
    pub(super) fn fail(
        &mut self,
        id: u64,
        entry: Taken<T>,
        kind: FailureKind,
        why: Option<Abandoned>,
    ) -> Option<Step<T>> {
        let delivery = self.withdraw(id, &entry, why);
        let hints = self.hints(id, &entry, &kind);
        self.record(id, &entry, delivery, why);
        let Owner::Caller(caller) = entry.owner else { return None };
        match &kind {
            FailureKind::Timeout(_) => self.counters.timeouts += 1,
            FailureKind::Cancelled(_) => self.counters.cancelled += 1,
            FailureKind::Remote(_) => self.counters.remote_errors += 1,
            _ => self.counters.failed += 1,
        }
        let elapsed = self.now.since(entry.timing.accepted);
        let report = Report {
            kind,
            delivery,
            method: entry.method,
            tool: caller.tool,
            id: entry.handle,
            elapsed,
            hints,
            circumstances: self.circumstances(),
        };
        let outcome = Err(Failure::new(report));
        Some(Step::Complete { handle: entry.handle, token: caller.token, outcome, elapsed })
    }

    /// Ends an operation with what it gives.
    pub(super) fn succeed(&mut self, id: u64, entry: Taken<T>, given: Given) -> Option<Step<T>> {
        let delivery = self.withdraw(id, &entry, None);
        self.record(id, &entry, delivery, None);
        let elapsed = self.now.since(entry.timing.accepted);
        let given = self.with_check(&entry, given, delivery, elapsed);
        let Owner::Caller(caller) = entry.owner else { return None };
        self.counters.answered += 1;
        self.latencies.record(&entry.method, elapsed);
        Some(Step::Complete { handle: entry.handle, token: caller.token, outcome: Ok(given), elapsed })
    }

    /// Adds what is needed to check a structured result, for the one who takes it.
    fn with_check(
        &mut self,
        entry: &Taken<T>,
        given: Given,
        delivery: Delivery,
        elapsed: std::time::Duration,
    ) -> Given {
        let Given::Answer { span, check: None } = given else { return given };
        let tool = match &entry.owner {
            Owner::Caller(caller) if self.server.settings.check_results => caller.tool.as_ref(),
            _ => None,
        };
        let check = tool.filter(|tool| tool.output_schema().is_some()).map(|tool| {
            Box::new(ResultCheck {
                tool: tool.clone(),
                report: Report {
                    kind: FailureKind::InvalidResult(Box::default()),
                    delivery,
                    method: entry.method.clone(),
                    tool: Some(tool.clone()),
                    id: entry.handle,
                    elapsed,
                    hints: Vec::new(),
                    circumstances: self.circumstances(),
                },
            })
        });
        Given::Answer { span, check }
    }

    /// Takes the request of an entry back from the link, as far as that is still possible.
    fn withdraw(&mut self, id: u64, entry: &Taken<T>, why: Option<Abandoned>) -> Delivery {
        if entry.handle != id {
            self.renamed.remove(&entry.handle);
        }
        match &entry.stage {
            Stage::Waiting(Waiting::Tool(call)) => {
                self.waiting_bytes = self.waiting_bytes.saturating_sub(size_of(call));
                Delivery::NotSent
            }
            Stage::Waiting(Waiting::Nothing) => Delivery::NotSent,
            // What they share has requests of its own, and those may have left.
            Stage::Waiting(Waiting::Listed) => self.delivery_of(self.tools.first_page()),
            Stage::Waiting(Waiting::Connected) => self.delivery_of(self.initialize),
            Stage::Queued(_) => {
                let delivery = self.link.abandon(id, entry.queued_bytes(), None);
                let pending = &self.pending;
                self.link.compact(|id| pending.get(id).is_some());
                delivery
            }
            Stage::Encoded => self.link.abandon(id, None, why),
        }
    }

    fn delivery_of(&self, request: Option<u64>) -> Delivery {
        request.map_or(Delivery::NotSent, |request| self.link.delivery(request))
    }

    fn record(&mut self, id: u64, entry: &Taken<T>, delivery: Delivery, why: Option<Abandoned>) {
        self.diagnostics.forget(id);
        let fate = match (delivery, why) {
            (Delivery::NotSent, _) => SettledAs::NeverSent,
            (_, Some(_)) => SettledAs::GivenUp,
            (_, None) => SettledAs::Answered,
        };
        self.settled.record(id, fate);
        if entry.handle != id || entry.is_waiting() {
            self.settled.record(entry.handle, SettledAs::NeverSent);
        }
    }

    /// What was seen on the wire that may explain it.
    fn hints(&mut self, id: u64, entry: &Taken<T>, kind: &FailureKind) -> Vec<Hint> {
        match kind {
            FailureKind::Timeout(_) => self.diagnostics.hints(id, entry.timing.accepted),
            FailureKind::Ended(
                Cause::ExitedInHandshake(_) | Cause::Handshake(HandshakeFault::InputClosed),
            ) => {
                let line = self.noise.samples().first().cloned();
                let says_why = line.is_none() && !self.circumstances().stderr.is_empty();
                if says_why { Vec::new() } else { vec![Hint::NotAServer(line)] }
            }
            _ => Vec::new(),
        }
    }

    /// What is known at this moment: made once and shared until something changes.
    pub(super) fn circumstances(&mut self) -> Arc<Circumstances> {
        if let Some(known) = &self.circumstances {
            return known.clone();
        }
        let known = Arc::new(Circumstances {
            server: self.name.clone(),
            instance: self.instance,
            version: self.peer.as_ref().map(|peer| peer.version),
            phase: self.busy_with.as_str(),
            exit: self.exit,
            stderr: self.stderr.snapshot(),
        });
        self.circumstances = Some(known.clone());
        known
    }

    /// Why the session ends: nothing else having happened, because the host asked for it.
    pub(super) fn end_cause(&self) -> Cause {
        self.cause.clone().unwrap_or(Cause::Closed)
    }

    /// Settles the oldest open operation because the session ends.
    pub(super) fn settle_next(&mut self) -> Option<Step<T>> {
        while self.settling {
            let Some((id, entry)) = self.pending.take_first() else {
                self.settling = false;
                break;
            };
            let kind = FailureKind::Ended(self.end_cause());
            if let Some(step) = self.fail(id, entry, kind, None) {
                return Some(step);
            }
        }
        None
    }

    /// Settles the next operation whose deadline has passed.
    pub(super) fn expire_next(&mut self) -> Option<Step<T>> {
        while let Some((id, entry)) = self.pending.take_expired(self.now) {
            if let Some(step) = self.expire(id, entry) {
                return Some(step);
            }
        }
        None
    }

    /// Settles the next operation whose deadline has passed and whose request is encoded and not begun: it could not be
    /// answered yet, and is not to be written any more.
    pub(super) fn expire_not_begun(&mut self) -> Option<Step<T>> {
        loop {
            let deadline = |id| self.pending.get(id)?.timing.deadline;
            let is_due = |id: &u64| deadline(*id).is_some_and(|deadline| deadline <= self.now);
            let id = self.link.not_begun().find(is_due)?;
            let entry = self.pending.take(id)?;
            if let Some(step) = self.expire(id, entry) {
                return Some(step);
            }
        }
    }

    fn expire(&mut self, id: u64, entry: Taken<T>) -> Option<Step<T>> {
        let limit = entry.timing.deadline.unwrap_or(self.now).since(entry.timing.accepted);
        let kind = FailureKind::Timeout(limit);
        match entry.owner {
            Owner::Health => {
                self.fail(id, entry, kind, Some(Abandoned::TimedOut));
                self.fault(Cause::Unhealthy(limit));
            }
            Owner::Page => {
                self.fail(id, entry, kind, Some(Abandoned::TimedOut));
                self.walk_failed(&FailureKind::Walk(WalkFault::TimedOut(limit)));
            }
            Owner::Initialize | Owner::Caller(_) => {
                let waited = entry.is_waiting();
                let step = self.fail(id, entry, kind, Some(Abandoned::TimedOut));
                if waited {
                    self.drop_idle_walk();
                }
                if step.is_some() {
                    return step;
                }
            }
        }
        self.ready.pop_front()
    }

    /// Fails every request of which no byte left, since none will.
    pub(super) fn fail_unsent(&mut self) {
        let unsent: Vec<u64> = self
            .pending
            .iter()
            .filter(|(id, entry)| match &entry.stage {
                Stage::Waiting(waiting) => matches!(waiting, Waiting::Tool(_)),
                Stage::Queued(_) => true,
                Stage::Encoded => self.link.delivery(*id) == Delivery::NotSent,
            })
            .map(|(id, _)| id)
            .collect();
        for id in unsent {
            let Some(entry) = self.pending.take(id) else { continue };
            let is_page = matches!(entry.owner, Owner::Page);
            let step = self.fail(id, entry, FailureKind::StdinClosed, None);
            self.ready.extend(step);
            if is_page {
                self.walk_failed(&FailureKind::StdinClosed);
            }
        }
    }
}
