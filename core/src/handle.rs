//! Numbers that name operations.

use std::fmt;

/// Names one accepted operation of this session: a call, a request, a listing, a connect.
///
/// Handles only grow and are never used twice (row L07). A request that is sent at once has its handle as its id on the wire. A
/// connect or a listing has requests of its own under other ids, and a call that had to wait for a catalog goes out under a
/// later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub(crate) u64);

impl Handle {
    /// The number itself, below 2^53.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one open request of the server. It is not `Clone`: [`Session::respond`](crate::Session::respond) takes it, so
/// that a request is answered at most once.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub struct PeerHandle(pub(crate) u64);

impl PeerHandle {
    /// The number itself: what [`Output::RequestCancelled`](crate::Output::RequestCancelled) names.
    pub const fn number(&self) -> u64 {
        self.0
    }
}
