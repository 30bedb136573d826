//! Time as a value.

use std::ops::Add;
use std::time::Duration;

/// A moment, in microseconds since an epoch that the driver picks once and keeps.
///
/// Core never reads a clock: every input and command carries the moment at which it happened. Times that go
/// backwards are lifted to the latest one seen.
///
/// ```
/// use sans_mcp::Time;
/// use std::time::Duration;
///
/// let start = Time::ZERO;
/// let later = start + Duration::from_millis(3);
/// assert_eq!(later.as_micros(), 3_000);
/// assert_eq!(later.since(start), Duration::from_millis(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The driver's epoch.
    pub const ZERO: Time = Time(0);

    /// The moment `micros` microseconds after the epoch.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    /// Saturates at the largest time; a part of a microsecond is rounded up, so that a wait is never too short.
    fn add(self, duration: Duration) -> Time {
        let micros = u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(micros))
    }
}
