//! Checks a configuration before anything starts (row L02).

use super::{BlockedCommand, Server};

/// A configuration that cannot be used. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The server has no name.
    #[error("a server has no name: give it one, every message carries it")]
    NoName,
    /// The command guard refused the executable.
    #[error("server `{server}`: {blocked}: name the program itself, or set allow_shell")]
    Blocked {
        /// Name of the server.
        server: String,
        /// What was refused.
        blocked: BlockedCommand,
    },
}

impl Server {
    /// Checks everything that can be checked without touching the system.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.name.is_empty() {
            return Err(ConfigError::NoName);
        }
        Ok(())
    }
}
