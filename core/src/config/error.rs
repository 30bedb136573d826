//! What is wrong with a configuration (row L02).

use std::time::Duration;

use super::BlockedCommand;

/// A configuration that cannot be used. Nothing was started.
///
/// Each message names the server, the field as it is called in JSON, and what to do. `server` is the server's name and
/// `field` the path of the field, such as `args[2]`; names from the configuration are bounded and escaped, and values
/// are never repeated, since they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not JSON, or a field is unknown, missing or of the wrong type.
    #[error("configuration of a server: {problem}: correct the text")]
    Json {
        /// What is wrong, with line and column.
        problem: String,
    },
    /// The server has no name, or a blank one.
    #[error("a server has no name: give it one, every message carries it")]
    NoName,
    /// A field that needs a value is empty or blank.
    #[error("server `{server}`: `{field}` is empty: give it a value, or leave it out if it is optional")]
    Empty {
        /// Name of the server.
        server: String,
        /// The field.
        field: String,
    },
    /// A name or a version is too long to be repeated in messages.
    #[error("server `{server}`: `{field}` has more than {limit} bytes: shorten it")]
    TooLong {
        /// Name of the server.
        server: String,
        /// The field.
        field: String,
        /// The most that it may have, in bytes.
        limit: usize,
    },
    /// A name or a version has characters that cannot be seen.
    #[error("server `{server}`: `{field}` has control or invisible characters: remove them")]
    Invisible {
        /// Name of the server.
        server: String,
        /// The field.
        field: String,
    },
    /// No process can be given a NUL character.
    #[error("server `{server}`: `{field}` has a NUL character, which no process can be given: remove it")]
    Nul {
        /// Name of the server.
        server: String,
        /// The field.
        field: String,
    },
    /// The name of a variable has a `=`.
    #[error("server `{server}`: the name in `{field}` has a `=`: put name and value apart")]
    VariableName {
        /// Name of the server.
        server: String,
        /// The field.
        field: String,
    },
    /// A secret has the name of another secret or of a variable.
    #[error("server `{server}`: `{field}` sets `{variable}` once more: keep only one of them")]
    Duplicate {
        /// Name of the server.
        server: String,
        /// The later of the two.
        field: String,
        /// Name of the variable.
        variable: String,
    },
    /// The value of a secret stands where every process can read it (row L04).
    #[error(
        "server `{server}`: `{field}` contains the secret `{variable}`, and every process can read it there: let the server read the variable instead"
    )]
    ExposedSecret {
        /// Name of the server.
        server: String,
        /// The command or the argument.
        field: String,
        /// Name of the secret's variable.
        variable: String,
    },
    /// The command guard refused the executable (row L03).
    #[error("server `{server}`: {blocked}: name the program itself, or set allow_shell")]
    Blocked {
        /// Name of the server.
        server: String,
        /// What was refused.
        blocked: BlockedCommand,
    },
    /// A deadline of zero would pass before anything can happen.
    #[error("server `{server}`: `{field}` is zero: give it at least a millisecond")]
    ZeroTimeout {
        /// Name of the server.
        server: String,
        /// The field.
        field: &'static str,
    },
    /// A deadline that is none.
    #[error("server `{server}`: `{field}` is more than {} days: shorten it, or set none", .limit.as_secs() / 86_400)]
    LongTimeout {
        /// Name of the server.
        server: String,
        /// The field.
        field: &'static str,
        /// [`Timeouts::LONGEST`](crate::Timeouts::LONGEST).
        limit: Duration,
    },
    /// A limit is so small that nothing works, or so large that it is none.
    #[error("server `{server}`: `{field}` is {value}: choose from {least} to {most}")]
    OutOfRange {
        /// Name of the server.
        server: String,
        /// The field.
        field: &'static str,
        /// What it is.
        value: usize,
        /// The least that it may be.
        least: usize,
        /// The most that it may be.
        most: usize,
    },
    /// Two limits contradict each other.
    #[error("server `{server}`: `{lesser}` is above `{greater}`: lower the first or raise the second")]
    Contradiction {
        /// Name of the server.
        server: String,
        /// The field that must not be above the other.
        lesser: &'static str,
        /// The other.
        greater: &'static str,
    },
}
