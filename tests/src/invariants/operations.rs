//! Tokens: each is out, or back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use sans_mcp::error::{Failure, FailureKind};
use sans_mcp::{Delivery, Time};

use super::wire::{Line, Message};
use super::{Asked, Checked, MARKER, Rule, Violation, ensure, violated};
use crate::Token;

#[derive(Clone, Debug, Default)]
pub(super) struct Operations {
    open: BTreeMap<Token, Operation>,
    back: BTreeSet<Token>,
    by_handle: BTreeMap<u64, Token>,
    last_handle: u64,
}

/// An accepted operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) handle: u64,
    pub(super) asked: Asked,
    /// Its id on the wire, as far as that is known.
    pub(super) wire: Option<u64>,
    accepted: Time,
    deadline: Option<Time>,
    cancelled: bool,
}

impl Operations {
    pub(super) fn accepted(
        &mut self,
        token: Token,
        handle: u64,
        asked: Asked,
        deadline: Option<Time>,
        now: Time,
    ) -> Checked {
        ensure(handle > self.last_handle, Rule::IdsGrow, || {
            format!("handle {handle} after {}", self.last_handle)
        })?;
        self.last_handle = handle;
        let wire = (asked == Asked::Request).then_some(handle);
        self.by_handle.insert(handle, token);
        let operation = Operation { handle, asked, wire, accepted: now, deadline, cancelled: false };
        let is_new = self.open.insert(token, operation).is_none() && !self.back.contains(&token);
        ensure(is_new, Rule::ExactlyOnce, || format!("the test handed token {token} in twice"))
    }

    /// It may be handed in again.
    pub(super) fn refused(&mut self, token: Token) -> Checked {
        ensure(!self.open.contains_key(&token), Rule::RefusedAtOnce, || format!("{token} is open"))
    }

    pub(super) fn cancelled(&mut self, handle: u64, was_open: bool) -> Checked {
        let open = self.by_handle.get(&handle).and_then(|token| self.open.get_mut(token));
        match open {
            Some(operation) if was_open => {
                operation.cancelled = true;
                Ok(())
            }
            // It may be settled and its completion not polled yet.
            _ if !was_open => Ok(()),
            _ => violated(Rule::ExactlyOnce, format!("{handle} was cancelled and is not open")),
        }
    }

    /// A line began to be written: if it is a call, now its id is known.
    pub(super) fn began(&mut self, line: &Line) -> Checked {
        let Some(Message::Request { id, method, params }) = &line.message else { return Ok(()) };
        if method == "tools/call" {
            let marker =
                params.as_ref().and_then(|params| params.get("arguments")).and_then(|all| all.get(MARKER));
            let token =
                marker.and_then(serde_json::Value::as_u64).or_else(|| self.by_handle.get(id).copied());
            let token = token.or_else(|| self.waited_for_catalog(*id));
            let operation = token.and_then(|token| self.open.get_mut(&token));
            return match operation {
                Some(operation) => {
                    operation.wire = Some(*id);
                    Ok(())
                }
                None => violated(Rule::Delivery, format!("call {id} began to be written and is not open")),
            };
        }
        let settled = self.by_handle.get(id).filter(|token| !self.open.contains_key(token));
        ensure(settled.is_none(), Rule::Delivery, || {
            format!("request {id} began to be written and is settled")
        })
    }

    /// Whose call is written under `id`, which is nobody's handle: the oldest one that waits, since calls are written in
    /// the order of their ids.
    fn waited_for_catalog(&self, id: u64) -> Option<Token> {
        let waits = |operation: &Operation| {
            operation.asked == Asked::Call && operation.wire.is_none() && operation.handle < id
        };
        self.by_handle.values().find(|token| self.open.get(token).is_some_and(waits)).copied()
    }

    pub(super) fn completed(
        &mut self,
        token: Token,
        handle: u64,
        elapsed: Duration,
        now: Time,
    ) -> Result<Operation, Violation> {
        let Some(operation) = self.open.remove(&token) else {
            return violated(Rule::ExactlyOnce, format!("token {token} came back and was not out"));
        };
        self.back.insert(token);
        ensure(operation.handle == handle, Rule::ExactlyOnce, || {
            format!("token {token} was accepted as {} and came back as {handle}", operation.handle)
        })?;
        ensure(elapsed <= now.since(operation.accepted), Rule::Deadline, || {
            format!("{handle} took {elapsed:?}, accepted at {:?} and now it is {now:?}", operation.accepted)
        })?;
        Ok(operation)
    }

    pub(super) fn failed(&self, ended: &Operation, failure: &Failure, now: Time) -> Checked {
        let handle = ended.handle;
        ensure(failure.id() == handle, Rule::ExactlyOnce, || format!("{handle} failed as {}", failure.id()))?;
        match failure.kind() {
            FailureKind::Timeout(limit) => {
                ensure(now >= ended.accepted + *limit, Rule::Deadline, || {
                    format!("{handle} ended before {limit:?}")
                })?;
                ensure(ended.deadline.is_none_or(|deadline| now >= deadline), Rule::Deadline, || {
                    format!("{handle} ended at {now:?}, its deadline is {:?}", ended.deadline)
                })
            }
            FailureKind::Cancelled(_) => ensure(ended.cancelled, Rule::ExactlyOnce, || {
                format!("{handle} was not cancelled by the host")
            }),
            FailureKind::StdinClosed | FailureKind::UnknownTool | FailureKind::InvalidArguments(_) => {
                let is_own = ended.asked != Asked::Waiting;
                ensure(!is_own || failure.delivery() == Delivery::NotSent, Rule::Delivery, || {
                    format!("{handle} failed before it was written, as {:?}", failure.delivery())
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn given_back(&mut self, token: Token) -> Checked {
        let was_open = self.open.remove(&token).is_some();
        self.back.insert(token);
        ensure(was_open, Rule::ExactlyOnce, || format!("token {token} was given back and was not out"))
    }

    pub(super) fn none_overdue(&self, now: Time, until: Option<Time>) -> Checked {
        let overdue =
            self.open.values().find(|operation| operation.deadline.is_some_and(|deadline| deadline <= now));
        ensure(overdue.is_none(), Rule::Deadline, || format!("overdue at {now:?}: {overdue:?}"))?;
        let unseen = self.open.values().find(|operation| match (operation.deadline, until) {
            (Some(deadline), Some(until)) => deadline < until,
            (Some(_), None) => true,
            (None, _) => false,
        });
        ensure(unseen.is_none(), Rule::WaitIsLater, || {
            format!("a wait until {until:?} passes over {unseen:?}")
        })
    }

    /// Ids whose answers are still asked for.
    pub(super) fn awaited(&self) -> BTreeSet<u64> {
        self.open.values().filter_map(|operation| operation.wire).collect()
    }

    pub(super) fn digest(&self, now: Time, into: &mut String) {
        let Operations { open, back: _, by_handle, last_handle } = self;
        for (token, operation) in open {
            let Operation { handle, asked, wire, accepted, deadline, cancelled } = operation;
            let (age, left) = (now.since(*accepted), deadline.map(|deadline| deadline.since(now)));
            let _ = write!(into, "{token} {handle} {asked:?} {wire:?} {age:?} {left:?} {cancelled}, ");
        }
        let _ = write!(into, "{:?} {last_handle} ", by_handle.keys());
    }

    pub(super) fn any_waits_for_catalog(&self) -> bool {
        self.open.values().any(|operation| operation.asked == Asked::Call && operation.wire.is_none())
    }

    pub(super) fn open(&self) -> Option<Token> {
        self.open.keys().next().copied()
    }

    pub(super) fn count_open(&self) -> usize {
        self.open.len()
    }
}
