//! How much of a flood is let through, and how much of it is told.

use std::time::Duration;

use crate::time::Time;

/// Bounds how many messages and bytes are let through in one second (row L27).
///
/// The windows are fixed: one begins with the first message that comes when none is open, and lasts one second. So
/// any second sees at most twice the bounds, and the same times always give the same answers.
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Window {
    per_second: u32,
    bytes_per_second: usize,
    start: Time,
    count: u32,
    bytes: usize,
}

impl Window {
    const LENGTH: Duration = Duration::from_secs(1);

    pub(crate) fn new(per_second: u32, bytes_per_second: usize) -> Window {
        Window { per_second, bytes_per_second, start: Time::ZERO, count: 0, bytes: 0 }
    }

    /// Whether a message of this size is let through. One that is not takes nothing from the window, so a smaller one
    /// may still pass; one larger than the bound of bytes never does.
    pub(crate) fn admit(&mut self, now: Time, bytes: usize) -> bool {
        if self.count == 0 || now.since(self.start) >= Window::LENGTH {
            self.start = now;
            self.count = 0;
            self.bytes = 0;
        }
        let sum = self.bytes.saturating_add(bytes);
        if self.count >= self.per_second || sum > self.bytes_per_second {
            return false;
        }
        self.count += 1;
        self.bytes = sum;
        true
    }
}

/// Says which occurrences of something deserve a diagnostic: the first 32, and then each whose number is a power of two.
/// So 20,000 occurrences give 41 (row W05).
#[derive(Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Sparse {
    count: u64,
}

impl Sparse {
    const FIRST: u64 = 32;

    /// Counts one more occurrence and gives its number if it is to be told.
    pub(crate) fn next(&mut self) -> Option<u64> {
        self.count = self.count.saturating_add(1);
        (self.count <= Sparse::FIRST || self.count.is_power_of_two()).then_some(self.count)
    }
}

/// A window that is over is as good as none.
#[cfg(feature = "explore")]
impl crate::digest::Digest for Window {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        let Window { per_second: _, bytes_per_second: _, start, count, bytes } = self;
        let is_open = *count > 0 && into.now().since(*start) < Window::LENGTH;
        into.field("Window.count");
        into.number(if is_open { u64::from(*count) } else { 0 });
        if is_open {
            into.field("Window.start");
            into.time(*start);
            into.field("Window.bytes");
            into.number(*bytes as u64);
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if self.count == 0 {
            return;
        }
        place.field("Window.count", &mut self.count);
        place.field("Window.start", &mut self.start);
        place.field("Window.bytes", &mut self.bytes);
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Sparse { count } leaves out {});

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[test]
    fn l27_messages_over_the_count_wait_for_the_next_window() {
        let mut window = Window::new(3, 1_000);
        let start = 5 * SECOND + 7;
        let admitted: Vec<bool> = (0..5).map(|n| window.admit(at(start + n), 1)).collect();
        assert_eq!(admitted, [true, true, true, false, false]);
        assert!(!window.admit(at(start + SECOND - 1), 1));
        assert!(window.admit(at(start + SECOND), 1));
    }

    #[test]
    fn l27_messages_over_the_bytes_do_not_use_up_the_window() {
        let mut window = Window::new(10, 100);
        assert!(window.admit(at(0), 60));
        assert!(!window.admit(at(1), 41));
        assert!(window.admit(at(2), 40));
        assert!(!window.admit(at(3), 1));
        assert!(window.admit(at(3), 0));
        assert!(!window.admit(at(SECOND), 101));
        assert!(window.admit(at(SECOND), 100));
        assert!(!window.admit(at(SECOND), usize::MAX));
    }

    #[test]
    fn l27_a_window_begins_with_its_first_message() {
        let mut window = Window::new(1, 100);
        assert!(window.admit(at(SECOND - 1), 1));
        assert!(!window.admit(at(SECOND + 1), 1));
        assert!(window.admit(at(2 * SECOND - 1), 1));
    }

    #[test]
    fn l27_a_time_before_the_window_opens_no_new_one() {
        let mut window = Window::new(1, 100);
        assert!(window.admit(at(9 * SECOND), 1));
        assert!(!window.admit(at(SECOND), 1));
    }

    #[test]
    fn l27_any_second_of_a_steady_flood_sees_at_most_twice_the_bound() {
        let mut window = Window::new(20, 1_000_000);
        let passed: Vec<u64> =
            (0..40_000).map(|n| n * 100).filter(|&micros| window.admit(at(micros), 1)).collect();
        assert_eq!(passed.len(), 80);
        for first in &passed {
            let within = passed.iter().filter(|time| (*first..*first + SECOND).contains(time)).count();
            assert!(within <= 40, "{within} from {first}");
        }
    }

    #[cfg(feature = "explore")]
    #[test]
    fn a_window_that_is_over_makes_no_difference_to_the_digest() {
        use crate::digest::{Canonical, Digest};
        let digest = |window: &Window, now| {
            let mut into = Canonical::new(now);
            window.digest(&mut into);
            into.into_bytes()
        };
        let fresh = Window::new(3, 100);
        assert_eq!(digest(&fresh, at(1)), digest(&fresh, at(2)), "nor does one that never began");
        let mut used = Window::new(3, 100);
        assert!(used.admit(at(7), 1));
        for (micros, is_open) in [(7, true), (SECOND + 6, true), (SECOND + 7, false), (SECOND + 8, false)] {
            let now = at(micros);
            assert_eq!(digest(&used, now) != digest(&fresh, now), is_open, "{micros}");
        }
    }

    #[test]
    fn w05_twenty_thousand_occurrences_give_forty_one_diagnostics() {
        let mut sparse = Sparse::default();
        let told: Vec<u64> = (0..20_000).filter_map(|_| sparse.next()).collect();
        assert_eq!(told.len(), 41);
        assert!(told.iter().take(32).copied().eq(1..=32));
        assert_eq!(told[32..], [64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384]);
    }
}
