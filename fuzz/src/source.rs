//! Numbers and pieces out of a fuzzer's bytes; when they are used up, everything is zero and empty.

/// What is left of the bytes.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Source<'a> {
        Source(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Whether the lowest bit of a byte is set.
    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of the given values; `fallback` if there is none.
    pub(crate) fn one_of<T: Copy>(&mut self, values: &[T], fallback: T) -> T {
        let at = usize::from(self.byte()).checked_rem(values.len());
        at.and_then(|at| values.get(at)).copied().unwrap_or(fallback)
    }

    /// The next bytes, as many as are there.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        piece
    }

    /// All up to the next byte of this value, which is passed over.
    pub(crate) fn until(&mut self, end: u8) -> &'a [u8] {
        let count = self.0.iter().position(|byte| *byte == end).unwrap_or(self.0.len());
        let piece = self.take(count);
        self.take(1);
        piece
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// A byte that no text has: it parts texts from each other.
pub(crate) const BETWEEN: u8 = 0xff;

/// The texts that [`BETWEEN`] parts; what is no text is made one.
pub(crate) fn texts(source: &mut Source<'_>, count: usize) -> Vec<String> {
    (0..count).map(|_| String::from_utf8_lossy(source.until(BETWEEN)).into_owned()).collect()
}
