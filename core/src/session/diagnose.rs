//! What is told about odd things: bounded in size and in rate, and kept as hints for timeouts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Machine, Step};
use crate::error::{Hint, RemoteError};
use crate::output::{Diagnostic, DiagnosticKind};
use crate::rate::Sparse;
use crate::sample;
use crate::time::Time;

#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Diagnostics {
    server: Arc<str>,
    /// One per kind.
    seen: BTreeMap<u8, Sparse>,
    /// Answers with the right number in the wrong form, by the open request they may have meant.
    near_misses: BTreeMap<u64, Box<str>>,
    uncorrelated: Option<(Time, RemoteError)>,
    multi_line: Option<(Time, usize)>,
}

impl Diagnostics {
    pub(super) fn new(server: Arc<str>) -> Diagnostics {
        Diagnostics {
            server,
            seen: BTreeMap::new(),
            near_misses: BTreeMap::new(),
            uncorrelated: None,
            multi_line: None,
        }
    }

    pub(super) fn near_miss(&mut self, request: u64, id: Box<str>) {
        self.near_misses.insert(request, id);
    }

    pub(super) fn uncorrelated(&mut self, now: Time, error: RemoteError) {
        self.uncorrelated = Some((now, error));
    }

    pub(super) fn multi_line(&mut self, now: Time, lines: usize) {
        self.multi_line = Some((now, lines));
    }

    /// What may explain that `request`, accepted at `since`, got no answer.
    pub(super) fn hints(&mut self, request: u64, since: Time) -> Vec<Hint> {
        let near_miss = self.near_misses.remove(&request).map(Hint::NearMiss);
        let uncorrelated = self.uncorrelated.as_ref().filter(|(at, _)| *at >= since);
        let multi_line = self.multi_line.filter(|(at, _)| *at >= since);
        near_miss
            .into_iter()
            .chain(uncorrelated.map(|(_, error)| Hint::Uncorrelated(error.clone())))
            .chain(multi_line.map(|(_, lines)| Hint::MultiLineJson(lines)))
            .collect()
    }

    /// The request is settled without a timeout.
    pub(super) fn forget(&mut self, request: u64) {
        if !self.near_misses.is_empty() {
            self.near_misses.remove(&request);
        }
    }
}

impl<T> Machine<T> {
    pub(super) fn diagnose(&mut self, kind: DiagnosticKind) {
        let seen = self.diagnostics.seen.entry(kind.number()).or_default();
        if let Some(count) = seen.next() {
            let server = self.diagnostics.server.clone();
            self.ready.push_back(Step::Diagnostic(Diagnostic { server, kind, count }));
        }
    }

    /// A bounded, escaped excerpt without secrets.
    pub(super) fn sample(&self, bytes: &[u8]) -> Box<str> {
        sample::sample(bytes, self.server.settings.limits.noise_sample, &self.redactor)
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Diagnostics { seen, near_misses, uncorrelated, multi_line } leaves out { server });

#[cfg(test)]
mod tests {
    use super::*;

    /// L13, L20: what was seen of a request is told of that request only, and is not kept when it is settled.
    #[test]
    fn l13_a_near_miss_explains_its_request_until_that_is_settled() {
        let mut diagnostics = Diagnostics::new("docs".into());
        for request in 1..=3 {
            diagnostics.near_miss(request, "\"1\"".into());
        }
        diagnostics.forget(1);
        assert_eq!(diagnostics.hints(1, Time::ZERO), []);
        assert_eq!(diagnostics.hints(2, Time::ZERO), [Hint::NearMiss("\"1\"".into())]);
        diagnostics.forget(3);
        assert!(diagnostics.near_misses.is_empty());
    }

    /// L13: what was seen before a request was accepted does not explain that it got no answer.
    #[test]
    fn l13_only_what_came_since_explains_a_request() {
        let error = RemoteError { code: -1, message: "m".to_owned(), data: None, truncated: false };
        let mut diagnostics = Diagnostics::new("docs".into());
        diagnostics.uncorrelated(Time::from_micros(5), error.clone());
        diagnostics.multi_line(Time::from_micros(6), 3);
        let mut hints = |since| diagnostics.hints(1, Time::from_micros(since));
        assert_eq!(hints(5), [Hint::Uncorrelated(error), Hint::MultiLineJson(3)]);
        assert_eq!(hints(6), [Hint::MultiLineJson(3)]);
        assert_eq!(hints(7), []);
    }
}
