//! Which of the host's variables a server sees.

use serde::Deserialize;

/// What a server inherits of the host's environment: an allowlist, never the whole (row L04).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Environment {
    /// HOME, LOGNAME, PATH, SHELL, TERM and USER.
    #[default]
    Default,
    /// PATH only.
    Minimal,
}

impl Environment {
    /// The names that are inherited where the host has them.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Environment::Default => &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"],
            Environment::Minimal => &["PATH"],
        }
    }
}
