//! Time for hosts that have no clock of their own.

use std::time::Instant;

use sans_mcp::Time;

/// Tells [`Time`] as microseconds since the moment it was made.
///
/// A [`Connection`](crate::Connection) never reads a clock: it believes the host. One clock serves all connections of a
/// host; a host that simulates time needs none.
///
/// ```
/// use sans_mcp_mio::{Clock, Time};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let clock = Clock::since(start);
/// assert_eq!(clock.at(start + Duration::from_millis(3)), Time::from_micros(3_000));
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Clock {
        Clock::since(Instant::now())
    }

    /// A clock that began at `epoch`, for a host that has a beginning already.
    pub const fn since(epoch: Instant) -> Clock {
        Clock { epoch }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.at(Instant::now())
    }

    /// The time at `instant`, for a host that has just read its clock; zero if that was before the beginning.
    pub fn at(&self, instant: Instant) -> Time {
        let elapsed = instant.saturating_duration_since(self.epoch);
        Time::from_micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
    }
}
