//! What happened so far, in numbers, without parameters or results (row L29).

use std::collections::BTreeMap;
use std::time::Duration;

/// Counts since the session began, and gauges of the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Operations whose answer is awaited.
    pub pending: usize,
    /// Deadlines of operations and of the server's requests that are running.
    pub timers: usize,
    /// Bytes of parameters that wait to be written.
    pub queued_bytes: usize,
    /// Bytes of replies to the server that wait to be written.
    pub reply_bytes: usize,
    /// Requests of the server that the host has not answered yet.
    pub peer_requests: usize,
    /// Operations that ended with a result.
    pub answered: u64,
    /// Operations that ended with an error of the server.
    pub remote_errors: u64,
    /// Operations that met their deadline.
    pub timeouts: u64,
    /// Operations that were cancelled.
    pub cancelled: u64,
    /// Operations that failed in another way.
    pub failed: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Answers to calls that had timed out or been cancelled.
    pub late: u64,
    /// Second answers.
    pub duplicate: u64,
    /// Answers to calls that ended long ago.
    pub stale: u64,
    /// Answers to ids that were never sent.
    pub unknown: u64,
    /// Answers with the right number in the wrong form.
    pub near_misses: u64,
    /// Errors that name no call.
    pub uncorrelated: u64,
    /// Malformed responses.
    pub malformed: u64,
    /// Lines that were no message.
    pub noise_lines: u64,
    /// Lines over the line limit.
    pub long_lines: u64,
    /// Bytes of output that were thrown away.
    pub discarded_bytes: u64,
    /// Batches that were not unpacked.
    pub batches: u64,
    /// Notifications given to the host or acted on.
    pub notifications: u64,
    /// Notifications that were unknown or not negotiated.
    pub ignored_notifications: u64,
    /// Notifications over the rate.
    pub dropped_notifications: u64,
    /// Requests of the server that were refused.
    pub refused_requests: u64,
    /// Pings of the server.
    pub pings: u64,
    /// Bytes on standard error.
    pub stderr_bytes: u64,
    /// Whether older standard error output was left out of the tail.
    pub stderr_truncated: bool,
    /// How long answered operations took, by method.
    pub latency: BTreeMap<&'static str, Latency>,
}

/// A histogram of durations: bucket `n` counts those below 2^n milliseconds (the last one all longer ones).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Counts per bucket.
    pub buckets: [u64; Latency::BUCKETS],
}

/// Durations by method. Methods whose names are the caller's share one histogram.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies([Latency; Latencies::METHODS.len()]);

impl Latencies {
    const METHODS: [&'static str; 6] = ["tools/call", "ping", "tools/list", "connect", "initialize", "other"];

    pub(crate) fn record(&mut self, method: &str, elapsed: Duration) {
        let known = Latencies::METHODS.iter().position(|known| *known == method);
        if let Some(latency) = self.0.get_mut(known.unwrap_or(Latencies::METHODS.len() - 1)) {
            latency.record(elapsed);
        }
    }

    /// Those that have any.
    pub(crate) fn by_method(&self) -> BTreeMap<&'static str, Latency> {
        let all = Latencies::METHODS.into_iter().zip(self.0.iter().cloned());
        all.filter(|(_, latency)| latency.count() > 0).collect()
    }
}

impl Latency {
    /// Up to 2^15 ms, some half a minute, and one for the rest.
    pub const BUCKETS: usize = 17;

    fn record(&mut self, elapsed: Duration) {
        let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let bucket = (u64::BITS - millis.leading_zeros()) as usize;
        if let Some(count) = self.buckets.get_mut(bucket.min(Latency::BUCKETS - 1)) {
            *count += 1;
        }
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l29_a_duration_is_counted_below_the_next_power_of_two() {
        for (millis, bucket) in
            [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (32_767, 15), (32_768, 16), (u64::MAX, 16)]
        {
            let mut latency = Latency::default();
            latency.record(Duration::from_millis(millis));
            assert_eq!(latency.buckets.iter().position(|count| *count == 1), Some(bucket), "{millis}");
            assert_eq!(latency.count(), 1);
        }
    }

    /// L29: what a caller names has one histogram, whatever the names, and what was not called has none.
    #[test]
    fn l29_methods_of_the_caller_share_one_histogram() {
        let mut latencies = Latencies::default();
        for method in ["ping", "a", "b", "tools/call", "other"] {
            latencies.record(method, Duration::from_millis(3));
        }
        let counts: Vec<_> =
            latencies.by_method().into_iter().map(|(method, latency)| (method, latency.count())).collect();
        assert_eq!(counts, [("other", 3), ("ping", 1), ("tools/call", 1)]);
    }
}
