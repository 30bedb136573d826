//! Bounded and harmless forms of text that a server wrote, for errors and diagnostics.

use std::fmt::{self, Write};

use crate::redact::Redactor;

/// What stands where a text was cut.
const CUT: &str = "…";

/// A sample of bytes that were no message (row W05): secrets removed, then at most `limit` bytes, with `…` at the end if
/// it was cut. Control and format characters are escaped as [`write_escaped`] does, bytes that are not UTF-8 as `\xff`.
/// An end that is 4 bytes or more of the beginning of a secret is cut off too: the line may be the head of a longer one.
///
/// Reads no further than the sample needs, so the cost is bounded by `limit` and by the secrets it meets.
pub(crate) fn sample(bytes: &[u8], limit: usize, redactor: &Redactor) -> Box<str> {
    let mut stream = redactor.stream();
    let mut clean = Vec::new();
    for piece in bytes.chunks(1_024) {
        stream.push(piece, &mut clean);
        if clean.len() > limit {
            break;
        }
    }
    let whole = stream.preview(&mut clean);
    let mut clipped = Clipped::new(limit);
    'fitting: for chunk in clean.utf8_chunks() {
        for c in chunk.valid().chars() {
            if !clipped.add(|text| write_escaped(c, text)) {
                break 'fitting;
            }
        }
        for byte in chunk.invalid() {
            if !clipped.add(|text| write!(text, "\\x{byte:02x}")) {
                break 'fitting;
            }
        }
    }
    if !whole {
        clipped.end();
    }
    clipped.text.into_boxed_str()
}

/// `text` escaped as [`write_escaped`] does, at most `limit` bytes of it, with `…` at the end if it was cut: for names
/// and versions that are quoted in errors.
pub(crate) fn escaped(text: &str, limit: usize) -> String {
    let mut clipped = Clipped::new(limit);
    for c in text.chars() {
        if !clipped.add(|text| write_escaped(c, text)) {
            break;
        }
    }
    clipped.text
}

/// The first `limit` bytes of `text`, cut on a character boundary, and whether anything was cut.
pub(crate) fn bounded(text: &str, limit: usize) -> (String, bool) {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (kept, rest) = text.split_at(end);
    (kept.to_owned(), !rest.is_empty())
}

/// Writes `c`, or an escape for it if it [is hidden](is_hidden): `\n`, `\r`, `\t`, `\x1b` below U+0080, else `\u{202e}`.
/// A backslash stays as it is: this is for people to read, not to be undone.
pub(crate) fn write_escaped(c: char, out: &mut impl Write) -> fmt::Result {
    match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if !is_hidden(c) => out.write_char(c),
        c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)),
    }
}

/// Whether a character acts on a terminal or on the text around it instead of being seen: controls, line separators,
/// marks of writing direction, zero-width characters and tags.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Text that grows piece by piece up to a limit, and never ends within a piece.
struct Clipped {
    text: String,
    limit: usize,
    /// Up to where the text leaves room for the mark.
    room: usize,
}

impl Clipped {
    fn new(limit: usize) -> Clipped {
        Clipped { text: String::new(), limit, room: 0 }
    }

    /// Adds a piece; if it does not fit, ends the text with the mark and says false.
    fn add(&mut self, piece: impl FnOnce(&mut String) -> fmt::Result) -> bool {
        let fits = piece(&mut self.text).is_ok() && self.text.len() <= self.limit;
        if !fits {
            self.end();
        } else if self.text.len() + CUT.len() <= self.limit {
            self.room = self.text.len();
        }
        fits
    }

    /// Goes back to where there is room for the mark, and puts it there.
    fn end(&mut self) {
        self.text.truncate(self.room);
        if self.limit >= CUT.len() {
            self.text.push_str(CUT);
        }
    }
}

#[cfg(test)]
mod tests;
