//! What a server offers to do, what a caller asks of it, and what comes back.
//!
//! A [`Catalog`] is built page by page from `tools/list`, and holds each [`Tool`] as the server sent it. A [`Call`] is
//! checked against its tool outside of any session. A [`ToolResult`] reads an answer on demand. Everything that comes
//! from a server stays raw JSON until somebody asks, so numbers keep their digits and depth costs nothing.

mod argument;
mod call;
mod catalog;
mod definition;
mod meta;
mod options;
pub(crate) mod raw;
mod request;
mod result;
mod schema;

pub use argument::ArgumentType;
pub use call::Call;
pub(crate) use call::check_object;
pub(crate) use catalog::Draft;
pub use catalog::{Catalog, Reason, SetAside};
pub use definition::Tool;
pub(crate) use options::Options;
pub use request::Request;
pub(crate) use request::check_method;
pub use result::{Content, Contents, DecodeError, ResourceContents, ResultParts, ToolResult};
pub use schema::SchemaNote;
