//! How the newest requests ended, so that answers which come late or twice are told apart (row L13).

use std::collections::VecDeque;

use crate::config::Limits;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettledAs {
    Open,
    Answered,
    /// It timed out, was cancelled, or its answer was unusable.
    GivenUp,
    /// It was never written: an answer to it cannot exist.
    NeverSent,
}

/// What an answer to an id that is not open is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Late,
    Duplicate,
    Stale,
    Unknown,
}

/// The fate of the newest [`Limits::SETTLED_IDS`] ids, one byte each.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Settled {
    newest: VecDeque<SettledAs>,
    /// The id after the newest one.
    next: u64,
}

impl Settled {
    pub(crate) fn new(first: u64) -> Settled {
        Settled { newest: VecDeque::new(), next: first }
    }

    /// The next id is in use.
    pub(crate) fn issue(&mut self) {
        if self.newest.len() == Limits::SETTLED_IDS {
            self.newest.pop_front();
        }
        self.newest.push_back(SettledAs::Open);
        self.next += 1;
    }

    fn place(&self, id: u64) -> Option<usize> {
        let oldest = self.next - self.newest.len() as u64;
        usize::try_from(id.checked_sub(oldest)?).ok()
    }

    pub(crate) fn record(&mut self, id: u64, fate: SettledAs) {
        if let Some(slot) = self.place(id).and_then(|place| self.newest.get_mut(place)) {
            *slot = fate;
        }
    }

    /// What an answer to `id`, which has no open entry, is.
    pub(crate) fn arrival(&self, id: u64) -> Arrival {
        if id == 0 || id >= self.next {
            return Arrival::Unknown;
        }
        match self.place(id).and_then(|place| self.newest.get(place)) {
            None => Arrival::Stale,
            Some(SettledAs::Answered) => Arrival::Duplicate,
            Some(SettledAs::GivenUp) => Arrival::Late,
            Some(SettledAs::Open | SettledAs::NeverSent) => Arrival::Unknown,
        }
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Settled { newest, next } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_debug!(SettledAs: SettledAs::Open, SettledAs::Answered);

#[cfg(test)]
mod tests {
    use super::*;

    /// L13: late, duplicate, stale and unknown answers are told apart, in bounded memory.
    #[test]
    fn l13_arrivals_are_told_apart() {
        let mut settled = Settled::new(1);
        for _ in 0..5 {
            settled.issue();
        }
        settled.record(1, SettledAs::Answered);
        settled.record(2, SettledAs::GivenUp);
        settled.record(3, SettledAs::NeverSent);
        let arrivals = [0, 1, 2, 3, 4, 6].map(|id| settled.arrival(id));
        use Arrival::{Duplicate, Late, Stale, Unknown};
        assert_eq!(arrivals, [Unknown, Duplicate, Late, Unknown, Unknown, Unknown]);
        for _ in 0..Limits::SETTLED_IDS {
            settled.issue();
        }
        assert_eq!(settled.arrival(1), Stale);
        assert_eq!(settled.arrival(5), Stale);
        assert_eq!(settled.arrival(6), Unknown);
        settled.record(1, SettledAs::Answered);
        assert_eq!(settled.arrival(1), Stale, "what is forgotten stays so");
        assert_eq!(settled.newest.len(), Limits::SETTLED_IDS);
    }
}
