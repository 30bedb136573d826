//! The bytes that are being written, and which requests they belong to.

use std::collections::VecDeque;

use crate::error::Delivery;

/// The commit buffer: encoded frames, of which a prefix is already written.
///
/// Requests are encoded in the order of their ids, which only grow. So one number tells which of them left whole.
#[derive(Debug, Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Commit {
    bytes: Vec<u8>,
    written: usize,
    frames: VecDeque<Frame>,
    /// The newest request that left whole.
    sent_through: u64,
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
struct Frame {
    request: u64,
    start: usize,
    end: usize,
}

/// Capacity that is kept while idle.
const IDLE: usize = 64 << 10;

impl Commit {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What is not written yet.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// Begins anew, all before having been written.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > 2 * IDLE {
            self.bytes.shrink_to(IDLE);
        }
        self.written = 0;
        self.frames.clear();
    }

    /// Adds the frame of a request, if `push` gives one.
    pub(super) fn request<R>(&mut self, id: u64, push: impl FnOnce(&mut Vec<u8>) -> Option<R>) -> Option<R> {
        let start = self.bytes.len();
        let pushed = push(&mut self.bytes)?;
        self.frames.push_back(Frame { request: id, start, end: self.bytes.len() });
        Some(pushed)
    }

    /// Where frames go that are no requests, whole ones only.
    pub(super) fn between_requests(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.written = self.written.saturating_add(count).min(self.bytes.len());
        while let Some(frame) = self.frames.front() {
            if frame.end > self.written {
                break;
            }
            self.sent_through = frame.request;
            self.frames.pop_front();
        }
    }

    pub(super) fn delivery(&self, id: u64) -> Delivery {
        if id <= self.sent_through {
            return Delivery::Sent;
        }
        match self.frames.front() {
            Some(frame) if frame.request == id && frame.start < self.written => Delivery::Partial,
            _ => Delivery::NotSent,
        }
    }

    /// Requests of which no byte left, oldest first.
    pub(super) fn not_begun(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().filter(|frame| frame.start >= self.written).map(|frame| frame.request)
    }

    /// Takes a request out of which no byte left.
    pub(super) fn remove(&mut self, id: u64) {
        let written = self.written;
        let is_it = |frame: &Frame| frame.request == id && frame.start >= written;
        let Some(place) = self.frames.iter().position(is_it) else { return };
        let Some(frame) = self.frames.remove(place) else { return };
        self.bytes.drain(frame.start..frame.end);
        let length = frame.end - frame.start;
        for later in self.frames.iter_mut().skip(place) {
            later.start -= length;
            later.end -= length;
        }
    }

    /// Forgets what is not begun: nothing more will be written. A request that was begun stays partly sent.
    pub(super) fn drop_rest(&mut self) {
        let written = self.written;
        self.frames.retain(|frame| frame.start < written);
        self.bytes.truncate(written);
        self.bytes.shrink_to_fit();
    }
}

/// What is written already is forgotten, but for which requests it belonged to.
#[cfg(feature = "explore")]
impl crate::digest::Digest for Commit {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        let Commit { bytes: _, written, frames, sent_through } = self;
        into.field("Commit.bytes");
        into.text(self.rest());
        into.field("Commit.frames");
        into.number(frames.len() as u64);
        for Frame { request, start, end } in frames {
            request.digest(into);
            into.number(start.wrapping_sub(*written) as u64);
            into.number(end.wrapping_sub(*written) as u64);
        }
        into.field("Commit.sent_through");
        into.number(*sent_through);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if !self.rest().is_empty() {
            self.bytes.last_mut().into_iter().for_each(|byte| place.field("Commit.bytes", byte));
        }
        for Frame { request, start, end } in &mut self.frames {
            place.field("Commit.frames", request);
            place.field("Commit.frames", start);
            place.field("Commit.frames", end);
        }
        place.field("Commit.sent_through", &mut self.sent_through);
    }
}
