//! The blocks of content of a result.

use std::borrow::Cow;

use crate::tool::raw;
use crate::wire::decode;
use crate::wire::json::{self, Members, NotJson, Step};

/// The blocks of content of a [`ToolResult`](crate::ToolResult), decoded one at a time.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    array: &'a str,
    /// Where the array goes on.
    next: Option<usize>,
}

impl<'a> Contents<'a> {
    /// The elements of a JSON array.
    pub(super) fn of(array: &'a str) -> Contents<'a> {
        Contents { array, next: Some(0) }
    }
}

impl<'a> Iterator for Contents<'a> {
    type Item = Content<'a>;

    fn next(&mut self) -> Option<Content<'a>> {
        let at = self.next.take()?;
        let Ok(Step::Element(start)) = json::next_element(self.array, at) else { return None };
        let (block, end) = Block::read(self.array, start).ok()?;
        self.next = Some(json::end_element(self.array, end).ok()?);
        let block = block.and_then(Block::typed);
        Some(block.unwrap_or_else(|| Content::Unknown(self.array.get(start..end).unwrap_or_default())))
    }
}

/// Passes over the array of blocks that begins at byte `start`, and tells where it ends; with the raw text of the only
/// block, if there is one and it is of text.
pub(super) fn read_array(json: &str, start: usize) -> Result<(usize, Option<&str>), NotJson> {
    let first = match json::next_element(json, start)? {
        Step::Element(first) => first,
        Step::End(end) => return Ok((end, None)),
    };
    let (block, end) = Block::read(json, first)?;
    let mut next = json::end_element(json, end)?;
    if let Step::End(end) = json::next_element(json, next)? {
        return Ok((end, block.and_then(Block::only_text)));
    }
    loop {
        match json::next_element(json, next)? {
            Step::Element(element) => next = json::end_element(json, json::end_of_value(json, element)?)?,
            Step::End(end) => return Ok((end, None)),
        }
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
    /// The value that begins at byte `start` as a block, if it is an object, and where it ends.
    fn read(json: &'a str, start: usize) -> Result<(Option<Block<'a>>, usize), NotJson> {
        let Ok(mut members) = Members::new(json, start) else {
            return Ok((None, json::end_of_value(json, start)?));
        };
        let mut block = Block::default();
        while let Some(name) = members.next_name()? {
            let value = members.value()?;
            let member = match &*decode::name(json, &name) {
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
            *member = json.get(value);
        }
        Ok((Some(block), members.at()))
    }

    fn only_text(self) -> Option<&'a str> {
        self.text.filter(|text| self.kind == Some("\"text\"") && text.starts_with('"'))
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
                let resource = Block::read(self.resource?, 0).ok()?.0?;
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
