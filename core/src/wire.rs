//! Bytes to messages and back: line splitting, the flat envelope, ids, encoding (rows W01 to W08, L07).
//!
//! Nothing here knows a method of MCP, keeps a call or builds a tree; every step is linear in the bytes it is given
//! and bounded in what it holds.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod envelope;
pub(crate) mod id;
pub(crate) mod json;
mod line;
pub(crate) mod lines;
mod prefix;
pub(crate) mod scan;
