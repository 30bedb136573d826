//! Calls that are answered later.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// Ids of calls, as they are written, by when they are answered.
#[derive(Default)]
pub(crate) struct Sleepers {
    /// The number tells calls of one moment apart.
    ids: BTreeMap<(Instant, u64), Vec<u8>>,
    moments: HashMap<Vec<u8>, (Instant, u64)>,
    number: u64,
}

impl Sleepers {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn insert(&mut self, id: &[u8], until: Instant) {
        self.number += 1;
        self.ids.insert((until, self.number), id.to_vec());
        self.moments.insert(id.to_vec(), (until, self.number));
    }

    /// Whether there was one to forget.
    pub(crate) fn remove(&mut self, id: &[u8]) -> bool {
        self.moments.remove(id).is_some_and(|moment| self.ids.remove(&moment).is_some())
    }

    /// One that is to be answered by `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.next().filter(|next| *next <= now)?;
        let (_, id) = self.ids.pop_first()?;
        self.moments.remove(&id);
        Some(id)
    }

    /// When the next one is to be answered.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.ids.keys().next().map(|(until, _)| *until)
    }
}
