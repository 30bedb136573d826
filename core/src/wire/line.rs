//! The current line: where its bytes are, and its text once it was checked.

use std::mem;
use std::ops::Range;

use crate::Utf8;

/// A line up to this length is copied to be text, into a buffer that is allocated once; a longer one gets its own.
pub(super) const SHORT: usize = 4 << 10;

#[derive(Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct CurrentLine {
    place: Place,
    short: String,
}

#[derive(Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
enum Place {
    #[default]
    Nowhere,
    /// In the shared buffer.
    Shared(Range<usize>),
    /// In the shared buffer, and as text in `short`.
    Short(Range<usize>),
    Owned(Vec<u8>),
    Text(String),
}

impl CurrentLine {
    pub(super) fn set_shared(&mut self, range: Range<usize>) {
        self.place = Place::Shared(range);
    }

    pub(super) fn set_owned(&mut self, bytes: Vec<u8>) {
        self.place = Place::Owned(bytes);
    }

    pub(super) fn bytes<'a>(&'a self, shared: &'a [u8]) -> &'a [u8] {
        match &self.place {
            Place::Nowhere => &[],
            Place::Shared(range) | Place::Short(range) => shared.get(range.clone()).unwrap_or_default(),
            Place::Owned(bytes) => bytes,
            Place::Text(text) => text.as_bytes(),
        }
    }

    pub(super) fn make_text(&mut self, shared: &[u8], utf8: Utf8) -> bool {
        self.place = match mem::take(&mut self.place) {
            Place::Nowhere => return false,
            Place::Shared(range) => {
                let bytes = shared.get(range.clone()).unwrap_or_default();
                match (str::from_utf8(bytes), utf8) {
                    (Ok(text), _) if text.len() <= SHORT => {
                        self.short.clear();
                        self.short.reserve_exact(SHORT);
                        self.short.push_str(text);
                        Place::Short(range)
                    }
                    (Ok(text), _) => Place::Text(text.to_owned()),
                    (Err(_), Utf8::Replace) => Place::Text(String::from_utf8_lossy(bytes).into_owned()),
                    (Err(_), Utf8::Reject) => {
                        self.place = Place::Shared(range);
                        return false;
                    }
                }
            }
            Place::Owned(bytes) => match (String::from_utf8(bytes), utf8) {
                (Ok(text), _) => Place::Text(text),
                (Err(error), Utf8::Replace) => {
                    Place::Text(String::from_utf8_lossy(error.as_bytes()).into_owned())
                }
                (Err(error), Utf8::Reject) => {
                    self.place = Place::Owned(error.into_bytes());
                    return false;
                }
            },
            text => text,
        };
        true
    }

    pub(super) fn text(&self) -> &str {
        match &self.place {
            Place::Short(_) => &self.short,
            Place::Text(text) => text,
            _ => "",
        }
    }

    pub(super) fn take_text(&mut self) -> Option<String> {
        match mem::take(&mut self.place) {
            Place::Text(text) => Some(text),
            other => {
                self.place = other;
                None
            }
        }
    }

    pub(super) fn is_owned(&self) -> bool {
        matches!(self.place, Place::Owned(_) | Place::Text(_))
    }

    pub(super) fn release(&mut self) {
        self.place = Place::Nowhere;
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let own = match &self.place {
            Place::Owned(bytes) => bytes.capacity(),
            Place::Text(text) => text.capacity(),
            _ => 0,
        };
        own + self.short.capacity()
    }
}

/// Its bytes are looked at by those who have them.
#[cfg(feature = "explore")]
impl crate::digest::Digest for CurrentLine {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        let CurrentLine { place, short: _ } = self;
        let (number, owned) = match place {
            Place::Nowhere => (0, &[][..]),
            Place::Shared(_) => (1, &[][..]),
            Place::Short(_) => (2, self.short.as_bytes()),
            Place::Owned(bytes) => (3, bytes.as_slice()),
            Place::Text(text) => (4, text.as_bytes()),
        };
        into.number(number);
        into.text(owned);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if !matches!(self.place, Place::Nowhere) && place.is_here() {
            self.place = Place::Nowhere;
        }
    }
}
