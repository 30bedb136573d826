//! Checks a configuration before anything starts (row L02).

use std::collections::BTreeSet;

use serde_json::error::Category;

use super::{ConfigError, Server, Timeouts, validate_command};
use crate::redact::Redactor;
use crate::sample::{escaped, is_hidden};
use crate::tool::raw;

impl Server {
    /// Reads a server from a JSON object with the names of the fields, and [checks](Server::check) it.
    ///
    /// # Errors
    ///
    /// The first fault. Unlike errors of serde it never repeats a value, which may be a secret in the wrong place.
    ///
    /// ```
    /// use sans_mcp::Server;
    ///
    /// let server = Server::from_json(
    ///     r#"{"name": "docs", "command": "docs-server", "variables": {"LOG": "warn"}, "secrets": {"TOKEN": "s3cr3t"}}"#,
    /// )?;
    /// assert_eq!(server.variables, [("LOG".to_owned(), "warn".to_owned())]);
    ///
    /// let error = Server::from_json(r#"{"name": "docs", "command": "bash"}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("server `docs`: `bash`"));
    /// # Ok::<(), sans_mcp::ConfigError>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Server, ConfigError> {
        let server: Server =
            serde_json::from_str(text).map_err(|error| ConfigError::Json { problem: problem(&error) })?;
        // Of an array serde takes the fields in their order. Inner objects are not guarded against that.
        if !raw::is_object(text) {
            return Err(ConfigError::Json { problem: "expected a JSON object".to_owned() });
        }
        server.check()?;
        Ok(server)
    }

    /// Checks everything that can be checked without touching the system. A session calls it before anything starts.
    ///
    /// It looks at the executable alone to tell a shell ([`validate_command`]); a switch for inline code of a runtime that
    /// passes, such as `python3 -c`, is not refused (row L03).
    ///
    /// # Errors
    ///
    /// The first fault, in the order of the fields.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.name.trim().is_empty() {
            return Err(ConfigError::NoName);
        }
        self.check_label("name", &self.name)?;
        self.check_program()?;
        self.check_variables()?;
        self.check_secrets()?;
        self.check_timeouts()?;
        self.check_limits()?;
        self.check_label("settings.client.name", &self.settings.client.name)?;
        self.check_label("settings.client.version", &self.settings.client.version)?;
        if self.settings.versions.is_empty() {
            return Err(self.empty("settings.versions"));
        }
        Ok(())
    }

    fn check_label(&self, field: &str, text: &str) -> Result<(), ConfigError> {
        if text.trim().is_empty() {
            return Err(self.empty(field));
        }
        if text.len() > Server::LONGEST_NAME {
            let (server, field) = (self.shown(), field.to_owned());
            return Err(ConfigError::TooLong { server, field, limit: Server::LONGEST_NAME });
        }
        if text.chars().any(is_hidden) {
            return Err(ConfigError::Invisible { server: self.shown(), field: field.to_owned() });
        }
        Ok(())
    }

    fn check_program(&self) -> Result<(), ConfigError> {
        if self.command.trim().is_empty() {
            return Err(self.empty("command"));
        }
        self.check_nul("command", self.command.as_bytes())?;
        if !self.allow_shell {
            validate_command(&self.command)
                .map_err(|blocked| ConfigError::Blocked { server: self.shown(), blocked })?;
        }
        for (at, argument) in self.args.iter().enumerate() {
            self.check_nul(&format!("args[{at}]"), argument.as_bytes())?;
        }
        if let Some(directory) = &self.working_directory {
            if directory.as_os_str().is_empty() {
                return Err(self.empty("working_directory"));
            }
            self.check_nul("working_directory", directory.as_os_str().as_encoded_bytes())?;
        }
        Ok(())
    }

    fn check_variables(&self) -> Result<(), ConfigError> {
        for (at, name) in self.inherit.iter().enumerate() {
            self.check_variable(&format!("inherit[{at}]"), name, "")?;
        }
        for (at, (name, value)) in self.variables.iter().enumerate() {
            self.check_variable(&format!("variables[{at}]"), name, value)?;
        }
        let mut names: BTreeSet<&str> = self.variables.iter().map(|(name, _)| name.as_str()).collect();
        for (at, (name, value)) in self.secrets.iter().enumerate() {
            let field = format!("secrets[{at}]");
            self.check_variable(&field, name, value.expose())?;
            if !names.insert(name) {
                return Err(ConfigError::Duplicate { server: self.shown(), field, variable: shown(name) });
            }
        }
        Ok(())
    }

    fn check_variable(&self, field: &str, name: &str, value: &str) -> Result<(), ConfigError> {
        if name.is_empty() {
            return Err(self.empty(field));
        }
        if name.contains('=') {
            return Err(ConfigError::VariableName { server: self.shown(), field: field.to_owned() });
        }
        self.check_nul(field, name.as_bytes())?;
        self.check_nul(field, value.as_bytes())
    }

    /// The bound on length is that of the search in what the server writes, for the same reason.
    fn check_secrets(&self) -> Result<(), ConfigError> {
        let secrets = || self.secrets.iter().filter(|(_, value)| value.expose().len() >= Redactor::SHORTEST);
        for (at, text) in std::iter::once(&self.command).chain(&self.args).enumerate() {
            if let Some((name, _)) = secrets().find(|(_, value)| text.contains(value.expose())) {
                return Err(ConfigError::ExposedSecret {
                    server: self.shown(),
                    field: at.checked_sub(1).map_or("command".to_owned(), |at| format!("args[{at}]")),
                    variable: shown(name),
                });
            }
        }
        Ok(())
    }

    fn check_timeouts(&self) -> Result<(), ConfigError> {
        let timeouts = &self.settings.timeouts;
        let all = [
            ("settings.timeouts.end_of_input", Some(timeouts.end_of_input)),
            ("settings.timeouts.terminate", Some(timeouts.terminate)),
            ("settings.timeouts.connect", timeouts.connect),
            ("settings.timeouts.call", timeouts.call),
            ("settings.timeouts.maximum", timeouts.maximum),
            ("settings.timeouts.peer_request", timeouts.peer_request),
            ("settings.timeouts.health_interval", timeouts.health_interval),
            ("settings.timeouts.health", timeouts.health),
        ];
        for (field, duration) in all {
            let Some(duration) = duration else { continue };
            if duration.is_zero() {
                return Err(ConfigError::ZeroTimeout { server: self.shown(), field });
            }
            if duration > Timeouts::LONGEST {
                let limit = Timeouts::LONGEST;
                return Err(ConfigError::LongTimeout { server: self.shown(), field, limit });
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        /// 1 GiB: sums and doublings of it still fit in 32 bits.
        const BYTES: usize = 1 << 30;
        /// 1 KiB: the handshake fits.
        const MESSAGE: usize = 1 << 10;
        /// 16 million: what is kept for each still fits in memory.
        const COUNT: usize = 1 << 24;
        let limits = &self.settings.limits;
        let notifications = usize::try_from(limits.notifications_per_second).unwrap_or(usize::MAX);
        for (field, value, least, most) in [
            ("settings.limits.line", limits.line, MESSAGE, BYTES),
            ("settings.limits.discard", limits.discard, MESSAGE, BYTES),
            ("settings.limits.pending", limits.pending, 1, COUNT),
            ("settings.limits.send_queue", limits.send_queue, MESSAGE, BYTES),
            ("settings.limits.parameters", limits.parameters, MESSAGE, BYTES),
            ("settings.limits.replies", limits.replies, MESSAGE, BYTES),
            ("settings.limits.stderr_tail", limits.stderr_tail, 1, BYTES),
            ("settings.limits.noise_samples", limits.noise_samples, 1, 1 << 16),
            // Sixteen bytes hold the longest escape and the mark of a cut.
            ("settings.limits.noise_sample", limits.noise_sample, 16, 1 << 14),
            ("settings.limits.tools", limits.tools, 1, COUNT),
            ("settings.limits.pages", limits.pages, 1, COUNT),
            ("settings.limits.catalog", limits.catalog, MESSAGE, BYTES),
            ("settings.limits.description", limits.description, 1, BYTES),
            // The parser of trees goes no deeper than 128.
            ("settings.limits.schema_depth", limits.schema_depth, 1, 128),
            ("settings.limits.schema_cost", limits.schema_cost, 1, BYTES),
            ("settings.limits.peer_requests", limits.peer_requests, 1, COUNT),
            ("settings.limits.events", limits.events, 1, COUNT),
            ("settings.limits.notifications_per_second", notifications, 1, BYTES),
            (
                "settings.limits.notification_bytes_per_second",
                limits.notification_bytes_per_second,
                MESSAGE,
                BYTES,
            ),
            ("settings.limits.remote_message", limits.remote_message, 1, BYTES),
            ("settings.limits.remote_data", limits.remote_data, 1, BYTES),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ConfigError::OutOfRange { server: self.shown(), field, value, least, most });
            }
        }
        for (lesser, greater, holds) in [
            ("settings.limits.line", "settings.limits.discard", limits.line <= limits.discard),
            (
                "settings.limits.parameters",
                "settings.limits.send_queue",
                limits.parameters <= limits.send_queue,
            ),
        ] {
            if !holds {
                return Err(ConfigError::Contradiction { server: self.shown(), lesser, greater });
            }
        }
        Ok(())
    }

    fn check_nul(&self, field: &str, bytes: &[u8]) -> Result<(), ConfigError> {
        if memchr::memchr(0, bytes).is_some() {
            return Err(ConfigError::Nul { server: self.shown(), field: field.to_owned() });
        }
        Ok(())
    }

    fn empty(&self, field: &str) -> ConfigError {
        ConfigError::Empty { server: self.shown(), field: field.to_owned() }
    }

    fn shown(&self) -> String {
        shown(&self.name)
    }
}

fn shown(name: &str) -> String {
    escaped(name, Server::LONGEST_NAME)
}

/// What serde says, without the value that it found: "invalid type: string "hunter2", expected ..." begins with it.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let without_value = match text.rfind("expected ") {
        Some(at) if error.classify() == Category::Data && repeats_value(&text) => text.get(at..),
        _ => None,
    };
    escaped(without_value.unwrap_or(&text), 512)
}

/// Of what serde says, these begin with what it found.
fn repeats_value(text: &str) -> bool {
    text.starts_with("invalid ") || text.starts_with("unknown variant ")
}

#[cfg(test)]
mod tests;
