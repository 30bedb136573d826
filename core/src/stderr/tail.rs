//! A snapshot of the tail.

use std::fmt;

/// The newest standard error output of a server: bounded, cut on a character boundary, secrets removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    text: String,
    truncated: bool,
}

impl Tail {
    /// Whether the server wrote nothing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text, invalid UTF-8 replaced.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether older output was left out.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.truncated {
            f.write_str("[...] ")?;
        }
        f.write_str(&self.text)
    }
}
