//! One pass over JSON text: where a value ends, or that it is none (RFC 8259).
//!
//! Nothing is built and nothing recurses. A number may have any size and a surrogate may stand alone, since values are
//! passed on as they are written (row W07). What it is given is UTF-8 already.

use std::ops::Range;

/// The text stops being JSON somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson;

/// Where the value ends that begins at byte `at` of the text.
pub(crate) fn end_of_value(text: &str, at: usize) -> Result<usize, NotJson> {
    Ok(text.len() - skip_value(text.as_bytes().get(at..).unwrap_or_default())?.len())
}

/// Passes over the value that `json` begins with, and gives what follows it.
pub(crate) fn skip_value(json: &[u8]) -> Result<&[u8], NotJson> {
    let mut nesting = Nesting::default();
    let mut rest = json;
    loop {
        rest = match rest {
            [b'"', inside @ ..] => skip_text(inside)?,
            [b'{', inside @ ..] => match skip_blanks(inside) {
                [b'}', after @ ..] => after,
                name => {
                    nesting.enter(Container::Object);
                    rest = skip_name(name)?;
                    continue;
                }
            },
            [b'[', inside @ ..] => match skip_blanks(inside) {
                [b']', after @ ..] => after,
                element => {
                    nesting.enter(Container::Array);
                    rest = element;
                    continue;
                }
            },
            _ => skip_scalar(rest)?,
        };
        // Behind a value.
        loop {
            let Some(container) = nesting.innermost() else { return Ok(rest) };
            rest = match (skip_blanks(rest), container) {
                ([b',', after @ ..], Container::Array) => {
                    rest = skip_blanks(after);
                    break;
                }
                ([b',', after @ ..], Container::Object) => {
                    rest = skip_name(skip_blanks(after))?;
                    break;
                }
                ([b']', after @ ..], Container::Array) | ([b'}', after @ ..], Container::Object) => after,
                _ => return Err(NotJson),
            };
            nesting.leave();
        }
    }
}

/// Passes over blanks.
#[inline]
pub(crate) fn skip_blanks(json: &[u8]) -> &[u8] {
    let mut rest = json;
    while let [b' ' | b'\t' | b'\r' | b'\n', after @ ..] = rest {
        rest = after;
    }
    rest
}

/// The members of one object in the order of the text.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    text: &'a str,
    rest: &'a [u8],
    first: bool,
}

/// The name of a member, as it is written without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) place: Range<usize>,
    /// Whether it has to be decoded.
    pub(crate) escaped: bool,
}

impl<'a> Members<'a> {
    /// From the object's brace on, which stands at byte `at`, leading blanks allowed.
    pub(crate) fn new(text: &'a str, at: usize) -> Result<Members<'a>, NotJson> {
        match skip_blanks(text.as_bytes().get(at..).unwrap_or_default()) {
            [b'{', rest @ ..] => Ok(Members { text, rest, first: true }),
            _ => Err(NotJson),
        }
    }

    /// The next member's name, whose value is to be passed over next; `None` behind the last.
    #[inline]
    pub(crate) fn next_name(&mut self) -> Result<Option<Name>, NotJson> {
        let name = match skip_blanks(self.rest) {
            [b'}', after @ ..] => {
                self.rest = after;
                return Ok(None);
            }
            rest if self.first => rest,
            [b',', after @ ..] => skip_blanks(after),
            _ => return Err(NotJson),
        };
        self.first = false;
        let [b'"', name @ ..] = name else { return Err(NotJson) };
        let mut escaped = false;
        let behind = skip_text_noting(name, &mut escaped)?;
        self.rest = skip_colon(behind)?;
        Ok(Some(Name { place: self.place(name)..self.place(behind).saturating_sub(1), escaped }))
    }

    /// Passes over the value of the member whose name came last.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Range<usize>, NotJson> {
        let start = self.at();
        self.rest = skip_value(self.rest)?;
        Ok(start..self.at())
    }

    /// Goes on at this byte, where that value ends.
    pub(crate) fn go_on(&mut self, at: usize) {
        self.rest = self.text.as_bytes().get(at..).unwrap_or_default();
    }

    /// What follows the object, once there is no next member.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Where reading stands: at the value once there is a name, behind the object once there is none.
    pub(crate) fn at(&self) -> usize {
        self.place(self.rest)
    }

    fn place(&self, rest: &[u8]) -> usize {
        self.text.len() - rest.len()
    }
}

/// Where an array goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The next element begins here.
    Element(usize),
    /// The array ends before this byte.
    End(usize),
}

/// Whether an array begins at this byte.
pub(crate) fn is_array(text: &str, at: usize) -> bool {
    text.as_bytes().get(at) == Some(&b'[')
}

/// The next element of an array, from the byte of its `[` on, or of the `,` or `]` behind the element before; leading
/// blanks allowed.
#[inline]
pub(crate) fn next_element(text: &str, at: usize) -> Result<Step, NotJson> {
    let place = |rest: &[u8]| text.len() - rest.len();
    let inside = match skip_blanks(text.as_bytes().get(at..).unwrap_or_default()) {
        [b']', after @ ..] => return Ok(Step::End(place(after))),
        [b',', after @ ..] => return Ok(Step::Element(place(skip_blanks(after)))),
        [b'[', inside @ ..] => inside,
        _ => return Err(NotJson),
    };
    Ok(match skip_blanks(inside) {
        [b']', after @ ..] => Step::End(place(after)),
        element => Step::Element(place(element)),
    })
}

/// From the end of an element to the `,` or `]` behind it.
#[inline]
pub(crate) fn end_element(text: &str, end: usize) -> Result<usize, NotJson> {
    match skip_blanks(text.as_bytes().get(end..).unwrap_or_default()) {
        next @ [b',' | b']', ..] => Ok(text.len() - next.len()),
        _ => Err(NotJson),
    }
}

/// From a name on, over the colon, to the value.
#[inline]
fn skip_name(json: &[u8]) -> Result<&[u8], NotJson> {
    match json {
        [b'"', inside @ ..] => skip_colon(skip_text(inside)?),
        _ => Err(NotJson),
    }
}

#[inline]
fn skip_colon(json: &[u8]) -> Result<&[u8], NotJson> {
    match skip_blanks(json) {
        [b':', after @ ..] => Ok(skip_blanks(after)),
        _ => Err(NotJson),
    }
}

const WORD: usize = size_of::<u64>();

/// A string that goes on after so many bytes is looked at in blocks.
const SHORT: usize = 4 * WORD;

/// From behind an opening quote to behind the closing one.
#[inline]
fn skip_text(json: &[u8]) -> Result<&[u8], NotJson> {
    skip_text_noting(json, &mut false)
}

/// The same; notes whether there is an escape.
#[inline]
fn skip_text_noting<'a>(json: &'a [u8], escaped: &mut bool) -> Result<&'a [u8], NotJson> {
    let mut rest = json;
    loop {
        let begin = rest.len();
        while let Some((word, after)) = rest.split_first_chunk::<WORD>() {
            let special = special(u64::from_le_bytes(*word));
            if special != 0 {
                rest = rest.get(special.trailing_zeros() as usize / 8..).unwrap_or_default();
                break;
            }
            rest = if begin - after.len() == SHORT { skip_plain_blocks(after) } else { after };
        }
        rest = match rest {
            [b'"', after @ ..] => return Ok(after),
            [b'\\', after @ ..] => {
                *escaped = true;
                skip_escape(after)?
            }
            [0..b' ', ..] | [] => return Err(NotJson),
            [_, after @ ..] => after,
        };
    }
}

/// Nonzero if a byte of the word is a quote, a backslash or a control character: then the lowest bit that is set is the
/// high one of the first such byte.
#[inline]
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    // Each borrows from the byte above, so that only what lies above a find can be found wrongly.
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = is_zero(word ^ (ONES * b'"' as u64));
    let backslash = is_zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * b' ' as u64) & !word;
    (quote | backslash | control) & (ONES << 7)
}

/// Passes over whole blocks, as far as nothing in them is special.
fn skip_plain_blocks(json: &[u8]) -> &[u8] {
    let (blocks, _) = json.as_chunks::<32>();
    let plain = blocks.iter().take_while(|block| is_plain(block)).count();
    json.get(plain * 32..).unwrap_or_default()
}

/// No branch and no `bool` until the end, so that a block is looked at as a whole.
fn is_plain(block: &[u8; 32]) -> bool {
    let special = |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
    block.iter().fold(0, |found, &byte| found | special(byte)) == 0
}

/// From behind the backslash on.
fn skip_escape(json: &[u8]) -> Result<&[u8], NotJson> {
    match json {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', after @ ..] => Ok(after),
        [b'u', one, two, three, four, after @ ..]
            if [one, two, three, four].iter().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            Ok(after)
        }
        _ => Err(NotJson),
    }
}

fn skip_scalar(json: &[u8]) -> Result<&[u8], NotJson> {
    match json {
        [b'-' | b'0'..=b'9', ..] => skip_number(json),
        [b't', b'r', b'u', b'e', after @ ..]
        | [b'f', b'a', b'l', b's', b'e', after @ ..]
        | [b'n', b'u', b'l', b'l', after @ ..] => Ok(after),
        _ => Err(NotJson),
    }
}

fn skip_number(json: &[u8]) -> Result<&[u8], NotJson> {
    let unsigned = json.strip_prefix(b"-").unwrap_or(json);
    let mut rest = match unsigned {
        [b'0', after @ ..] => after,
        _ => skip_digits(unsigned)?,
    };
    if let [b'.', after @ ..] = rest {
        rest = skip_digits(after)?;
    }
    match rest {
        [b'e' | b'E', b'+' | b'-', after @ ..] | [b'e' | b'E', after @ ..] => skip_digits(after),
        _ => Ok(rest),
    }
}

/// Passes over one digit at least.
fn skip_digits(json: &[u8]) -> Result<&[u8], NotJson> {
    let [b'0'..=b'9', rest @ ..] = json else { return Err(NotJson) };
    let mut rest = rest;
    while let [b'0'..=b'9', after @ ..] = rest {
        rest = after;
    }
    Ok(rest)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// The containers that are open, one bit each; what is deeper than a word holds is kept aside.
#[derive(Debug, Default)]
struct Nesting {
    word: u64,
    bits: u32,
    outer: Vec<u64>,
}

impl Nesting {
    #[inline]
    fn enter(&mut self, container: Container) {
        if self.bits == u64::BITS {
            self.outer.push(self.word);
            self.bits = 0;
        }
        self.word = self.word << 1 | u64::from(container == Container::Object);
        self.bits += 1;
    }

    #[inline]
    fn innermost(&self) -> Option<Container> {
        match (self.bits, self.word & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Array),
            _ => Some(Container::Object),
        }
    }

    #[inline]
    fn leave(&mut self) {
        self.word >>= 1;
        self.bits = self.bits.saturating_sub(1);
        if self.bits == 0
            && let Some(word) = self.outer.pop()
        {
            self.word = word;
            self.bits = u64::BITS;
        }
    }
}

#[cfg(test)]
mod tests;
