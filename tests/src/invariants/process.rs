//! What is asked for with the process.

use super::{Checked, Rule, ensure};

#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    spawns: usize,
    closes: usize,
    exited: bool,
    reaps: usize,
}

impl Process {
    pub(super) fn spawn_asked(&mut self) -> Checked {
        self.spawns += 1;
        ensure(self.spawns == 1, Rule::Ladder, || format!("{} spawns", self.spawns))
    }

    pub(super) fn close_asked(&mut self) -> Checked {
        self.closes += 1;
        ensure(self.closes == 1 && self.spawns == 1, Rule::Ladder, || {
            format!("{} times closed, {} spawned", self.closes, self.spawns)
        })
    }

    pub(super) fn signal_asked(&mut self) -> Checked {
        ensure(self.spawns == 1 && self.reaps == 0, Rule::Ladder, || {
            format!("a signal with {} spawns and {} reaps", self.spawns, self.reaps)
        })
    }

    pub(super) fn exit_told(&mut self) {
        self.exited = true;
    }

    pub(super) fn reap_asked(&mut self) -> Checked {
        self.reaps += 1;
        ensure(self.reaps == 1 && self.exited, Rule::Ladder, || {
            format!("{} reaps, exit told: {}", self.reaps, self.exited)
        })
    }

    pub(super) fn probe_asked(&self) -> Checked {
        ensure(self.reaps == 1, Rule::Ladder, || "a look at the tree before its leader was reaped".to_owned())
    }
}
