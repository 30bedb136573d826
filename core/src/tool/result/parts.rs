//! A result by the places of its parts.

use std::ops::Range;

use super::{DecodeError, ToolResult};
use crate::tool::raw;

/// Where the parts of a [`ToolResult`] stand in its text: for whoever keeps that text and wants it read once.
///
/// ```
/// use sans_mcp::ResultParts;
///
/// let answer = r#"{"content":[{"type":"text","text":"3"}]}"#.to_owned();
/// let parts = ResultParts::parse(&answer)?;
/// assert_eq!(parts.of(&answer).text(), "3");
/// # Ok::<(), sans_mcp::DecodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultParts {
    content: Option<Range<usize>>,
    only_text: Option<Range<usize>>,
    structured: Option<Range<usize>>,
    meta: Option<Range<usize>>,
    is_error: bool,
}

impl ResultParts {
    /// Reads the raw `result`.
    ///
    /// # Errors
    /// As [`ToolResult::parse`].
    pub fn parse(json: &str) -> Result<ResultParts, DecodeError> {
        let ToolResult { content, only_text, structured, meta, is_error } = ToolResult::parse(json)?;
        Ok(ResultParts {
            content: place(content, json),
            only_text: only_text.and_then(|part| place(part, json)),
            structured: structured.and_then(|part| place(part, json)),
            meta: meta.and_then(|part| place(part, json)),
            is_error,
        })
    }

    /// The result in `json`, the text that was parsed; in any other text there is whatever stands in these places.
    pub fn of<'a>(&self, json: &'a str) -> ToolResult<'a> {
        let part = |place: &Option<Range<usize>>| place.clone().and_then(|place| json.get(place));
        ToolResult {
            content: part(&self.content).unwrap_or("[]"),
            only_text: part(&self.only_text),
            structured: part(&self.structured),
            meta: part(&self.meta),
            is_error: self.is_error,
        }
    }

    /// Whether the tool ran and failed.
    pub const fn is_error(&self) -> bool {
        self.is_error
    }
}

/// Where `part` stands, if it is a part of `whole`.
fn place(part: &str, whole: &str) -> Option<Range<usize>> {
    let place = raw::span(whole, part);
    let stands_there = whole.get(place.clone()).is_some_and(|found| std::ptr::eq(found, part));
    stands_there.then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L14: what was read once says the same as what is read anew, whichever parts are there.
    #[test]
    fn l14_a_result_kept_by_its_places_is_the_same_result() {
        for json in [
            "{}",
            r#"{"content":null,"isError":true}"#,
            r#" {"content" : [ ] , "structuredContent":null}"#,
            r#"{"_meta":{"k":1},"structuredContent":{"sum":3.0},"content":[{"type":"text","text":"é"}]}"#,
        ] {
            let parts = ResultParts::parse(json).unwrap();
            let kept = json.to_owned();
            assert_eq!(Ok(parts.of(&kept)), ToolResult::parse(json), "{json}");
            assert_eq!(parts.is_error(), json.contains("true"));
            assert_eq!(parts.of("é").content().count(), 0, "{json}");
        }
        assert_eq!(ResultParts::parse("[]"), Err(DecodeError::NotAnObject));
    }
}
