//! The `sans-mcp` command against its own fixture server.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod script;
#[cfg(test)]
mod support;
