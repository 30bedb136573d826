//! Errors that the server sent.

use crate::sample::escaped;

/// An error object of the server: kept as its own kind, its parts bounded and never joined into one text (row L14).
///
/// An `error` that is no proper error object is still the server's refusal: it gets code -32603, a fixed message, and
/// the raw value as data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("server error {code}: {}", escaped(.message, usize::MAX))]
#[non_exhaustive]
pub struct RemoteError {
    /// The server's code.
    pub code: i64,
    /// The server's message without secrets, at most [`Limits::remote_message`](crate::Limits) bytes. It may hold control
    /// characters, which `Display` escapes.
    pub message: String,
    /// The server's data as raw JSON, if it is at most [`Limits::remote_data`](crate::Limits) bytes.
    pub data: Option<Box<str>>,
    /// Whether the message was cut or the data left out for its size.
    pub truncated: bool,
}

#[cfg(feature = "explore")]
crate::digest::digest_debug!(RemoteError:
    RemoteError { code: 1, message: String::new(), data: None, truncated: false },
    RemoteError { code: 2, message: String::new(), data: None, truncated: false });
