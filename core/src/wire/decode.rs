//! What a JSON string says.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2};
use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use super::json::Name;

/// Decodes a raw JSON value. A surrogate without its other half becomes U+FFFD. `None`: it is no string.
pub(crate) fn string(raw: &str) -> Option<Cow<'_, str>> {
    // Most have nothing to decode.
    if let Some(plain) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'))
        && memchr2(b'"', b'\\', plain.as_bytes()).is_none()
    {
        return Some(Cow::Borrowed(plain));
    }
    let mut input = serde_json::Deserializer::from_str(raw);
    let text = input.deserialize_bytes(TextVisitor).ok()?;
    input.end().ok()?;
    Some(text)
}

/// What the name of a member of `text` says.
#[inline]
pub(crate) fn name<'a>(text: &'a str, name: &Name) -> Cow<'a, str> {
    if name.escaped {
        let quoted = name.place.start.saturating_sub(1)..name.place.end + 1;
        return text.get(quoted).and_then(string).unwrap_or_default();
    }
    Cow::Borrowed(text.get(name.place.clone()).unwrap_or_default())
}

struct TextVisitor;

impl<'a> Visitor<'a> for TextVisitor {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn w07_a_string_is_borrowed_unless_it_has_escapes() {
        assert!(matches!(string("\"tools/call \u{e9}\""), Some(Cow::Borrowed("tools/call \u{e9}"))));
        assert_eq!(string(r#""\ud83d\ude00""#).as_deref(), Some("\u{1f600}"));
        for (raw, expected) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""a\udc00\ud800b""#, "a\u{fffd}\u{fffd}b"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud800\n\ud7ff""#, "\u{fffd}\n\u{d7ff}"),
            ("\"\u{ed}\u{d7ff}\\ud800\"", "\u{ed}\u{d7ff}\u{fffd}"),
        ] {
            assert_eq!(string(raw).as_deref(), Some(expected), "{raw}");
        }
        for raw in ["", "\"", "a", "7", "null", "[]", "[104]", "{}", r#""a"b"#, r#""\x""#, r#""\ud8""#] {
            assert_eq!(string(raw), None, "{raw}");
        }
    }

    #[test]
    fn w07_blanks_around_a_string_are_no_part_of_it() {
        assert_eq!(string(" \"blanks around it\"\r\n").as_deref(), Some("blanks around it"));
    }

    proptest! {
        #[test]
        fn w07_strings_decode_as_serde_decodes_them(
            text in "[\u{0}-\u{1f}\"\\\\/a-z\u{e9}\u{d7ff}\u{e000}\u{fffd}\u{1f600}]{0,20}",
        ) {
            let raw = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(string(&raw), Some(Cow::Borrowed(&*text)));
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            let raw = format!("\"{escaped}\"");
            prop_assert_eq!(string(&raw), Some(Cow::Borrowed(&*text)));
        }

        #[test]
        fn w07_no_text_breaks_the_decoder(text in "[{}\\[\\]\",:\\\\u0-9a-f \u{e9}\u{20ac}]{0,60}") {
            let is_string = serde_json::from_str::<String>(&text).is_ok();
            prop_assert!(!is_string || string(&text).is_some());
        }
    }
}
