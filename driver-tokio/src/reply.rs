//! The result of a tool.

use std::borrow::Cow;
use std::fmt;

use sans_mcp::{DecodeError, Payload, ResultParts, ToolResult};
use serde::de::DeserializeOwned;

/// What a tool answered: it owns the raw JSON, whose blocks are read on demand.
///
/// A tool that ran and failed answers too: [`is_error`](ToolReply::is_error) says so, and the text is for the
/// model to read (row L14).
pub struct ToolReply {
    payload: Payload,
    parts: ResultParts,
}

impl ToolReply {
    pub(crate) fn new(payload: Payload) -> Result<ToolReply, DecodeError> {
        let parts = ResultParts::parse(&payload)?;
        Ok(ToolReply { payload, parts })
    }

    /// Whether the tool ran and failed.
    pub fn is_error(&self) -> bool {
        self.parts.is_error()
    }

    /// All text blocks, joined by line ends.
    pub fn text(&self) -> Cow<'_, str> {
        self.result().text()
    }

    /// The blocks of content in order.
    pub fn content(&self) -> impl Iterator<Item = sans_mcp::Content<'_>> {
        self.result().content()
    }

    /// The structured content as raw JSON, if there is any.
    pub fn structured(&self) -> Option<&str> {
        self.result().structured()
    }

    /// The structured content, decoded; absent content is `null`.
    ///
    /// # Errors
    /// It does not fit `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.structured().unwrap_or("null"))
    }

    /// The `_meta` of the result as raw JSON.
    pub fn meta(&self) -> Option<&str> {
        self.result().meta()
    }

    /// All views at once.
    pub fn result(&self) -> ToolResult<'_> {
        self.parts.of(&self.payload)
    }

    /// The result as the server wrote it.
    pub fn raw(&self) -> &str {
        &self.payload
    }

    /// The buffer with the raw result.
    pub fn into_payload(self) -> Payload {
        self.payload
    }
}

impl fmt::Debug for ToolReply {
    /// Says nothing of what is in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.payload.len();
        f.debug_struct("ToolReply")
            .field("is_error", &self.is_error())
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}
