//! Typed views of a tool's answer that borrow from it and decode on demand.

mod content;
mod parts;

pub use content::{Content, Contents, ResourceContents};
pub use parts::ResultParts;

use std::borrow::Cow;

use super::raw;
use crate::wire::decode;
use crate::wire::json::{self, Members, NotJson};

/// The result of `tools/call`, read without building a tree: nested values stay raw JSON, with all their digits.
///
/// A tool that ran and failed is also a result: [`is_error`](ToolResult::is_error) says so, and its text is for the
/// model to read (row L14). Members that are not known here are ignored; of a repeated one the last counts.
///
/// ```
/// use sans_mcp::{Content, ToolResult};
///
/// let answer = r#"{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3.0}}"#;
/// let result = ToolResult::parse(answer)?;
/// assert_eq!(result.text(), "3");
/// assert_eq!(result.structured(), Some(r#"{"sum":3.0}"#));
/// assert!(matches!(result.content().next(), Some(Content::Text { .. })));
/// # Ok::<(), sans_mcp::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolResult<'a> {
    content: &'a str,
    /// The raw text of the only block, if there is one and it is of text: nearly always.
    only_text: Option<&'a str>,
    structured: Option<&'a str>,
    meta: Option<&'a str>,
    is_error: bool,
}

impl<'a> ToolResult<'a> {
    /// Reads the raw `result`.
    ///
    /// # Errors
    ///
    /// It is no object (`null` included), `content` is no array, or `isError` no boolean. Either may be absent or null:
    /// then there is no content, and no error.
    pub fn parse(json: &'a str) -> Result<ToolResult<'a>, DecodeError> {
        match Self::read(json) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(fault)) => Err(fault),
            Err(NotJson) => Err(DecodeError::NotAnObject),
        }
    }

    fn read(json: &'a str) -> Result<Result<ToolResult<'a>, DecodeError>, NotJson> {
        let mut result =
            ToolResult { content: "[]", only_text: None, structured: None, meta: None, is_error: false };
        let (mut content_fault, mut is_error_fault) = (None, None);
        let mut members = Members::new(json, 0)?;
        while let Some(name) = members.next_name()? {
            let start = members.at();
            let name = decode::name(json, &name);
            if name == "content" && json::is_array(json, start) {
                let (end, only_text) = content::read_array(json, start)?;
                members.go_on(end);
                (result.content, result.only_text) = (json.get(start..end).unwrap_or_default(), only_text);
                content_fault = None;
                continue;
            }
            let value = json.get(members.value()?).unwrap_or_default();
            match &*name {
                "content" => {
                    (result.content, result.only_text) = ("[]", None);
                    content_fault = (value != "null").then_some(DecodeError::Member("content"));
                }
                "isError" => {
                    let is_valid = matches!(value, "true" | "false" | "null");
                    result.is_error = value == "true";
                    is_error_fault = (!is_valid).then_some(DecodeError::Member("isError"));
                }
                "structuredContent" => result.structured = Some(value),
                "_meta" => result.meta = Some(value),
                _ => {}
            }
        }
        match json::skip_blanks(members.rest()) {
            [] => Ok(content_fault.or(is_error_fault).map_or(Ok(result), Err)),
            _ => Err(NotJson),
        }
    }

    /// Whether the tool ran and failed.
    pub const fn is_error(&self) -> bool {
        self.is_error
    }

    /// The blocks of content in order.
    pub fn content(&self) -> Contents<'a> {
        Contents::of(self.content)
    }

    /// All text blocks, joined by line ends.
    pub fn text(&self) -> Cow<'a, str> {
        if let Some(text) = self.only_text.and_then(raw::string) {
            return text;
        }
        let mut texts = self.content().filter_map(|content| match content {
            Content::Text { text, .. } => Some(text),
            _ => None,
        });
        let Some(mut joined) = texts.next() else { return Cow::Borrowed("") };
        for text in texts {
            let joined = joined.to_mut();
            joined.push('\n');
            joined.push_str(&text);
        }
        joined
    }

    /// The structured content as raw JSON, if there is a member of that name: `null`, `false` and `0` are content too.
    pub const fn structured(&self) -> Option<&'a str> {
        self.structured
    }

    /// The `_meta` of the result as raw JSON.
    pub const fn meta(&self) -> Option<&'a str> {
        self.meta
    }
}

/// An answer has not the shape that its method asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It is no JSON object.
    #[error("the result is no object")]
    NotAnObject,
    /// A member has the wrong type.
    #[error("the result has no valid `{0}`")]
    Member(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> ToolResult<'_> {
        ToolResult::parse(json).unwrap()
    }

    #[test]
    fn c082_five_blocks_come_in_order_and_the_unknown_one_stays_raw() {
        let result = parse(
            r#"{"content":[{"type":"text","text":"a"},{"type":"hologram","data":{"x":1}},{"type":"resource_link","uri":"demo://x","name":"x"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"text","text":"b"}]}"#,
        );
        let blocks: Vec<_> = result.content().collect();
        assert_eq!(blocks.len(), 5);
        assert!(matches!(&blocks[0], Content::Text { text, .. } if text == "a"));
        assert_eq!(blocks[1], Content::Unknown(r#"{"type":"hologram","data":{"x":1}}"#));
        assert!(
            matches!(&blocks[2], Content::ResourceLink { uri, name, .. } if uri == "demo://x" && name == "x")
        );
        assert!(
            matches!(&blocks[3], Content::Audio { data, mime_type, .. } if data == "AAAA" && mime_type == "audio/wav")
        );
        assert_eq!(result.text(), "a\nb");
    }

    #[test]
    fn c083_content_may_be_absent() {
        let result = parse(r#"{"structuredContent":{"n":1}}"#);
        assert_eq!(result.content().count(), 0);
        assert_eq!((result.text(), result.structured()), (Cow::Borrowed(""), Some(r#"{"n":1}"#)));
        assert_eq!(parse(r#"{"content":null}"#).content().count(), 0);
    }

    #[test]
    fn c031_w07_numbers_keep_their_digits() {
        let structured =
            r#"{"a":9007199254740993,"b":-9223372036854775808,"c":18446744073709551615,"d":1e999}"#;
        let answer = format!(r#"{{"content":[],"structuredContent":{structured}}}"#);
        assert_eq!(parse(&answer).structured(), Some(structured));
    }

    #[test]
    fn structured_content_counts_by_presence() {
        for value in ["null", "false", "0", "\"\"", "[]"] {
            let answer = format!(r#"{{"structuredContent":{value}}}"#);
            assert_eq!(parse(&answer).structured(), Some(value));
        }
        assert_eq!(parse("{}").structured(), None);
    }

    #[test]
    fn l14_a_failed_tool_is_a_result() {
        let result =
            parse(r#"{"isError":true,"content":[{"type":"text","text":"disk full"}],"_meta":{"k":1}}"#);
        assert!(result.is_error());
        assert_eq!((&*result.text(), result.meta()), ("disk full", Some(r#"{"k":1}"#)));
        assert!(!parse(r#"{"isError":null}"#).is_error());
    }

    #[test]
    fn wrong_shapes_are_refused_at_once() {
        let error = |json| ToolResult::parse(json).unwrap_err();
        for json in ["null", "[]", "1", "\"x\"", "", "{"] {
            assert_eq!(error(json), DecodeError::NotAnObject, "{json}");
        }
        assert_eq!(error(r#"{"content":{}}"#), DecodeError::Member("content"));
        assert_eq!(error(r#"{"isError":1}"#), DecodeError::Member("isError"));
    }

    #[test]
    fn c029_members_in_another_case_are_other_members_and_the_last_of_a_repeated_one_counts() {
        let result =
            parse(r#"{"Content":1,"isERROR":1,"content":[],"content":[{"type":"text","text":"real"}]}"#);
        assert_eq!(result.text(), "real");
    }

    #[test]
    fn w07_surrogates_depth_and_odd_blocks_lose_nothing() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let answer = format!(
            r#"{{"content":[{{"type":"text","text":"a\ud800\u0000b"}},null,7,{{"type":"text"}},{{"type":7}},{deep}],"structuredContent":{deep}}}"#
        );
        let result = parse(&answer);
        let blocks: Vec<_> = result.content().collect();
        assert_eq!(result.text(), "a\u{fffd}\0b");
        assert_eq!(blocks.len(), 6);
        assert_eq!(blocks[1..5], ["null", "7", r#"{"type":"text"}"#, r#"{"type":7}"#].map(Content::Unknown));
        assert_eq!(blocks[5], Content::Unknown(&deep));
        assert_eq!(result.structured(), Some(&*deep));
    }

    #[test]
    fn members_of_a_block_that_nobody_knows_are_passed_over() {
        assert_eq!(parse(r#"{"content":[{"later":1,"type":"text","text":"a","_meta":{}}]}"#).text(), "a");
    }

    #[test]
    fn the_text_is_that_of_the_text_blocks_however_many_there_are() {
        let blocks = [
            r#"{"type":"text","text":"a\n\ud83d\ude00"}"#,
            r#"{"text":"","type":"text"}"#,
            r#"{"type":"text","text":"first","text":"last"}"#,
            r#"{"type":"te\u0078t","text":"escaped type"}"#,
            r#"{"type":"text","text":7}"#,
            r#"{"type":"image","text":"no","data":"","mimeType":""}"#,
            r#"{"text":"no type"}"#,
            "{}",
            "null",
        ];
        let lists = blocks.iter().map(|one| vec![*one]);
        let lists = lists.chain(blocks.iter().flat_map(|one| blocks.map(|other| vec![*one, other])));
        for list in lists {
            let answer = format!(r#"{{ "content" : [ {} ] , "isError":false}}"#, list.join(" , "));
            let result = parse(&answer);
            let texts: Vec<_> = result
                .content()
                .filter_map(|block| match block {
                    Content::Text { text, .. } => Some(text),
                    _ => None,
                })
                .collect();
            assert_eq!(result.text(), texts.join("\n"), "{answer}");
            assert_eq!(result.content().count(), list.len());
        }
    }

    #[test]
    fn c029_only_the_last_of_a_repeated_member_has_to_be_right() {
        let text = r#"[{"type":"text","text":"a"}]"#;
        for (members, expected) in [
            (format!(r#""content":{text},"content":[]"#), Ok("")),
            (format!(r#""content":{text},"content":null"#), Ok("")),
            (format!(r#""content":7,"isError":7,"content":{text},"isError":false"#), Ok("a")),
            (format!(r#""content":{text},"content":7"#), Err(DecodeError::Member("content"))),
            (r#""isError":false,"isError":7"#.to_owned(), Err(DecodeError::Member("isError"))),
        ] {
            let answer = format!("{{{members}}}");
            let read = ToolResult::parse(&answer).map(|result| result.text());
            assert_eq!(read, expected.map(Cow::Borrowed), "{answer}");
        }
    }

    #[test]
    fn w07_a_link_has_all_that_was_said_of_it_and_its_size_keeps_its_digits() {
        let result = parse(
            r#"{"content":[{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":9007199254740993,"annotations":{}},{"type":"resource_link","uri":"u","name":"n","title":7,"description":null}]}"#,
        );
        let text = Cow::Borrowed;
        let links: Vec<_> = result.content().collect();
        let whole = Content::ResourceLink {
            uri: text("u"),
            name: text("n"),
            title: Some(text("t")),
            description: Some(text("d")),
            mime_type: Some(text("m")),
            size: Some("9007199254740993"),
            annotations: Some("{}"),
        };
        let bare = Content::ResourceLink {
            uri: text("u"),
            name: text("n"),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
        };
        assert_eq!(links, [whole, bare]);
    }

    #[test]
    fn a_resource_has_text_or_a_blob() {
        let result = parse(
            r#"{"content":[{"type":"resource","annotations":{"priority":1},"resource":{"uri":"u","mimeType":"m","text":"t"}},{"type":"resource","resource":{"uri":"u","blob":"AA=="}},{"type":"resource","resource":{"uri":"u"}},{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
        );
        let blocks: Vec<_> = result.content().collect();
        let text = ResourceContents::Text(Cow::Borrowed("t"));
        let (uri, mime_type) = (Cow::Borrowed("u"), Some(Cow::Borrowed("m")));
        let annotations = Some(r#"{"priority":1}"#);
        assert_eq!(blocks[0], Content::Resource { uri: uri.clone(), mime_type, contents: text, annotations });
        let blob = ResourceContents::Blob(Cow::Borrowed("AA=="));
        assert_eq!(blocks[1], Content::Resource { uri, mime_type: None, contents: blob, annotations: None });
        assert!(matches!(blocks[2], Content::Unknown(_)));
        assert!(matches!(&blocks[3], Content::Image { mime_type, .. } if mime_type == "image/png"));
    }
}
