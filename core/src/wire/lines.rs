//! Bytes to lines: bounded, linear in the bytes whatever the chunking, and memory comes back (rows W01 to W04).
//!
//! One buffer takes every read. A line that does not fit into it is collected in a buffer of its own, by copying each
//! full read. Reading straight into that buffer would not be cheaper, since safe code has to clear it first, and
//! what follows the end of the line would have to be copied back.

use std::mem;
use std::ops::Range;

use memchr::memchr;

use super::line::CurrentLine;
#[cfg(test)]
use super::line::SHORT;
use super::prefix;
use super::scan::{IdText, Scanner};
use crate::Utf8;

/// Size of the buffer that takes reads, in bytes: what a pipe holds on Linux.
const SHARED: usize = 64 << 10;

/// The most that a buffer holds once no line is current and none is half read, in bytes.
#[cfg(test)]
pub(crate) const IDLE: usize = SHARED + SHORT;

/// Splits the server's output into lines.
///
/// The driver's part is `read_space`, `filled` and `end`; the session's part is `next` until it gives `None`, and
/// the accessors of the current line in between.
pub(crate) struct LineBuffer {
    line_limit: usize,
    discard_limit: usize,
    /// Empty before the first read.
    shared: Vec<u8>,
    /// Where the line begins that is being read, unless `large` has its beginning.
    start: usize,
    /// Up to here that line has no end.
    scanned: usize,
    /// End of what was read.
    end: usize,
    /// Beginning of a line that did not fit into `shared`.
    large: Vec<u8>,
    oversized: Option<Discard>,
    line: CurrentLine,
    /// Whether the output ended within the current line.
    cut_off: bool,
    /// Whether `next` said that there is no more.
    drained: bool,
    ended: bool,
    endless: bool,
    discarded: u64,
    work: Work,
}

/// What `next` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framed {
    /// A whole line is current.
    Line,
    /// A line is over the limit; given once for each such line, as soon as it is known which call it answers, at
    /// the latest at its end.
    Oversized(Oversized),
    /// A line passed the discard limit without an end. Nothing comes after this.
    Endless,
}

/// What is known of a line over the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Oversized {
    /// Raw JSON text of the id, if the line begins with an object that has one.
    pub(crate) id: Option<IdText>,
    /// Whether that object has `result` or `error` and no `method`.
    pub(crate) is_response: bool,
}

/// A line over the limit, on its way out.
#[cfg_attr(feature = "explore", derive(Clone))]
struct Discard {
    scanner: Scanner,
    length: usize,
    reported: bool,
}

/// Counts the bytes that were looked at or moved, for the proof that cost is linear; nothing outside tests.
#[derive(Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
struct Work {
    #[cfg(test)]
    bytes: u64,
}

impl Work {
    fn add(&mut self, _bytes: usize) {
        #[cfg(test)]
        {
            self.bytes += _bytes as u64;
        }
    }
}

/// What became of the bytes at hand.
enum Step {
    Found(Framed),
    /// Something was passed over: look again.
    Passed,
    Drained,
}

impl LineBuffer {
    /// Takes the longest line and how much of a longer one is thrown away before it counts as endless, both in
    /// bytes before the newline. A discard limit below the line limit is raised to it; equal limits make every line
    /// over the limit an end, which is what `Conduct::Strict` asks for.
    pub(crate) fn new(line_limit: usize, discard_limit: usize) -> LineBuffer {
        LineBuffer {
            line_limit,
            discard_limit: discard_limit.max(line_limit),
            shared: Vec::new(),
            start: 0,
            scanned: 0,
            end: 0,
            large: Vec::new(),
            oversized: None,
            line: CurrentLine::default(),
            cut_off: false,
            drained: true,
            ended: false,
            endless: false,
            discarded: 0,
            work: Work::default(),
        }
    }

    /// Where the next bytes of the server's output go. Empty until `next` has said that there is no more, which is
    /// what bounds reading, and for good after the end.
    pub(crate) fn read_space(&mut self) -> &mut [u8] {
        if !self.drained || self.ended || self.endless {
            return &mut [];
        }
        if self.shared.is_empty() {
            self.shared = vec![0; SHARED];
        }
        // The rest moves at most once: until its line has ended, it now begins at zero.
        if self.start > 0 {
            self.work.add(self.end - self.start);
            self.shared.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        self.shared.get_mut(self.end..).unwrap_or_default()
    }

    /// Says that the first `n` bytes of the read space were filled; more than its length counts as its length.
    pub(crate) fn filled(&mut self, n: usize) {
        let n = n.min(self.read_space().len());
        if n > 0 {
            self.end += n;
            self.drained = false;
        }
    }

    /// Says that the output has ended: an unterminated rest is the last line.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.drained = false;
    }

    /// Whether a line is being read of which 64 KiB or more are there, or were thrown away.
    pub(crate) fn is_long(&self) -> bool {
        !self.large.is_empty() || self.oversized.is_some()
    }

    /// Releases the current line and moves to the next one. `None`: all bytes at hand are used up.
    pub(crate) fn next(&mut self) -> Option<Framed> {
        self.release();
        while !self.endless {
            let step = if self.oversized.is_some() { self.discard() } else { self.split() };
            match step {
                Step::Found(framed) => return Some(framed),
                Step::Passed => {}
                Step::Drained => break,
            }
        }
        self.drained = true;
        None
    }

    /// The current line without its newline or CRLF and without byte order mark. If it is an object, nothing stands
    /// before its `{`. Never blank. Empty if no line is current.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.line.bytes(&self.shared)
    }

    /// Checks once that the current line is UTF-8, or makes it so, after which `text` has it. `false`: it is not,
    /// or no line is current.
    pub(crate) fn make_text(&mut self, utf8: Utf8) -> bool {
        self.line.make_text(&self.shared, utf8)
    }

    /// The current line after `make_text` said `true`, otherwise empty.
    pub(crate) fn text(&self) -> &str {
        self.line.text()
    }

    /// Whether the output ended within the current line, so that its rest is missing unless it is a whole message.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Hands the text of a line over that has its own buffer, instead of copying it; the line is then released.
    /// `None`: the line is in the shared buffer, or `make_text` was not asked.
    pub(crate) fn take_text(&mut self) -> Option<String> {
        self.line.take_text()
    }

    /// Whether the current line has its own buffer: always above 64 KiB, and after `make_text` above 4 KiB.
    pub(crate) fn is_owned(&self) -> bool {
        self.line.is_owned()
    }

    /// Says that the current line is no longer needed; memory beyond [`IDLE`] is given back.
    pub(crate) fn release(&mut self) {
        self.line.release();
    }

    /// Bytes of lines over the limit that were thrown away so far.
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Capacity held, in bytes.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.shared.capacity() + self.large.capacity() + self.line.held()
    }

    fn split(&mut self) -> Step {
        let unseen = self.shared.get(self.scanned..self.end).unwrap_or_default();
        let newline = memchr(b'\n', unseen).map(|offset| self.scanned + offset);
        let stop = newline.unwrap_or(self.end);
        self.work.add(stop - self.scanned);
        let length = self.large.len() + (stop - self.start);
        if length > self.line_limit {
            self.begin_discard();
            return Step::Passed;
        }
        if newline.is_none() && (!self.ended || length == 0) {
            self.scanned = self.end;
            if !self.large.is_empty() || (self.start == 0 && self.end == SHARED) {
                self.collect(self.end);
            }
            return Step::Drained;
        }
        let is_current = if self.large.is_empty() {
            self.set_shared_line(stop)
        } else {
            self.collect(stop);
            self.set_large_line()
        };
        self.cut_off = newline.is_none();
        self.start = newline.map_or(self.end, |newline| newline + 1);
        self.scanned = self.start;
        if is_current { Step::Found(Framed::Line) } else { Step::Passed }
    }

    /// Moves what was read of the line, up to `stop`, into the buffer of a large line.
    fn collect(&mut self, stop: usize) {
        let bytes = self.shared.get(self.start..stop).unwrap_or_default();
        self.work.add(bytes.len());
        let length = self.large.len() + bytes.len();
        if length > self.large.capacity() {
            let capacity = length.saturating_mul(2).min(self.line_limit);
            self.large.reserve_exact(capacity.saturating_sub(self.large.len()));
        }
        self.large.extend_from_slice(bytes);
        if stop == self.end {
            (self.start, self.scanned, self.end) = (0, 0, 0);
        }
    }

    fn set_shared_line(&mut self, stop: usize) -> bool {
        let Some(line) = self.shared.get(self.start..stop).map(trimmed).filter(|line| !line.is_empty())
        else {
            return false;
        };
        self.line.set_shared(self.start + line.start..self.start + line.end);
        true
    }

    fn set_large_line(&mut self) -> bool {
        let mut bytes = mem::take(&mut self.large);
        let line = trimmed(&bytes);
        if line.is_empty() {
            return false;
        }
        bytes.truncate(line.end);
        bytes.drain(..line.start);
        self.line.set_owned(bytes);
        true
    }

    fn begin_discard(&mut self) {
        let mut scanner = Scanner::new();
        scanner.feed(&self.large);
        self.discarded += self.large.len() as u64;
        self.work.add(self.large.len());
        self.oversized = Some(Discard { scanner, length: self.large.len(), reported: false });
        self.large = Vec::new();
        self.scanned = self.start;
    }

    fn discard(&mut self) -> Step {
        let Some(line) = &mut self.oversized else { return Step::Passed };
        let rest = self.shared.get(self.start..self.end).unwrap_or_default();
        let newline = memchr(b'\n', rest);
        let stop = newline.unwrap_or(rest.len());
        // Neither what is reported nor what is counted may depend on how much happens to be at hand.
        let taken = stop.min(self.discard_limit.saturating_sub(line.length));
        self.work.add(stop + taken);
        if !line.reported {
            line.scanner.feed(rest.get(..taken).unwrap_or_default());
        }
        line.length += taken;
        self.discarded += taken as u64;
        self.start += taken;
        self.scanned = self.start;
        if let Some(id) = line.scanner.answered().filter(|_| !line.reported) {
            line.reported = true;
            return Step::Found(Framed::Oversized(Oversized { id: Some(id), is_response: true }));
        }
        if taken < stop {
            self.endless = true;
            self.oversized = None;
            self.shared = Vec::new();
            (self.start, self.scanned, self.end) = (0, 0, 0);
            return Step::Found(Framed::Endless);
        }
        if newline.is_none() && !self.ended {
            return Step::Drained;
        }
        self.start += usize::from(newline.is_some());
        self.scanned = self.start;
        let known = Oversized {
            id: line.scanner.id(),
            is_response: line.scanner.has_answer() && !line.scanner.has_method(),
        };
        let reported = line.reported;
        self.oversized = None;
        if reported { Step::Passed } else { Step::Found(Framed::Oversized(known)) }
    }
}

/// What of a line is worth looking at; empty if it is blank.
fn trimmed(line: &[u8]) -> Range<usize> {
    let end = line.len() - usize::from(line.ends_with(b"\r"));
    let line = line.get(..end).unwrap_or_default();
    if line.first() == Some(&b'{') {
        return 0..end;
    }
    let start = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    if line.iter().skip(start).all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return 0..0;
    }
    prefix::object_start(line).unwrap_or(start)..end
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Discard { scanner, length, reported } leaves out {});

/// A clone has no buffer where there is nothing in it: most of the cost, by the hundred thousand.
#[cfg(feature = "explore")]
impl Clone for LineBuffer {
    fn clone(&self) -> LineBuffer {
        let is_empty = self.start == self.end && self.line.bytes(&self.shared).is_empty();
        LineBuffer {
            shared: if is_empty { Vec::new() } else { self.shared.clone() },
            start: if is_empty { 0 } else { self.start },
            scanned: if is_empty { 0 } else { self.scanned },
            end: if is_empty { 0 } else { self.end },
            large: self.large.clone(),
            oversized: self.oversized.clone(),
            line: self.line.clone(),
            work: self.work.clone(),
            ..*self
        }
    }
}

/// Where the bytes at hand stand in their buffer means nothing.
#[cfg(feature = "explore")]
impl crate::digest::Digest for LineBuffer {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        let LineBuffer {
            line_limit: _,
            discard_limit: _,
            shared,
            start,
            scanned,
            end,
            large,
            oversized,
            line,
            cut_off,
            drained,
            ended,
            endless,
            discarded: _,
            work: _,
        } = self;
        into.field("LineBuffer.shared");
        into.text(shared.get(*start..*end).unwrap_or_default());
        into.field("LineBuffer.scanned");
        into.number(scanned.wrapping_sub(*start) as u64);
        into.field("LineBuffer.large");
        into.text(large);
        into.field("LineBuffer.oversized");
        oversized.digest(into);
        into.field("LineBuffer.line");
        into.text(line.bytes(shared));
        line.digest(into);
        into.field("LineBuffer.cut_off");
        cut_off.digest(into);
        into.field("LineBuffer.drained");
        drained.digest(into);
        into.field("LineBuffer.ended");
        ended.digest(into);
        into.field("LineBuffer.endless");
        endless.digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if self.start < self.end {
            let at = self.end - 1;
            self.shared.get_mut(at).into_iter().for_each(|byte| place.field("LineBuffer.shared", byte));
        }
        place.field("LineBuffer.scanned", &mut self.scanned);
        place.field("LineBuffer.large", &mut self.large);
        place.field("LineBuffer.oversized", &mut self.oversized);
        place.field("LineBuffer.line", &mut self.line);
        place.field("LineBuffer.cut_off", &mut self.cut_off);
        place.field("LineBuffer.drained", &mut self.drained);
        place.field("LineBuffer.ended", &mut self.ended);
        place.field("LineBuffer.endless", &mut self.endless);
    }
}

#[cfg(test)]
mod tests;
