//! The newest of what a server wrote on standard error (row L22).

mod tail;

pub use tail::Tail;
