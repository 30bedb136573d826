//! Stable names of errors, for logs and for programs that read them (row L30).

use std::fmt;

/// The stable name of an error. Names are never reused for another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(&'static str);

impl Code {
    /// The server's process was never started, or ended before or during the call.
    pub const PROCESS_EXIT: Code = Code("MCP_PROCESS_EXIT");
    /// The call met its deadline.
    pub const TIMEOUT: Code = Code("MCP_TIMEOUT");
    /// The caller cancelled.
    pub const ABORTED: Code = Code("MCP_ABORTED");
    /// The server answered with an error.
    pub const ERROR: Code = Code("MCP_ERROR");
    /// The client was closed, or is closing.
    pub const CLOSED: Code = Code("CLIENT_CLOSED");
    /// A bound on pending calls or queued bytes is reached.
    pub const BUSY: Code = Code("MCP_BUSY");
    /// The session is not connected yet.
    pub const NOT_READY: Code = Code("MCP_NOT_READY");
    /// Parameters or an answer are over their limit.
    pub const TOO_LARGE: Code = Code("MCP_TOO_LARGE");
    /// The answer that names the call is not a valid response.
    pub const INVALID_RESPONSE: Code = Code("MCP_INVALID_RESPONSE");
    /// The structured result does not fit the tool's output schema.
    pub const INVALID_RESULT: Code = Code("MCP_INVALID_RESULT");
    /// The arguments or parameters are not what they must be.
    pub const INVALID_ARGUMENTS: Code = Code("MCP_INVALID_ARGUMENTS");
    /// The tool is not in the catalog.
    pub const UNKNOWN_TOOL: Code = Code("MCP_UNKNOWN_TOOL");
    /// The server did not offer the feature.
    pub const UNSUPPORTED: Code = Code("MCP_UNSUPPORTED");
    /// The method or key belongs to the protocol itself.
    pub const RESERVED: Code = Code("MCP_RESERVED");
    /// The server no longer reads.
    pub const STDIN_CLOSED: Code = Code("MCP_STDIN_CLOSED");
    /// All request ids are used up: start a new session.
    pub const IDS_EXHAUSTED: Code = Code("MCP_IDS_EXHAUSTED");
    /// The server broke the protocol beyond what is tolerated.
    pub const PROTOCOL: Code = Code("MCP_PROTOCOL");
    /// The health check failed.
    pub const UNHEALTHY: Code = Code("MCP_UNHEALTHY");
    /// The executable was not found.
    pub const NOT_FOUND: Code = Code("MCP_NOT_FOUND");
    /// The executable may not be executed.
    pub const NOT_PERMITTED: Code = Code("MCP_NOT_PERMITTED");
    /// The working directory cannot be used.
    pub const BAD_DIRECTORY: Code = Code("MCP_BAD_DIRECTORY");
    /// The process could not be started for another reason.
    pub const START_FAILED: Code = Code("MCP_START_FAILED");
    /// `initialize` was not answered in time.
    pub const CONNECT_TIMEOUT: Code = Code("MCP_CONNECT_TIMEOUT");
    /// `initialize` was refused, or its answer is invalid.
    pub const HANDSHAKE_FAILED: Code = Code("MCP_HANDSHAKE_FAILED");
    /// The server speaks no version that this client accepts.
    pub const VERSION: Code = Code("MCP_VERSION_UNSUPPORTED");
    /// A walk over a list did not come to its end.
    pub const LIST_FAILED: Code = Code("MCP_LIST_FAILED");

    /// The name itself.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
