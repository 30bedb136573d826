//! Deadlines in their order.

use std::collections::BTreeSet;

use super::ascending::{Ascending, Key};
use crate::time::Time;

type Deadline = (Time, u64);

impl Key for Deadline {
    fn id(self) -> u64 {
        self.1
    }
}

/// The deadlines of open entries, each with the id of its entry.
///
/// Most calls have the same timeout, so their deadlines come in order and need no tree.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Deadlines {
    in_order: Ascending<Deadline, ()>,
    others: BTreeSet<Deadline>,
}

impl Deadlines {
    pub(super) fn new() -> Deadlines {
        Deadlines { in_order: Ascending::new(), others: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }

    pub(super) fn insert(&mut self, deadline: Time, id: u64) {
        let deadline = (deadline, id);
        // One that is later than those to come would send them all to the tree, so it goes there itself.
        while let Some(last) = self.in_order.last_key().filter(|last| *last > deadline) {
            if self.in_order.drop_last() {
                self.others.insert(last);
                break;
            }
        }
        if self.in_order.last_key().is_some_and(|last| last > deadline) {
            self.others.insert(deadline);
        } else {
            self.in_order.insert(deadline, ());
        }
    }

    pub(super) fn remove(&mut self, deadline: Time, id: u64) {
        let deadline = (deadline, id);
        if self.others.is_empty() || !self.others.remove(&deadline) {
            self.in_order.take(deadline);
        }
    }

    /// The earliest one.
    pub(super) fn first(&self) -> Option<Deadline> {
        match (self.in_order.first_key(), self.others.first().copied()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

/// Where a deadline is kept means nothing.
#[cfg(feature = "explore")]
impl crate::digest::Digest for Deadlines {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        self.all().digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        let mut all = self.all();
        all.alter(place);
        *self = Deadlines::new();
        all.into_iter().for_each(|(deadline, id)| self.insert(deadline, id));
    }
}

#[cfg(feature = "explore")]
impl Deadlines {
    fn all(&self) -> BTreeSet<Deadline> {
        self.in_order.iter().map(|(deadline, ())| deadline).chain(self.others.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    /// L11: one call with a long time does not make the deadlines of those after it dear, and nor does one with a short time.
    #[test]
    fn l11_a_deadline_out_of_order_leaves_the_others_in_order() {
        let mut deadlines = Deadlines::new();
        for id in 0..1_000 {
            let timeout = match id % 100 {
                7 => 1_000_000,
                50 => 1,
                _ => 30_000,
            };
            deadlines.insert(at(id + timeout), id);
        }
        assert!(deadlines.others.len() <= 30, "{}", deadlines.others.len());
        assert_eq!(deadlines.len(), 1_000);
        assert_eq!(deadlines.first(), Some((at(51), 50)));
    }

    proptest! {
        /// L11: the earliest is exact, and what was removed is never the earliest again.
        #[test]
        fn l11_the_earliest_is_exact(steps in prop::collection::vec((0..5_u8, 0..60_u64), 0..300)) {
            let (mut deadlines, mut model, mut now) = (Deadlines::new(), BTreeSet::new(), 0);
            for (id, (step, number)) in (0..).zip(steps) {
                match step {
                    0 | 1 => {
                        deadlines.insert(at(now + 30), id);
                        model.insert((at(now + 30), id));
                    }
                    2 => {
                        deadlines.insert(at(now + number), id);
                        model.insert((at(now + number), id));
                    }
                    3 => now += number / 20,
                    _ => {
                        let some = model.iter().nth(number as usize % model.len().max(1)).copied();
                        if let Some((deadline, id)) = some {
                            model.remove(&(deadline, id));
                            deadlines.remove(deadline, id);
                            deadlines.remove(deadline, id);
                        }
                    }
                }
                prop_assert_eq!(deadlines.first(), model.first().copied());
                prop_assert_eq!(deadlines.len(), model.len());
            }
        }
    }
}
