//! Reads JSON text without building trees: members of objects, elements of arrays, strings.
//!
//! Nothing here recurses: nested values are passed over as raw text, however deep they are.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use crate::wire::decode;
pub(crate) use crate::wire::decode::string;
use crate::wire::envelope::{Element, element};
use crate::wire::json::{self, Members, NotJson};

/// Calls `each` for every member of the object in `json`, in the order of the text. Returns false if it is no object;
/// members before the fault have then been seen.
pub(crate) fn members<'a>(json: &'a str, each: impl FnMut(Cow<'a, str>, &'a str)) -> bool {
    read_members(json, each).is_ok_and(|rest| json::skip_blanks(rest).is_empty())
}

fn read_members<'a>(json: &'a str, mut each: impl FnMut(Cow<'a, str>, &'a str)) -> Result<&'a [u8], NotJson> {
    let mut members = Members::new(json, 0)?;
    while let Some(name) = members.next_name()? {
        let value = members.value()?;
        each(decode::name(json, &name), json.get(value).unwrap_or_default());
    }
    Ok(members.rest())
}

/// The elements of the array in `json`, one at a time; nothing if it is no array. Ends early at a fault.
pub(crate) fn elements(json: &str) -> Elements<'_> {
    Elements { json, next: Some(0) }
}

/// Elements of an array that are looked for one at a time.
#[derive(Clone, Debug)]
pub(crate) struct Elements<'a> {
    json: &'a str,
    next: Option<usize>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let Ok(Element::Value(span, next)) = element(self.json, self.next?) else {
            self.next = None;
            return None;
        };
        self.next = Some(next);
        self.json.get(span)
    }
}

/// Whether `json` is an object, going by its first byte: for text that is known to be JSON.
pub(crate) fn is_object(json: &str) -> bool {
    json.trim_ascii_start().starts_with('{')
}

/// The byte at which `json` stops being one JSON value, if it is not one.
pub(crate) fn fault(json: &str) -> Option<usize> {
    if let Ok(rest) = json::skip_value(json::skip_blanks(json.as_bytes()))
        && json::skip_blanks(rest).is_empty()
    {
        return None;
    }
    let error = serde_json::from_str::<IgnoredAny>(json).err()?;
    if error.is_eof() {
        return Some(json.len());
    }
    let line_start: usize =
        json.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    Some((line_start + error.column().saturating_sub(1)).min(json.len()))
}

/// Appends `text` as a JSON string.
pub(crate) fn push_string(out: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        // Writing a string into memory cannot fail.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    } else {
        out.extend(["\"", text, "\""]);
    }
}

/// Where `part` lies in `whole`, of which it is a slice.
pub(crate) fn span(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.len()
}

/// How much there is to a JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Values and names, rounded up.
    pub(crate) values: u64,
    /// Bytes inside strings, escapes as written.
    pub(crate) string_bytes: u64,
    /// Deepest nesting: 0 for a scalar, 1 for `[1]`.
    pub(crate) depth: usize,
}

/// Measures text that is known to be JSON, in one pass and constant memory.
pub(crate) fn extent(json: &str) -> Extent {
    let mut extent = Extent { values: 1, ..Extent::default() };
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        if inside {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => inside = false,
                _ => {}
            }
            extent.string_bytes += u64::from(inside);
            continue;
        }
        match byte {
            b'"' => inside = true,
            b',' | b':' => extent.values += 1,
            b'{' | b'[' => {
                extent.values += 1;
                depth += 1;
                extent.depth = extent.depth.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    extent
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(json: &str) -> Option<Vec<(String, String)>> {
        let mut seen = Vec::new();
        members(json, |key, value| seen.push((key.into_owned(), value.to_owned()))).then_some(seen)
    }

    #[test]
    fn w07_members_keep_raw_values_repeated_keys_and_lone_surrogates() {
        let json = r#" {"a":1e999,"a":[ 1 ],"\ud800":null} "#;
        let expected = [("a", "1e999"), ("a", "[ 1 ]"), ("\u{fffd}", "null")];
        assert_eq!(pairs(json).unwrap(), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(pairs("[]"), None);
        assert_eq!(pairs("null"), None);
        assert_eq!(pairs("{} {}"), None);
    }

    #[test]
    fn w07_depth_is_passed_over_without_recursion() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(pairs(&deep).unwrap().len(), 1);
        assert_eq!(extent(&deep).depth, 200_001);
        assert_eq!(elements(&format!("[{deep},1]")).count(), 2);
        assert_eq!(fault(&deep), None);
    }

    #[test]
    fn elements_come_one_at_a_time_and_end_at_a_fault() {
        let all = |json| elements(json).collect::<Vec<_>>();
        assert_eq!(all(r#" [1 , "a,]" ,{"b":[]},null ] "#), ["1", r#""a,]""#, r#"{"b":[]}"#, "null"]);
        assert_eq!(all("[]"), Vec::<&str>::new());
        assert_eq!(all("{}"), Vec::<&str>::new());
        assert_eq!(all("[1,]"), ["1"]);
        assert_eq!(all("[1 2]"), Vec::<&str>::new());
        assert_eq!(all("1"), Vec::<&str>::new());
    }

    #[test]
    fn w07_a_lone_surrogate_decodes_to_one_replacement_character() {
        assert_eq!(string(r#""a\ud800b\udc00""#).unwrap(), "a\u{fffd}b\u{fffd}");
        assert_eq!(string(r#""\ud83d\ude00""#).unwrap(), "\u{1f600}");
        assert_eq!(string("1"), None);
        assert!(matches!(string(r#""plain""#), Some(Cow::Borrowed("plain"))));
    }

    #[test]
    fn l24_quotes_and_brackets_in_strings_are_only_bytes_of_strings() {
        for (json, values, string_bytes, depth) in [
            ("1", 1, 0, 0),
            ("[1,2]", 3, 0, 1),
            (r#"{"a":1,"b":[2]}"#, 6, 2, 2),
            (r#""[{,:""#, 1, 4, 0),
            (r#"["\"[[","]"]"#, 3, 5, 1),
            (r#"["\\",["\\\""]]"#, 4, 6, 2),
        ] {
            assert_eq!(extent(json), Extent { values, string_bytes, depth }, "{json}");
        }
    }

    #[test]
    fn a_fault_is_found_by_byte() {
        assert_eq!(fault("{\"a\":1,\n \"é\": x}"), Some(15));
        assert_eq!(fault("{} {}"), Some(3));
        assert_eq!(fault(""), Some(0));
    }

    #[test]
    fn a_string_is_written_as_serde_writes_it() {
        for text in ["", "a b", "\n", "\u{1f}", "\"", "\\", "a\\", "\u{7f}", "\u{e9}"] {
            let mut json = String::new();
            push_string(&mut json, text);
            assert_eq!(json, serde_json::to_string(text).unwrap());
        }
    }

    proptest! {
        #[test]
        fn any_string_comes_back_as_it_was(text in ".*") {
            let mut json = String::new();
            push_string(&mut json, &text);
            prop_assert_eq!(string(&json).unwrap(), text);
        }
    }
}
