//! Which cores are used. A process that is started uses those of the one that starts it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Outcome;

pub(crate) struct Processor {
    all: CpuSet,
    one: CpuSet,
}

impl Processor {
    pub(crate) fn find() -> Outcome<Processor> {
        let all = sched_getaffinity(None)?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|core| all.is_set(*core)).ok_or("no core")?;
        let mut one = CpuSet::new();
        one.set(last);
        Ok(Processor { all, one })
    }

    /// Client and server share one core, or have all.
    pub(crate) fn share(&self, one: bool) -> Outcome {
        Ok(sched_setaffinity(None, if one { &self.one } else { &self.all })?)
    }
}
