//! Typed views of a tool's answer that borrow from it and decode on demand.

mod parts;

pub use parts::ResultParts;

use std::borrow::Cow;

use super::raw;
use crate::wire::decode;
use crate::wire::json::{self, Members, Step};

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
        let mut result = ToolResult { content: "[]", structured: None, meta: None, is_error: false };
        let mut fault = None;
        let is_object = raw::members(json, |key, value| match &*key {
            "content" if raw::is_array(value) => result.content = value,
            "content" if value != "null" => fault = Some(DecodeError::Member("content")),
            "isError" => match value {
                "true" | "false" | "null" => result.is_error = value == "true",
                _ => fault = Some(DecodeError::Member("isError")),
            },
            "structuredContent" => result.structured = Some(value),
            "_meta" => result.meta = Some(value),
            _ => {}
        });
        match fault {
            _ if !is_object => Err(DecodeError::NotAnObject),
            Some(fault) => Err(fault),
            None => Ok(result),
        }
    }

    /// Whether the tool ran and failed.
    pub const fn is_error(&self) -> bool {
        self.is_error
    }

    /// The blocks of content in order.
    pub fn content(&self) -> Contents<'a> {
        Contents { array: self.content, next: Some(0) }
    }

    /// All text blocks, joined by line ends.
    pub fn text(&self) -> Cow<'a, str> {
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

/// The blocks of content of a [`ToolResult`], decoded one at a time.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    array: &'a str,
    /// Where the array goes on.
    next: Option<usize>,
}

impl<'a> Iterator for Contents<'a> {
    type Item = Content<'a>;

    fn next(&mut self) -> Option<Content<'a>> {
        let at = self.next.take()?;
        let Ok(Step::Element(start)) = json::next_element(self.array, at) else { return None };
        let (block, end) = match Block::read(self.array, start) {
            Some((block, end)) => (block.typed(), end),
            None => (None, json::end_of_value(self.array, start).ok()?),
        };
        self.next = Some(json::end_element(self.array, end).ok()?);
        Some(block.unwrap_or_else(|| Content::Unknown(self.array.get(start..end).unwrap_or_default())))
    }
}

/// One block of content. Strings are decoded, lone surrogates replaced by U+FFFD; binary data stays base64 text;
/// annotations stay raw JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content<'a> {
    /// Text.
    #[non_exhaustive]
    Text {
        /// The text.
        text: Cow<'a, str>,
        /// Hints for its use.
        annotations: Option<&'a str>,
    },
    /// An image.
    #[non_exhaustive]
    Image {
        /// Base64.
        data: Cow<'a, str>,
        /// Media type.
        mime_type: Cow<'a, str>,
        /// Hints for its use.
        annotations: Option<&'a str>,
    },
    /// Sound.
    #[non_exhaustive]
    Audio {
        /// Base64.
        data: Cow<'a, str>,
        /// Media type.
        mime_type: Cow<'a, str>,
        /// Hints for its use.
        annotations: Option<&'a str>,
    },
    /// A resource with its contents.
    #[non_exhaustive]
    Resource {
        /// Where it is.
        uri: Cow<'a, str>,
        /// Media type.
        mime_type: Option<Cow<'a, str>>,
        /// What is in it.
        contents: ResourceContents<'a>,
        /// Hints for its use.
        annotations: Option<&'a str>,
    },
    /// A resource that can be read.
    #[non_exhaustive]
    ResourceLink {
        /// Where it is.
        uri: Cow<'a, str>,
        /// Its name.
        name: Cow<'a, str>,
        /// Its name for people.
        title: Option<Cow<'a, str>>,
        /// What it is.
        description: Option<Cow<'a, str>>,
        /// Media type.
        mime_type: Option<Cow<'a, str>>,
        /// Size in bytes as raw JSON.
        size: Option<&'a str>,
        /// Hints for its use.
        annotations: Option<&'a str>,
    },
    /// A block of a type that is not known here, or without what its type asks for, as raw JSON.
    Unknown(&'a str),
}

/// What is in a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceContents<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// Base64.
    Blob(Cow<'a, str>),
}

/// The raw members that blocks of content have.
#[derive(Clone, Copy, Default)]
struct Block<'a> {
    kind: Option<&'a str>,
    text: Option<&'a str>,
    blob: Option<&'a str>,
    data: Option<&'a str>,
    mime_type: Option<&'a str>,
    uri: Option<&'a str>,
    name: Option<&'a str>,
    title: Option<&'a str>,
    description: Option<&'a str>,
    size: Option<&'a str>,
    resource: Option<&'a str>,
    annotations: Option<&'a str>,
}

impl<'a> Block<'a> {
    /// The object that begins at byte `start`, and where it ends.
    fn read(json: &'a str, start: usize) -> Option<(Block<'a>, usize)> {
        let mut block = Block::default();
        let mut members = Members::new(json, start).ok()?;
        while let Some(found) = members.next().ok()? {
            let member = match &*decode::name(json, &found) {
                "type" => &mut block.kind,
                "text" => &mut block.text,
                "blob" => &mut block.blob,
                "data" => &mut block.data,
                "mimeType" => &mut block.mime_type,
                "uri" => &mut block.uri,
                "name" => &mut block.name,
                "title" => &mut block.title,
                "description" => &mut block.description,
                "size" => &mut block.size,
                "resource" => &mut block.resource,
                "annotations" => &mut block.annotations,
                _ => continue,
            };
            *member = json.get(found.value);
        }
        Some((block, members.end()))
    }

    fn typed(self) -> Option<Content<'a>> {
        let annotations = self.annotations;
        Some(match &*text(self.kind)? {
            "text" => Content::Text { text: text(self.text)?, annotations },
            "image" => {
                Content::Image { data: text(self.data)?, mime_type: text(self.mime_type)?, annotations }
            }
            "audio" => {
                Content::Audio { data: text(self.data)?, mime_type: text(self.mime_type)?, annotations }
            }
            "resource" => {
                let resource = Block::read(self.resource?, 0)?.0;
                let contents = match text(resource.text) {
                    Some(text) => ResourceContents::Text(text),
                    None => ResourceContents::Blob(text(resource.blob)?),
                };
                let (uri, mime_type) = (text(resource.uri)?, text(resource.mime_type));
                Content::Resource { uri, mime_type, contents, annotations }
            }
            "resource_link" => Content::ResourceLink {
                uri: text(self.uri)?,
                name: text(self.name)?,
                title: text(self.title),
                description: text(self.description),
                mime_type: text(self.mime_type),
                size: self.size,
                annotations,
            },
            _ => return None,
        })
    }
}

fn text(json: Option<&str>) -> Option<Cow<'_, str>> {
    raw::string(json?)
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
