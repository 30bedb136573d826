//! The health check: a ping of the session's own, with a deadline of its own (row L28).

use std::borrow::Cow;

use super::lifecycle::Phase;
use super::{LAST_ID, Machine, Owner};
use crate::rpc::{Entry, Stage, Timing};
use crate::time::Time;

/// When the next check is due; none while one is under way, or when none is asked for.
#[derive(Debug, Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Health {
    due: Option<Time>,
}

impl Health {
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }
}

impl<T> Machine<T> {
    pub(super) fn schedule_health(&mut self) {
        let interval = self.server.settings.timeouts.health_interval;
        self.health.due = interval.map(|interval| self.now + interval);
    }

    pub(super) fn on_healthy(&mut self) {
        self.schedule_health();
    }

    /// Sends the check that is due.
    pub(super) fn health_due(&mut self) {
        if self.health.due.is_none_or(|due| due > self.now) {
            return;
        }
        self.health.due = None;
        if self.phase != Phase::Ready || self.link.is_closed() || self.next_id > LAST_ID {
            return;
        }
        let id = self.issue_id();
        self.link.send(id, 0);
        let timing = Timing::until(self.now, self.server.settings.timeouts.health);
        let entry = Entry {
            owner: Owner::Health,
            handle: id,
            method: Cow::Borrowed("ping"),
            timing,
            stage: Stage::Queued(None),
        };
        self.pending.insert(id, entry);
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Health { due } leaves out {});
