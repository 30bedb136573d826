//! How long each of many calls took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

/// The calls are told apart by their numbers, which begin at 0.
pub(super) struct Timing {
    start: Instant,
    /// Nanoseconds from the start to the beginning of each call, and from there to its end.
    calls: Vec<[AtomicU64; 2]>,
}

impl Timing {
    pub(super) fn of(calls: usize) -> Timing {
        Timing { start: Instant::now(), calls: (0..calls).map(|_| Default::default()).collect() }
    }

    pub(super) fn begin(&self, call: usize) {
        if let Some([begin, _]) = self.calls.get(call) {
            begin.store(self.nanoseconds(), Ordering::Relaxed);
        }
    }

    pub(super) fn end(&self, call: usize) {
        if let Some([begin, took]) = self.calls.get(call) {
            took.store(self.nanoseconds() - begin.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Percentiles in microseconds, without the call `except`.
    pub(super) fn percentiles(&self, except: Option<usize>) -> Value {
        let calls = self.calls.iter().enumerate().filter(|(call, _)| Some(*call) != except);
        let mut took: Vec<u64> = calls.map(|(_, [_, took])| took.load(Ordering::Relaxed)).collect();
        took.sort_unstable();
        let percentile = |percent: usize| {
            let place = took.len().saturating_sub(1) * percent / 100;
            took.get(place).map_or(0.0, |took| *took as f64 / 1e3)
        };
        json!({ "p50_us": percentile(50), "p95_us": percentile(95), "p99_us": percentile(99) })
    }
}
