//! Three kinds of error, never mixed.
//!
//! * [`Refused`]: the command never took effect; what was handed in comes back.
//! * [`Failure`]: one accepted call ended so.
//! * [`End`]: the whole session is over because of this.

mod code;
mod end;
mod failure;
mod refusal;
mod remote;

pub use code::Code;
pub use end::{Cause, End, HandshakeFault, PeerFault};
pub(crate) use failure::{Circumstances, Report};
pub use failure::{Delivery, Failure, FailureKind, Hint, InvalidResponse, WalkFault};
pub use refusal::{Full, Refusal, Refused};
pub use remote::RemoteError;

#[cfg(test)]
mod tests;
