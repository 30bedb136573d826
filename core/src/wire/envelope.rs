//! Text to messages: the flat envelope in one pass, values left raw (rows W07, W08).

use std::ops::Range;

use super::decode;
use super::json::{self, Members, NotJson, Step};

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
/// there.
pub(crate) fn read(text: &str, at: usize) -> Result<(Envelope, usize), NotJson> {
    let mut envelope = Envelope::default();
    let mut version = None;
    let mut members = Members::new(text, at)?;
    while let Some(name) = members.next_name()? {
        let value = members.value()?;
        let member = match decode::name(text, &name).as_bytes() {
            b"jsonrpc" => &mut version,
            b"id" => &mut envelope.id,
            b"method" => &mut envelope.method,
            b"params" => &mut envelope.params,
            b"result" => &mut envelope.result,
            b"error" => &mut envelope.error,
            _ => continue,
        };
        envelope.repeated |= member.replace(value).is_some();
    }
    envelope.version_ok = version.is_some_and(|version| text.get(version).is_some_and(is_version));
    Ok((envelope, members.at()))
}

/// Walks an array one element at a time, from the position of its `[` or the one given with the previous element,
/// leading blanks allowed.
pub(crate) fn element(text: &str, at: usize) -> Result<Element, NotJson> {
    match json::next_element(text, at)? {
        Step::Element(start) => {
            let end = json::end_of_value(text, start)?;
            Ok(Element::Value(start..end, json::end_element(text, end)?))
        }
        Step::End(end) => Ok(Element::End(end)),
    }
}

fn is_version(raw: &str) -> bool {
    raw == r#""2.0""# || decode::string(raw).as_deref() == Some("2.0")
}

#[cfg(test)]
mod tests;
