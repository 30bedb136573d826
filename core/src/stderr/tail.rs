//! A snapshot of the tail.

use std::fmt::{self, Write};

use crate::sample::{escaped, write_escaped};

/// The newest standard error output of a server, as it was at one moment (row L22).
///
/// At most [`Limits::stderr_tail`](crate::Limits) bytes, beginning and ending on a character boundary, invalid UTF-8
/// replaced by U+FFFD, the values of secrets replaced by `[secret]`. It may be shown and logged: `Display` escapes
/// control and format characters except line feed and tab, so that it cannot act on a terminal. What it says is never
/// taken for a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    text: String,
    truncated: bool,
}

impl Tail {
    pub(super) fn new(text: String, truncated: bool) -> Tail {
        Tail { text, truncated }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text with its control characters.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The last lines of it, at most `limit` bytes, on one line.
    pub(crate) fn excerpt(&self, limit: usize) -> String {
        let mut from = self.text.len().saturating_sub(limit);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        let (_, end) = self.text.split_at(from);
        let lines: Vec<String> = end.lines().map(|line| escaped(line, limit)).collect();
        lines.join(" | ")
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
        for c in self.text.chars() {
            match c {
                '\n' | '\t' => f.write_char(c)?,
                c => write_escaped(c, f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l22_a_tail_cannot_act_on_a_terminal() {
        let tail = Tail::new("a\tb\r\n\u{1b}[31mred\u{9b}0m \u{202e}gpj.exe\u{0}".to_owned(), false);
        assert_eq!(tail.to_string(), "a\tb\\r\n\\x1b[31mred\\u{9b}0m \\u{202e}gpj.exe\\x00");
        assert!(!format!("{tail:?}").contains(['\u{1b}', '\u{202e}', '\n']));
        assert!(tail.as_str().contains('\u{1b}'));
    }

    #[test]
    fn l22_a_truncated_tail_is_marked() {
        let tail = Tail::new("end".to_owned(), true);
        assert_eq!(tail.to_string(), "[...] end");
        assert!(tail.is_truncated());
        assert!(!tail.is_empty());
        assert_eq!(Tail::default().to_string(), "");
        assert!(Tail::default().is_empty());
    }
}
