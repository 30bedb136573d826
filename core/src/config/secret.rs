//! Values that are never shown.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A value that is given to a server and shown to nobody: `Debug` and `Display` print `[secret]`.
///
/// It can be an environment variable, never an argument, since arguments are visible to every process (row L04).
/// It can be read from JSON and never be written to it:
///
/// ```compile_fail,E0277
/// let text = serde_json::to_string(&sans_mcp::Secret::new("hunter2"));
/// ```
///
/// ```
/// use sans_mcp::Secret;
///
/// let token = Secret::new("hunter2");
/// assert_eq!(token.to_string(), "[secret]");
/// assert_eq!(token.expose(), "hunter2");
/// ```
#[derive(Clone, PartialEq, Eq)]
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

impl<'de> Deserialize<'de> for Secret {
    /// The error does not repeat what was found, as serde's own would: it may be the secret without its quotes.
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Secret, D::Error> {
        String::deserialize(input).map(Secret).map_err(|_| de::Error::custom("a secret must be a string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l04_a_secret_is_not_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?} {:?}", Some(&secret)),
            "[secret] [secret] [secret] Some([secret])"
        );
        assert_eq!(secret.expose(), "hunter2");
    }

    #[test]
    fn l04_a_secret_of_the_wrong_type_is_not_shown_in_the_error() {
        let secret: Secret = serde_json::from_str("\"hunter2\"").unwrap();
        assert_eq!(secret, Secret::new("hunter2"));
        let error = serde_json::from_str::<Secret>("4711").unwrap_err().to_string();
        assert!(error.starts_with("a secret must be a string"), "{error}");
        assert!(!error.contains("4711"), "{error}");
    }
}
