//! What to start and how to behave: checked before anything starts (rows L02 to L04).

mod check;
mod environment;
mod error;
mod guard;
mod limits;
mod secret;
mod server;
mod settings;

pub use environment::Environment;
pub use error::ConfigError;
pub use guard::{BLOCKED_COMMANDS, BlockedCommand, validate_command};
pub use limits::Limits;
pub use secret::Secret;
pub use server::{Descendants, Server, StderrMode};
pub use settings::{Capabilities, ClientInfo, Conduct, IdMatching, Settings, Timeouts, Utf8};
