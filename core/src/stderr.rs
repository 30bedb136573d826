//! The newest of what a server wrote on standard error (row L22).

mod collector;
mod tail;

pub(crate) use collector::Collector;
pub use tail::Tail;
