//! Every bound on what a server or a caller can make this client hold.

use serde::Deserialize;

/// Bounds in bytes and counts. Each default is an associated constant with its reason.
///
/// Each has a least and a most that [`Server::check`](crate::Server::check) enforces and its error names: no count is
/// zero, a line, a queue and a catalog have room for 1 KiB, and no bound on bytes is above 1 GiB. `discard` is not below
/// `line`, nor `send_queue` below `parameters`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Longest line of the server's output that is read as a message, in bytes.
    pub line: usize,
    /// How much of one line without an end is thrown away before the session ends, in bytes; and how much is still read, to
    /// be thrown away, of a server that leaves.
    pub discard: usize,
    /// Calls and other requests that may wait for their answer at one time.
    pub pending: usize,
    /// Parameters that wait to be written, in bytes over all calls.
    pub send_queue: usize,
    /// Parameters of one call, in bytes.
    pub parameters: usize,
    /// Replies to the server's own requests that wait to be written, in bytes.
    pub replies: usize,
    /// Newest standard error output that is kept, in bytes.
    pub stderr_tail: usize,
    /// Lines that were no message of which a sample is kept.
    pub noise_samples: usize,
    /// Length of one such sample, in bytes.
    pub noise_sample: usize,
    /// Tools in a catalog.
    pub tools: usize,
    /// Pages of one walk over a list.
    pub pages: usize,
    /// Raw text of all tools in a catalog, in bytes.
    pub catalog: usize,
    /// Description of a tool that is kept, in bytes.
    pub description: usize,
    /// Nesting of a tool's schema.
    pub schema_depth: usize,
    /// Evaluation cost of a tool's schema, counted over its reference graph.
    pub schema_cost: usize,
    /// Requests of the server that may be open at one time.
    pub peer_requests: usize,
    /// Outputs that wait for a host that does not fetch them; past it they are dropped and counted.
    pub events: usize,
    /// Notifications a second; past it they are dropped and counted.
    pub notifications_per_second: u32,
    /// Bytes of notifications a second; past it they are dropped and counted.
    pub notification_bytes_per_second: usize,
    /// Whether a notification flood ends the session instead of being dropped and counted.
    pub end_on_notification_flood: bool,
    /// Message of a remote error that is kept, in bytes.
    pub remote_message: usize,
    /// Data of a remote error that is kept, in bytes.
    pub remote_data: usize,
}

impl Limits {
    /// 10 MiB: twice the largest answers seen from real servers, and what other clients cap at.
    pub const LINE: usize = 10 << 20;
    /// 64 MiB: a server that writes this much without an end of line will not come back.
    pub const DISCARD: usize = 64 << 20;
    /// 16,384: more than any host awaits, at some 400 bytes each.
    pub const PENDING: usize = 16_384;
    /// 16 MiB: what a stalled server may cost in waiting parameters.
    pub const SEND_QUEUE: usize = 16 << 20;
    /// 8 MiB: half the queue, so that one call never fills it.
    pub const PARAMETERS: usize = 8 << 20;
    /// 8 MiB: one hundred thousand unread ping replies fit.
    pub const REPLIES: usize = 8 << 20;
    /// 64 KiB: a long stack trace with what led to it.
    pub const STDERR_TAIL: usize = 64 << 10;
    /// 32: enough to recognise a banner or a logger.
    pub const NOISE_SAMPLES: usize = 32;
    /// 256 bytes: three lines of a terminal.
    pub const NOISE_SAMPLE: usize = 256;
    /// 10,000 tools: two orders above the largest server seen.
    pub const TOOLS: usize = 10_000;
    /// 1,000 pages: ten tools a page at the largest catalog.
    pub const PAGES: usize = 1_000;
    /// 16 MiB: two hundred times the largest list seen.
    pub const CATALOG: usize = 16 << 20;
    /// 16 KiB: longer ones would crowd a model's context.
    pub const DESCRIPTION: usize = 16 << 10;
    /// 64 levels: hand-written schemas stay below ten.
    pub const SCHEMA_DEPTH: usize = 64;
    /// 10,000 steps: about a millisecond of checking.
    pub const SCHEMA_COST: usize = 10_000;
    /// 64: a person or a model answers these, one at a time.
    pub const PEER_REQUESTS: usize = 64;
    /// 1,024: a burst while the host is busy elsewhere.
    pub const EVENTS: usize = 1_024;
    /// 20,000 a second: far above real servers, far below what costs a core.
    pub const NOTIFICATIONS_PER_SECOND: u32 = 20_000;
    /// 64 MiB a second, for the same reason.
    pub const NOTIFICATION_BYTES_PER_SECOND: usize = 64 << 20;
    /// 4 KiB: some servers put a whole validation dump there.
    pub const REMOTE_MESSAGE: usize = 4 << 10;
    /// 64 KiB: structured detail, still cheap to keep for each failed call.
    pub const REMOTE_DATA: usize = 64 << 10;
    /// 4,096: ids settled this recently are told apart when an answer comes late or twice. Not adjustable.
    pub const SETTLED_IDS: usize = 4_096;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line: Limits::LINE,
            discard: Limits::DISCARD,
            pending: Limits::PENDING,
            send_queue: Limits::SEND_QUEUE,
            parameters: Limits::PARAMETERS,
            replies: Limits::REPLIES,
            stderr_tail: Limits::STDERR_TAIL,
            noise_samples: Limits::NOISE_SAMPLES,
            noise_sample: Limits::NOISE_SAMPLE,
            tools: Limits::TOOLS,
            pages: Limits::PAGES,
            catalog: Limits::CATALOG,
            description: Limits::DESCRIPTION,
            schema_depth: Limits::SCHEMA_DEPTH,
            schema_cost: Limits::SCHEMA_COST,
            peer_requests: Limits::PEER_REQUESTS,
            events: Limits::EVENTS,
            notifications_per_second: Limits::NOTIFICATIONS_PER_SECOND,
            notification_bytes_per_second: Limits::NOTIFICATION_BYTES_PER_SECOND,
            end_on_notification_flood: false,
            remote_message: Limits::REMOTE_MESSAGE,
            remote_data: Limits::REMOTE_DATA,
        }
    }
}
