//! Keeps the newest of what comes.

use std::sync::Arc;

use super::Tail;
use crate::redact::{Redactor, Stream};

/// Takes all that a server writes on standard error and keeps the newest `limit` bytes of it (row L22).
///
/// Secrets are removed before anything is cut, so a cut never leaves a part of one. Every byte is looked at and moved a
/// bounded number of times; memory is at most twice the limit, and twice the longest secret.
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Collector {
    limit: usize,
    stream: Stream,
    kept: Vec<u8>,
    truncated: bool,
    seen: u64,
    snapshot: Option<Arc<Tail>>,
}

impl Collector {
    /// Keeps the newest `limit` bytes.
    pub(crate) fn new(limit: usize, redactor: &Redactor) -> Collector {
        Collector {
            limit,
            stream: redactor.stream(),
            kept: Vec::new(),
            truncated: false,
            seen: 0,
            snapshot: None,
        }
    }

    /// Takes what the server wrote, cut in any way.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.snapshot = None;
        self.seen = self.seen.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        // A piece grows to at most twice its length by the marks of secrets, that is to half the limit.
        for piece in bytes.chunks((self.limit / 4).max(1)) {
            // Doubled once more it could be beyond its bound.
            if self.kept.capacity() > self.limit / 2 {
                self.kept.reserve_exact((2 * self.limit).saturating_sub(self.kept.len()));
            }
            self.stream.push(piece, &mut self.kept);
            if self.kept.len() > self.limit + self.limit / 2 {
                self.kept.drain(..self.kept.len() - self.limit);
                self.truncated = true;
            }
        }
    }

    /// The tail as it is now; the same one again until something new comes.
    ///
    /// Bytes at the end that are 4 bytes or more of the beginning of a secret are left out until it is known whether
    /// they are one, and so is the beginning of a character whose rest has not come.
    pub(crate) fn snapshot(&mut self) -> Arc<Tail> {
        if let Some(tail) = &self.snapshot {
            return Arc::clone(tail);
        }
        let kept = self.kept.len();
        self.stream.preview(&mut self.kept);
        let (text, truncated) = newest_text(&self.kept, self.limit, self.truncated);
        self.kept.truncate(kept);
        let tail = Arc::new(Tail::new(text, truncated));
        self.snapshot = Some(Arc::clone(&tail));
        tail
    }

    /// Whether this tail is the one that would be given now.
    #[cfg(feature = "explore")]
    pub(crate) fn is_newest(&self, tail: &Arc<Tail>) -> bool {
        self.snapshot.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, tail))
    }

    /// Whether something was left out of the tail for its size.
    pub(crate) fn truncated(&self) -> bool {
        self.truncated || self.kept.len() > self.limit
    }

    /// How many bytes came in all.
    pub(crate) fn bytes_seen(&self) -> u64 {
        self.seen
    }
}

/// The newest bytes as text of at most `limit` bytes, and whether older ones were left out: some here, or others before
/// that are `truncated` already. Replacing invalid bytes may lengthen the text, hence the second cut.
fn newest_text(bytes: &[u8], limit: usize, truncated: bool) -> (String, bool) {
    let older = bytes.len().saturating_sub(limit);
    let newest = bytes.get(older..).unwrap_or_default();
    let truncated = truncated || older > 0;
    let start = if truncated { continuation(newest) } else { 0 };
    let end = newest.len().saturating_sub(unfinished(newest));
    let mut text = String::from_utf8_lossy(newest.get(start..end).unwrap_or_default()).into_owned();
    let mut surplus = text.len().saturating_sub(limit);
    while !text.is_char_boundary(surplus) {
        surplus += 1;
    }
    text.drain(..surplus);
    (text, truncated || surplus > 0)
}

/// How many bytes at the beginning belong to a character that began before.
fn continuation(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count()
}

/// How many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    (1..=3.min(bytes.len()))
        .find(|count| {
            let end = bytes.get(bytes.len() - count..).unwrap_or_default();
            std::str::from_utf8(end)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Collector { stream, kept, truncated } leaves out { limit, seen, snapshot });

#[cfg(test)]
mod tests;
