//! An MCP client for tokio.
