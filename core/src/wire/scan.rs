//! What can be learnt from a line without keeping it (rows W02, W07).

use std::fmt;

use memchr::memchr2;

use super::prefix::{Prefix, Seen};

/// Looks at the bytes of one object as they come, in constant memory, and finds its id wherever it stands.
///
/// Any bytes may be fed, in pieces of any size: what is no object gives no answer, and nothing fails. Members are
/// recognised at the top level only, with escapes in their names decoded; of a repeated id the last one counts.
/// What follows the object is not looked at.
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Scanner {
    state: State,
    depth: usize,
    /// Whether the top level is past the colon of a member.
    in_value: bool,
    member: Member,
    /// Copy of the name or the id that is being read.
    copy: IdText,
    id: Option<IdText>,
    id_too_long: bool,
    has_id: bool,
    has_method: bool,
    has_answer: bool,
    answered: Option<IdText>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before(Prefix),
    /// Inside the object, outside a string.
    Between,
    Text(Role),
    Escape(Role),
    Closed,
    NoObject,
}

/// Why a string is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Name,
    Id,
    Other,
}

/// The member of the top-level object that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Id,
    Answer,
    Method,
    Other,
}

impl Scanner {
    pub(crate) fn new() -> Scanner {
        Scanner {
            state: State::Before(Prefix::default()),
            depth: 0,
            in_value: false,
            member: Member::Other,
            copy: IdText::EMPTY,
            id: None,
            id_too_long: false,
            has_id: false,
            has_method: false,
            has_answer: false,
            answered: None,
        }
    }

    /// Looks at the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !matches!(self.state, State::Closed | State::NoObject) {
            if self.state == State::Text(Role::Other) {
                let Some(offset) = memchr2(b'"', b'\\', rest) else { return };
                rest = rest.get(offset..).unwrap_or_default();
            }
            let Some((&byte, after)) = rest.split_first() else { return };
            rest = after;
            self.step(byte);
        }
    }

    /// The id: a string, a number or a literal that was read to its end and is not too long.
    pub(crate) fn id(&self) -> Option<IdText> {
        self.id
    }

    /// Whether the id has more than 64 bytes, so that it was not kept.
    #[cfg(test)]
    pub(crate) fn id_too_long(&self) -> bool {
        self.id_too_long
    }

    /// Whether a member `id` was seen, whatever its value.
    #[cfg(test)]
    pub(crate) fn has_id(&self) -> bool {
        self.has_id
    }

    /// Whether a member `method` was seen.
    pub(crate) fn has_method(&self) -> bool {
        self.has_method
    }

    /// Whether a member `result` or `error` was seen.
    pub(crate) fn has_answer(&self) -> bool {
        self.has_answer
    }

    /// The id at the first moment when an id and an answer had been seen but no method. Later bytes do not change
    /// it, so that it does not depend on the size of the pieces.
    pub(crate) fn answered(&self) -> Option<IdText> {
        self.answered
    }

    /// How many objects and arrays are open.
    #[cfg(test)]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the `{` of an object was seen.
    pub(crate) fn started_object(&self) -> bool {
        !matches!(self.state, State::Before(_) | State::NoObject)
    }

    /// Whether the object was closed.
    pub(crate) fn complete(&self) -> bool {
        self.state == State::Closed
    }

    fn step(&mut self, byte: u8) {
        match (self.state, byte) {
            (State::Before(mut prefix), _) => match prefix.step(byte) {
                Seen::Prefix => self.state = State::Before(prefix),
                Seen::Object => {
                    self.state = State::Between;
                    self.depth = 1;
                }
                Seen::Other => self.state = State::NoObject,
            },
            (State::Between, b'"') => self.begin_text(),
            (State::Between, _) if self.depth == 1 => self.step_top(byte),
            (State::Between, b'{' | b'[') => self.depth = self.depth.saturating_add(1),
            (State::Between, b'}' | b']') => self.depth -= 1,
            (State::Text(role), b'"') => self.end_text(role),
            (State::Text(role), _) => {
                self.copy_text(role, byte);
                if byte == b'\\' {
                    self.state = State::Escape(role);
                }
            }
            (State::Escape(role), _) => {
                self.copy_text(role, byte);
                self.state = State::Text(role);
            }
            (State::Between | State::Closed | State::NoObject, _) => {}
        }
    }

    fn step_top(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.depth = 2,
            b'}' | b']' => {
                self.end_id();
                self.depth = 0;
                self.state = State::Closed;
            }
            b',' => {
                self.end_id();
                self.in_value = false;
                self.member = Member::Other;
            }
            b':' => self.begin_value(),
            b' ' | b'\t' | b'\r' | b'\n' => self.end_id(),
            _ => self.copy.push(byte),
        }
    }

    fn begin_text(&mut self) {
        self.copy = IdText::EMPTY;
        self.state = State::Text(match (self.depth, self.in_value, self.member) {
            (1, false, _) => Role::Name,
            (1, true, Member::Id) => {
                self.copy.push(b'"');
                Role::Id
            }
            _ => Role::Other,
        });
    }

    fn copy_text(&mut self, role: Role, byte: u8) {
        if role != Role::Other {
            self.copy.push(byte);
        }
    }

    fn end_text(&mut self, role: Role) {
        self.state = State::Between;
        match role {
            Role::Name => self.member = Member::named(self.copy.as_bytes()),
            Role::Id => {
                self.copy.push(b'"');
                self.end_id();
            }
            Role::Other => {}
        }
    }

    fn begin_value(&mut self) {
        self.in_value = true;
        self.copy = IdText::EMPTY;
        match self.member {
            Member::Id => {
                self.has_id = true;
                self.id = None;
                self.id_too_long = false;
            }
            Member::Answer => {
                self.has_answer = true;
                self.note_answered();
            }
            Member::Method => self.has_method = true,
            Member::Other => {}
        }
    }

    fn end_id(&mut self) {
        if self.in_value && self.member == Member::Id && !self.copy.as_bytes().is_empty() {
            self.id_too_long = self.copy.is_cut();
            self.id = Some(self.copy).filter(IdText::is_usable);
            self.copy = IdText::EMPTY;
            self.note_answered();
        }
    }

    fn note_answered(&mut self) {
        if self.answered.is_none() && self.has_answer && !self.has_method {
            self.answered = self.id;
        }
    }
}

impl Member {
    fn named(name: &[u8]) -> Member {
        if is_name(name, "id") {
            Member::Id
        } else if is_name(name, "result") || is_name(name, "error") {
            Member::Answer
        } else if is_name(name, "method") {
            Member::Method
        } else {
            Member::Other
        }
    }
}

/// Whether the inside of a JSON string means `name`, which has letters only: no other escape can stand for one.
fn is_name(raw: &[u8], name: &str) -> bool {
    let mut rest = raw;
    for letter in name.bytes() {
        let (found, after) = match rest {
            [b'\\', b'u', b'0', b'0', high, low, after @ ..] => (hexadecimal(*high, *low), after),
            [byte, after @ ..] => (Some(u32::from(*byte)), after),
            [] => return false,
        };
        if found != Some(u32::from(letter)) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn hexadecimal(high: u8, low: u8) -> Option<u32> {
    Some(char::from(high).to_digit(16)? * 16 + char::from(low).to_digit(16)?)
}

/// Raw JSON text of an id, of at most 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdText {
    bytes: [u8; IdText::MOST],
    length: usize,
    cut: bool,
}

impl IdText {
    /// Longest id that is kept, in bytes: a UUID in quotes has 38.
    pub(crate) const MOST: usize = 64;

    const EMPTY: IdText = IdText { bytes: [0; IdText::MOST], length: 0, cut: false };

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        match self.bytes.get_mut(self.length) {
            Some(free) => {
                *free = byte;
                self.length += 1;
            }
            None => self.cut = true,
        }
    }

    fn is_cut(&self) -> bool {
        self.cut
    }

    fn is_usable(&self) -> bool {
        !self.cut && str::from_utf8(self.as_bytes()).is_ok()
    }
}

impl fmt::Debug for IdText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Scanner {
    state, depth, in_value, member, copy, id, id_too_long, has_id, has_method, has_answer, answered,
} leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_debug!(State: State::Between, State::Closed);

#[cfg(feature = "explore")]
crate::digest::digest_debug!(Member: Member::Id, Member::Other);

#[cfg(feature = "explore")]
impl crate::digest::Digest for IdText {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        let IdText { bytes: _, length: _, cut } = self;
        into.text(self.as_bytes());
        cut.digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if place.is_here() {
            self.push(b'1');
        }
        self.cut.alter(place);
    }
}

#[cfg(test)]
mod tests;
