//! Text to messages: the flat envelope in one pass, values left raw (rows W07, W08).

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::memchr;
use serde::de::{Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of one message that JSON-RPC knows, as spans of raw JSON.
///
/// Names are compared exactly, after their escapes are decoded; a member is present even if it is `null`; of a
/// repeated member the last one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// Whether `jsonrpc` is exactly "2.0".
    pub(crate) version_ok: bool,
    pub(crate) id: Option<Range<usize>>,
    pub(crate) method: Option<Range<usize>>,
    pub(crate) params: Option<Range<usize>>,
    pub(crate) result: Option<Range<usize>>,
    pub(crate) error: Option<Range<usize>>,
    /// Whether any of these members, `jsonrpc` included, stands there more than once.
    pub(crate) repeated: bool,
}

/// One step through an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// An element, and the position from which to ask for the next one.
    Value(Range<usize>, usize),
    /// The array is over, and here is the first byte behind it.
    End(usize),
}

/// Reads the JSON object that begins at byte `at`, leading blanks allowed, and tells where it ends; more may follow
/// there. The error is the position where reading stopped.
pub(crate) fn read(text: &str, at: usize) -> Result<(Envelope, usize), usize> {
    let (members, end) = read_value::<Members<'_>>(text, at)?;
    let span = |raw: Option<&RawValue>| raw.map(|raw| span_of(text, raw));
    let envelope = Envelope {
        version_ok: members.version.is_some_and(|raw| is_version(raw.get())),
        id: span(members.id),
        method: span(members.method),
        params: span(members.params),
        result: span(members.result),
        error: span(members.error),
        repeated: members.repeated,
    };
    Ok((envelope, end))
}

/// Walks an array one element at a time, from the position of its `[` or the one given with the previous element,
/// leading blanks allowed. The error is the position where reading stopped.
pub(crate) fn element(text: &str, at: usize) -> Result<Element, usize> {
    let at = skip_blanks(text, at);
    let inside = skip_blanks(text, at.saturating_add(1));
    match (byte_at(text, at), byte_at(text, inside)) {
        (Some(b']'), _) => return Ok(Element::End(at + 1)),
        (Some(b'['), Some(b']')) => return Ok(Element::End(inside + 1)),
        (Some(b'[' | b','), _) => {}
        _ => return Err(at),
    }
    let (raw, end) = read_value::<&RawValue>(text, inside)?;
    let next = skip_blanks(text, end);
    match byte_at(text, next) {
        Some(b',' | b']') => Ok(Element::Value(span_of(text, raw), next)),
        _ => Err(next),
    }
}

/// Decodes a raw JSON string. A surrogate without its other half becomes U+FFFD. `None`: it is no string.
pub(crate) fn string(raw: &str) -> Option<Cow<'_, str>> {
    let mut input = serde_json::Deserializer::from_str(raw);
    let text = input.deserialize_bytes(TextVisitor).ok()?;
    input.end().ok()?;
    Some(text)
}

fn is_version(raw: &str) -> bool {
    raw == r#""2.0""# || string(raw).as_deref() == Some("2.0")
}

fn read_value<'a, T: Deserialize<'a>>(text: &'a str, at: usize) -> Result<(T, usize), usize> {
    let rest = text.get(at..).ok_or(text.len())?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<T>();
    match values.next() {
        Some(Ok(value)) => Ok((value, at + values.byte_offset())),
        // The position within the line: there is only one.
        Some(Err(error)) => Err((at + error.column().saturating_sub(1)).min(text.len())),
        None => Err(text.len()),
    }
}

/// `raw` borrows from `text`.
fn span_of(text: &str, raw: &RawValue) -> Range<usize> {
    let start = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + raw.get().len()
}

fn byte_at(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

fn skip_blanks(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

#[derive(Default)]
struct Members<'a> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    repeated: bool,
}

impl<'a> Deserialize<'a> for Members<'a> {
    fn deserialize<D: Deserializer<'a>>(input: D) -> Result<Members<'a>, D::Error> {
        input.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'a> Visitor<'a> for MembersVisitor {
    type Value = Members<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Members<'a>, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key::<Name>()? {
            let member = match name {
                Name::Version => &mut members.version,
                Name::Id => &mut members.id,
                Name::Method => &mut members.method,
                Name::Params => &mut members.params,
                Name::Result => &mut members.result,
                Name::Error => &mut members.error,
                Name::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            members.repeated |= member.replace(map.next_value()?).is_some();
        }
        Ok(members)
    }
}

#[derive(Clone, Copy)]
enum Name {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'a> Deserialize<'a> for Name {
    fn deserialize<D: Deserializer<'a>>(input: D) -> Result<Name, D::Error> {
        // As raw text: as a string, a lone surrogate in some other member's name would fail the whole message, and as bytes,
        // control characters would pass.
        let raw = <&RawValue>::deserialize(input)?.get();
        let plain =
            raw.strip_prefix('"').and_then(|name| name.strip_suffix('"')).filter(|name| !name.contains('\\'));
        Ok(match plain {
            Some(name) => Name::of(name),
            None => string(raw).map_or(Name::Other, |name| Name::of(&name)),
        })
    }
}

impl Name {
    fn of(name: &str) -> Name {
        match name {
            "jsonrpc" => Name::Version,
            "id" => Name::Id,
            "method" => Name::Method,
            "params" => Name::Params,
            "result" => Name::Result,
            "error" => Name::Error,
            _ => Name::Other,
        }
    }
}

struct TextVisitor;

impl<'a> Visitor<'a> for TextVisitor {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'a [u8]) -> Result<Cow<'a, str>, E> {
        match str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) => Err(E::invalid_value(Unexpected::Bytes(bytes), &self)),
        }
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Cow<'a, str>, E> {
        match String::from_utf8(without_surrogates(bytes.to_vec())) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(_) => Err(E::invalid_value(Unexpected::Bytes(bytes), &self)),
        }
    }
}

/// A lone surrogate comes as ED A0..BF and one more byte, which no UTF-8 text has.
fn without_surrogates(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| memchr(0xed, rest)) {
        at += offset;
        if let Some(point @ [_, 0xa0..=0xbf, _]) = bytes.get_mut(at..at + 3) {
            point.copy_from_slice("\u{fffd}".as_bytes());
        }
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests;
