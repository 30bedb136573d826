//! Takes the values of secrets out of what a server wrote (rows L22 and W05).

mod needle;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use needle::Needle;

/// What stands where a secret stood.
const MARK: &[u8] = b"[secret]";

/// Finds the values of a server's secrets.
///
/// Every byte that is part of an occurrence of a secret is taken out, also where occurrences overlap, and each
/// unbroken stretch of such bytes becomes one `[secret]`. A clone shares the prepared searches.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    needles: Arc<[Needle]>,
}

impl Redactor {
    /// Secrets below 4 bytes are not searched for: they stand everywhere by chance, and taking them out would tell
    /// where.
    pub(crate) const SHORTEST: usize = 4;
    /// Lines of a secret below 8 bytes are not searched for on their own: they may be ordinary words.
    const SHORTEST_LINE: usize = 8;

    /// Prepares the search for these values, for the form that each has inside a JSON string, and for each line of
    /// those that have several, such as keys in PEM form: what a server writes is cut into lines before it gets here.
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Redactor {
        let mut forms: Vec<Cow<'a, str>> = Vec::new();
        for secret in secrets.filter(|secret| secret.len() >= Redactor::SHORTEST) {
            forms.push(Cow::Borrowed(secret));
            if let Ok(quoted) = serde_json::to_string(secret)
                && let Some(inner) = quoted.get(1..quoted.len() - 1)
            {
                forms.push(Cow::Owned(inner.to_owned()));
            }
            forms.extend(
                secret
                    .lines()
                    .map(str::trim)
                    .filter(|line| line.len() >= Redactor::SHORTEST_LINE)
                    .map(Cow::Borrowed),
            );
        }
        if forms.is_empty() {
            return Redactor::default();
        }
        forms.sort_unstable();
        forms.dedup();
        Redactor { needles: forms.iter().map(|form| Needle::new(form.as_bytes())).collect() }
    }

    /// `bytes` without secrets; they are borrowed if there are none in it. Linear in `bytes` for each secret.
    pub(crate) fn redact<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut found = Vec::new();
        for needle in &*self.needles {
            needle.scan(&mut 0, bytes, |end| add(&mut found, end.saturating_sub(needle.len())..end));
        }
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut runs = VecDeque::new();
        merge(&mut runs, &mut found);
        let mut out = Vec::with_capacity(bytes.len());
        write(bytes, &runs, false, &mut out);
        Cow::Owned(out)
    }

    /// The same for bytes that come in pieces.
    pub(crate) fn stream(&self) -> Stream {
        Stream {
            needles: Arc::clone(&self.needles),
            matched: vec![0; self.needles.len()],
            held: Vec::new(),
            runs: VecDeque::new(),
            found: Vec::new(),
            inside: false,
        }
    }
}

/// Takes secrets out of a stream, also where they cross the border of two pieces.
///
/// It holds back only the end of the input that can still become a secret, at most one byte less than the longest
/// one. The output does not depend on how the input was cut.
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Stream {
    needles: Arc<[Needle]>,
    /// For each needle, how much of its beginning the input ends with.
    matched: Vec<usize>,
    held: Vec<u8>,
    /// Which bytes of `held` are known to be secret: apart from each other, in order.
    runs: VecDeque<Range<usize>>,
    found: Vec<Range<usize>>,
    /// Whether the last byte that was given out, or hidden, was secret: its mark is already written.
    inside: bool,
}

impl Stream {
    /// Appends to `out` what is certain after these bytes. Linear in `bytes` for each secret, and at most a move of the
    /// bytes that are held.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let before = self.held.len();
        let mut open = 0;
        for (needle, matched) in self.needles.iter().zip(&mut self.matched) {
            needle.scan(matched, bytes, |end| {
                let end = before + end;
                add(&mut self.found, end.saturating_sub(needle.len())..end);
            });
            open = open.max(*matched);
        }
        if before == 0 && self.found.is_empty() {
            let (certain, rest) = bytes.split_at(bytes.len().saturating_sub(open));
            out.extend_from_slice(certain);
            self.held.extend_from_slice(rest);
            self.inside &= certain.is_empty();
            return;
        }
        merge(&mut self.runs, &mut self.found);
        self.held.extend_from_slice(bytes);
        self.release(self.held.len().saturating_sub(open), out);
    }

    /// Appends what is still held: no more bytes come.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.held.len(), out);
        self.matched.fill(0);
        self.inside = false;
    }

    /// Appends what is held, for a look in the midst of the stream. If 4 bytes or more of it are open, since they may
    /// become a secret or stay as they are, it leaves those out and says false.
    pub(crate) fn preview(&self, out: &mut Vec<u8>) -> bool {
        let marked = self.runs.front().filter(|run| run.start == 0).map_or(0, |run| run.end);
        let (known, open) = self.held.split_at(marked.min(self.held.len()));
        let harmless = open.len() < Redactor::SHORTEST;
        write(if harmless { &self.held } else { known }, &self.runs, self.inside, out);
        harmless
    }

    fn release(&mut self, count: usize, out: &mut Vec<u8>) {
        let (certain, _) = self.held.split_at(count.min(self.held.len()));
        if certain.is_empty() {
            return;
        }
        write(certain, &self.runs, self.inside, out);
        self.inside = self.runs.iter().any(|run| run.start < count && count <= run.end);
        self.runs.retain_mut(|run| {
            *run = run.start.saturating_sub(count)..run.end.saturating_sub(count);
            run.start < run.end
        });
        self.held.drain(..count);
    }
}

/// Notes one occurrence; those that touch the one before become one.
fn add(found: &mut Vec<Range<usize>>, occurrence: Range<usize>) {
    match found.last_mut() {
        Some(last) if last.start <= occurrence.start && occurrence.start <= last.end => {
            last.end = last.end.max(occurrence.end);
        }
        _ => found.push(occurrence),
    }
}

/// Moves `found` into `runs`. Each found one ends behind all that `runs` had before, so only its end changes.
fn merge(runs: &mut VecDeque<Range<usize>>, found: &mut Vec<Range<usize>>) {
    found.sort_unstable_by_key(|run| run.start);
    for mut run in found.drain(..) {
        while let Some(last) = runs.back().filter(|last| last.end >= run.start) {
            run = run.start.min(last.start)..run.end.max(last.end);
            runs.pop_back();
        }
        runs.push_back(run);
    }
}

/// Appends `bytes` with a mark for each run; none for a first run that goes on with one that is already marked.
fn write(bytes: &[u8], runs: &VecDeque<Range<usize>>, inside: bool, out: &mut Vec<u8>) {
    let mut at = 0;
    for run in runs.iter().take_while(|run| run.start < bytes.len()) {
        out.extend_from_slice(bytes.get(at..run.start).unwrap_or_default());
        if run.start > 0 || !inside {
            out.extend_from_slice(MARK);
        }
        at = run.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Stream { matched, held, runs, inside } leaves out { needles, found });

#[cfg(feature = "explore")]
crate::digest::digest_debug!(Range<usize>: 0..1, 1..2);

#[cfg(test)]
mod tests;
