//! The pending table.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use super::ascending::Ascending;
use super::deadlines::Deadlines;
use crate::time::Time;
use crate::wire::encode::OneLine;

/// Everything that waits: each accepted token is in exactly one entry, and each request on the wire has one.
///
/// `O` says who owns an entry, `W` is what an entry that is not a request waits for.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Pending<O, W> {
    entries: Ascending<u64, Entry<O, W>>,
    deadlines: Deadlines,
    /// Entries that have no request of their own.
    waiting: BTreeSet<u64>,
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Entry<O, W> {
    pub(crate) owner: O,
    /// The number the caller knows it by.
    pub(crate) handle: u64,
    pub(crate) method: Cow<'static, str>,
    pub(crate) timing: Timing,
    pub(crate) stage: Stage<W>,
}

/// Where an entry is on its way.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) enum Stage<W> {
    /// No request of its own yet.
    Waiting(W),
    /// In the send queue, with its parameters.
    Queued(Option<OneLine>),
    /// Encoded: the link knows how much of it left.
    Encoded,
}

/// When an entry was accepted and when it expires.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) accepted: Time,
    pub(crate) deadline: Option<Time>,
    /// In a box, since few have one and every open call has room for it.
    extension: Option<Box<Extension>>,
}

/// What progress makes of a deadline: it comes `after` that, and never past `maximum`.
#[derive(Clone, Debug)]
struct Extension {
    after: Duration,
    maximum: Option<Time>,
}

impl Timing {
    /// Expires `timeout` after `now`.
    pub(crate) fn until(now: Time, timeout: Option<Duration>) -> Timing {
        Timing { accepted: now, deadline: timeout.map(|timeout| now + timeout), extension: None }
    }

    /// Lets progress extend it, until `maximum` after it was accepted.
    pub(crate) fn extended_by_progress(
        mut self,
        timeout: Option<Duration>,
        maximum: Option<Duration>,
    ) -> Timing {
        let maximum = maximum.map(|maximum| self.accepted + maximum);
        self.extension = timeout.map(|after| Box::new(Extension { after, maximum }));
        self.deadline = match (self.deadline, maximum) {
            (Some(deadline), Some(maximum)) => Some(deadline.min(maximum)),
            (deadline, maximum) => deadline.or(maximum),
        };
        self
    }
}

impl<O, W> Entry<O, W> {
    /// Bytes of parameters that wait to be encoded, if it is in the queue.
    pub(crate) fn queued_bytes(&self) -> Option<usize> {
        match &self.stage {
            Stage::Queued(params) => Some(params.as_deref().map_or(0, str::len)),
            _ => None,
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }
}

impl<O, W> Pending<O, W> {
    pub(crate) fn new() -> Pending<O, W> {
        Pending { entries: Ascending::new(), deadlines: Deadlines::new(), waiting: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entries that have a deadline.
    pub(crate) fn timers(&self) -> usize {
        self.deadlines.len()
    }

    pub(crate) fn insert(&mut self, id: u64, entry: Entry<O, W>) {
        if let Some(deadline) = entry.timing.deadline {
            self.deadlines.insert(deadline, id);
        }
        if entry.is_waiting() {
            self.waiting.insert(id);
        }
        self.entries.insert(id, entry);
    }

    /// Settles: the entry leaves the table and all its indexes.
    pub(crate) fn take(&mut self, id: u64) -> Option<Entry<O, W>> {
        let entry = self.entries.take(id)?;
        if let Some(deadline) = entry.timing.deadline {
            self.deadlines.remove(deadline, id);
        }
        if entry.is_waiting() {
            self.waiting.remove(&id);
        }
        Some(entry)
    }

    /// Settles the oldest entry.
    pub(crate) fn take_first(&mut self) -> Option<(u64, Entry<O, W>)> {
        let id = self.entries.first_key()?;
        self.take(id).map(|entry| (id, entry))
    }

    /// Settles the entry with the earliest deadline, if that is not after `now`.
    pub(crate) fn take_expired(&mut self, now: Time) -> Option<(u64, Entry<O, W>)> {
        let (deadline, id) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.take(id).map(|entry| (id, entry))
    }

    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| deadline)
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Entry<O, W>> {
        self.entries.get(id)
    }

    /// For what has no part in the indexes: the owner, and the stage of a request.
    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Entry<O, W>> {
        self.entries.get_mut(id)
    }

    /// The call made progress: moves its deadline if it asked for that.
    pub(crate) fn extend(&mut self, id: u64, now: Time) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let (Some(extension), Some(old)) = (&entry.timing.extension, entry.timing.deadline) else { return };
        let wanted = now + extension.after;
        let new = extension.maximum.map_or(wanted, |maximum| wanted.min(maximum)).max(old);
        entry.timing.deadline = Some(new);
        self.deadlines.remove(old, id);
        self.deadlines.insert(new, id);
    }

    /// Entries that have no request of their own, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u64, &W)> {
        self.waiting.iter().filter_map(|id| match &self.entries.get(*id)?.stage {
            Stage::Waiting(waiting) => Some((*id, waiting)),
            Stage::Queued(_) | Stage::Encoded => None,
        })
    }

    /// Ids and entries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Entry<O, W>)> {
        self.entries.iter()
    }

    pub(crate) fn into_entries(self) -> impl Iterator<Item = Entry<O, W>> {
        self.entries.into_values()
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(<O, W> Pending { entries, deadlines, waiting } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_fields!(<O, W> Entry { owner, handle, method, timing, stage } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Timing { accepted, deadline, extension } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Extension { after, maximum } leaves out {});

#[cfg(feature = "explore")]
impl<W: crate::digest::Digest> crate::digest::Digest for Stage<W> {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        match self {
            Stage::Waiting(waiting) => {
                into.number(0);
                waiting.digest(into);
            }
            Stage::Queued(params) => {
                into.number(1);
                params.digest(into);
            }
            Stage::Encoded => into.number(2),
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        match self {
            Stage::Waiting(waiting) => waiting.alter(place),
            Stage::Queued(params) => params.alter(place),
            Stage::Encoded => {}
        }
        if place.is_here() {
            let encoded = matches!(self, Stage::Encoded);
            *self = if encoded { Stage::Queued(None) } else { Stage::Encoded };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(deadline: Option<u64>) -> Entry<&'static str, ()> {
        let timing =
            Timing { accepted: Time::ZERO, deadline: deadline.map(Time::from_micros), extension: None };
        Entry { owner: "owner", handle: 0, method: Cow::Borrowed("m"), timing, stage: Stage::Encoded }
    }

    /// L10: removal is the settlement, so a second one finds nothing, whichever way the first came.
    #[test]
    fn l10_an_entry_is_given_out_once() {
        let mut pending = Pending::new();
        pending.insert(1, entry(Some(5)));
        pending.insert(2, entry(Some(5)));
        pending.insert(3, entry(None));
        assert!(pending.take(1).is_some());
        assert!(pending.take(1).is_none());
        assert_eq!(pending.take_expired(Time::from_micros(5)).map(|(id, _)| id), Some(2));
        assert!(pending.take_expired(Time::from_micros(5)).is_none());
        assert_eq!(pending.take_first().map(|(id, _)| id), Some(3));
        assert!(pending.take_first().is_none());
        assert_eq!(pending.len(), 0);
        assert_eq!(pending.next_deadline(), None);
    }

    /// L11: entries expire in the order of their deadlines, not before them, and without a deadline never.
    #[test]
    fn l11_the_earliest_deadline_comes_first() {
        let mut pending = Pending::new();
        for (id, deadline) in [(1, Some(30)), (2, Some(10)), (3, None), (4, Some(20))] {
            pending.insert(id, entry(deadline));
        }
        assert_eq!(pending.next_deadline(), Some(Time::from_micros(10)));
        assert!(pending.take_expired(Time::from_micros(9)).is_none());
        let order: Vec<u64> =
            std::iter::from_fn(|| pending.take_expired(Time::from_micros(99)).map(|(id, _)| id)).collect();
        assert_eq!(order, [2, 4, 1]);
        assert_eq!(pending.len(), 1);
    }

    /// L11: progress moves a deadline that asked for it, never past the hard maximum and never back.
    #[test]
    fn l11_progress_extends_up_to_the_maximum() {
        let mut pending = Pending::new();
        let timing = Timing::until(Time::ZERO, Some(Duration::from_micros(10)))
            .extended_by_progress(Some(Duration::from_micros(10)), Some(Duration::from_micros(25)));
        pending.insert(1, Entry { timing, ..entry(None) });
        pending.insert(2, entry(Some(10)));
        for (now, deadline) in [(8, 18), (4, 18), (12, 22), (20, 25), (24, 25)] {
            pending.extend(1, Time::from_micros(now));
            pending.extend(2, Time::from_micros(now));
            assert_eq!(
                pending.get(1).unwrap().timing.deadline,
                Some(Time::from_micros(deadline)),
                "at {now}"
            );
        }
        assert_eq!(pending.get(2).unwrap().timing.deadline, Some(Time::from_micros(10)));
        assert_eq!(pending.deadlines.len(), 2);
    }

    /// L11: a maximum below the timeout is the deadline, also without any progress.
    #[test]
    fn l11_the_maximum_holds_from_the_start() {
        let timing = Timing::until(Time::ZERO, Some(Duration::from_secs(4)))
            .extended_by_progress(Some(Duration::from_secs(4)), Some(Duration::from_secs(1)));
        assert_eq!(timing.deadline, Some(Time::ZERO + Duration::from_secs(1)));
    }
}
