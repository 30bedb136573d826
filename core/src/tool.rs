//! What comes back from a tool.
//!
//! A [`ToolResult`] reads an answer on demand: everything that comes from a server stays raw JSON until somebody asks,
//! so numbers keep their digits and depth costs nothing.

mod raw;
mod result;
mod schema;

pub use result::{Content, Contents, DecodeError, ResourceContents, ToolResult};
pub use schema::SchemaNote;
