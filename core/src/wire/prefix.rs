//! What may stand in front of a message on its line: blanks, a byte order mark, terminal control sequences.

/// Walks over such a prefix byte by byte.
///
/// Control sequences have the forms of ECMA-48: `ESC [` to its final byte, `ESC ]` and the other control strings to
/// BEL or `ESC \`, any other escape sequence, and single control characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Prefix {
    #[default]
    Plain,
    MarkOne,
    MarkTwo,
    Escape,
    EscapeIntermediate,
    Sequence,
    ControlString,
    ControlStringEscape,
}

/// What one more byte showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It belongs to the prefix.
    Prefix,
    /// It is the `{` of an object.
    Object,
    /// It is something else, so that what came before was no prefix.
    Other,
}

impl Prefix {
    pub(super) fn step(&mut self, byte: u8) -> Seen {
        *self = match (*self, byte) {
            (Prefix::Plain | Prefix::Escape, b'{') => return Seen::Object,
            (Prefix::Plain, 0x1b) => Prefix::Escape,
            (Prefix::Plain, 0x00..=0x20) => Prefix::Plain,
            (Prefix::Plain, 0xef) => Prefix::MarkOne,
            (Prefix::MarkOne, 0xbb) => Prefix::MarkTwo,
            (Prefix::MarkTwo, 0xbf) => Prefix::Plain,
            (Prefix::Escape, b'[') => Prefix::Sequence,
            (Prefix::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Prefix::ControlString,
            (Prefix::Escape | Prefix::EscapeIntermediate, 0x20..=0x2f) => Prefix::EscapeIntermediate,
            (Prefix::Escape | Prefix::EscapeIntermediate, 0x30..=0x7e) => Prefix::Plain,
            (Prefix::Sequence, 0x20..=0x3f) => Prefix::Sequence,
            (Prefix::Sequence, 0x40..=0x7e) => Prefix::Plain,
            (Prefix::ControlString, 0x07) | (Prefix::ControlStringEscape, b'\\') => Prefix::Plain,
            (Prefix::ControlString | Prefix::ControlStringEscape, 0x1b) => Prefix::ControlStringEscape,
            (Prefix::ControlString | Prefix::ControlStringEscape, _) => Prefix::ControlString,
            _ => return Seen::Other,
        };
        Seen::Prefix
    }
}

/// Where the object of a line begins if nothing but a prefix stands before it.
pub(super) fn object_start(line: &[u8]) -> Option<usize> {
    let mut prefix = Prefix::default();
    for (at, &byte) in line.iter().enumerate() {
        match prefix.step(byte) {
            Seen::Prefix => {}
            Seen::Object => return Some(at),
            Seen::Other => return None,
        }
    }
    None
}
