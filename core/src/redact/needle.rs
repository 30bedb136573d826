//! Finds every occurrence of one text, overlapping ones included, in bytes that come in pieces.

use memchr::memmem::Finder;

/// One text that is searched for.
///
/// Whole pieces are searched with `memmem`; a step by step automaton (Knuth, Morris and Pratt) takes over only where an
/// occurrence has begun, so that each byte is looked at a bounded number of times however the input is cut.
pub(super) struct Needle {
    finder: Finder<'static>,
    /// For each length of its beginning, the longest shorter beginning that this one also ends with.
    borders: Vec<usize>,
}

impl Needle {
    /// `text` must not be empty.
    pub(super) fn new(text: &[u8]) -> Needle {
        let mut needle = Needle { finder: Finder::new(text).into_owned(), borders: vec![0, 0] };
        let mut border = 0;
        for &byte in text.iter().skip(1) {
            border = needle.step(border, byte);
            needle.borders.push(border);
        }
        needle
    }

    pub(super) fn len(&self) -> usize {
        self.finder.needle().len()
    }

    /// Calls `found` with the end of each occurrence that ends in `bytes`, in order. `matched` is how much of the
    /// beginning of the needle the input ended with before, and ends with after.
    pub(super) fn scan(&self, matched: &mut usize, bytes: &[u8], mut found: impl FnMut(usize)) {
        let mut at = 0;
        loop {
            while *matched > 0 {
                let Some(&byte) = bytes.get(at) else { return };
                at += 1;
                *matched = self.step(*matched, byte);
                if *matched == self.len() {
                    found(at);
                    *matched = self.border(*matched);
                }
            }
            let rest = bytes.get(at..).unwrap_or_default();
            match self.finder.find(rest) {
                Some(start) => {
                    at += start + self.len();
                    found(at);
                    *matched = self.border(self.len());
                }
                None => {
                    let end = rest.len().saturating_sub(self.len() - 1);
                    for &byte in rest.get(end..).unwrap_or_default() {
                        *matched = self.step(*matched, byte);
                    }
                    return;
                }
            }
        }
    }

    /// How much of the needle's beginning the input ends with after `byte`, if it was `matched` before.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        loop {
            if self.finder.needle().get(matched) == Some(&byte) {
                return matched + 1;
            }
            if matched == 0 {
                return 0;
            }
            matched = self.border(matched);
        }
    }

    fn border(&self, matched: usize) -> usize {
        self.borders.get(matched).copied().unwrap_or(0)
    }
}
