//! The most that may be counted. They stand a little above what is counted now, so that growth is noticed.

/// Allocations from handing in a request that was made already until its bytes are written.
pub(crate) const GENERIC_CALL: f64 = 0.05;

/// The same for a call of a tool, whose arguments are checked against the schema.
pub(crate) const TOOL_CALL: f64 = 1.05;

/// Allocations from reading an answer until it is lent to the host.
pub(crate) const ANSWER: f64 = 0.0;

/// The same when the text of the result is read, and checked where the tool says what it is like.
pub(crate) const TOOL_ANSWER: f64 = 0.0;

/// Bytes that a request holds which was written and waits for its answer.
pub(crate) const WAITING_REQUEST: f64 = 300.0;

/// Bytes that a call of a tool holds which was written and waits for its answer.
pub(crate) const WAITING_CALL: f64 = 300.0;

/// Bytes that stay behind when ten thousand calls that waited at once were answered: room for the next hundred.
pub(crate) const AFTER_MANY_CALLS: f64 = 40_000.0;

/// Bytes that a session with one tool holds which has nothing to do.
pub(crate) const IDLE_SESSION: f64 = 75_000.0;

/// Bytes that stay behind when a result of 8 MiB was read.
pub(crate) const AFTER_A_LARGE_RESULT: f64 = 2_000.0;
