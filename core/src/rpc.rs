//! Messages to calls: who waits for what, until when, and what ended.
//!
//! This layer knows no MCP method. It gives an entry out by value, and a completion can only be built from an entry:
//! removal is the settlement, and there is no second one.

mod ascending;
mod deadlines;
mod pending;
mod settled;

pub(crate) use pending::{Entry, Pending, Stage, Timing};
pub(crate) use settled::{Arrival, Settled, SettledAs};
