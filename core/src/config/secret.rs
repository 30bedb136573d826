//! Values that are never shown.

use std::fmt;

use serde::Deserialize;

/// A value that is given to a server and shown to nobody: `Debug` and `Display` print `[secret]`.
///
/// It can be an environment variable, never an argument, since arguments are visible to every process (row L04).
///
/// ```
/// use sans_mcp::Secret;
///
/// let token = Secret::new("hunter2");
/// assert_eq!(token.to_string(), "[secret]");
/// assert_eq!(token.expose(), "hunter2");
/// ```
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value itself: for the driver that starts the process, and for nobody else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
