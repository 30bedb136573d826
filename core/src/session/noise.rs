//! Lines that are no message: sampled, counted, and folded where they look like one message over several lines (row W05).

use super::Machine;
use crate::config::Limits;
use crate::error::{Cause, PeerFault};
use crate::output::DiagnosticKind;
use crate::wire::scan::Scanner;

/// A run of lines that look like one broken message is followed this far.
const RUN: usize = 10_000;

#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Noise {
    samples: Vec<Box<str>>,
    limit: usize,
    run: Option<Run>,
}

/// Lines that look like one message, so far.
#[cfg_attr(feature = "explore", derive(Clone))]
struct Run {
    scanner: Scanner,
    lines: usize,
    sample: Box<str>,
}

impl Noise {
    pub(super) fn new(limits: &Limits) -> Noise {
        Noise { samples: Vec::new(), limit: limits.noise_samples, run: None }
    }

    /// The first lines that were no message.
    pub(super) fn samples(&self) -> &[Box<str>] {
        &self.samples
    }
}

impl<T> Machine<T> {
    pub(super) fn on_noise(&mut self, line: &[u8]) {
        self.counters.noise_lines += 1;
        let sample = self.sample(line);
        if self.noise.samples.len() < self.noise.limit {
            self.noise.samples.push(sample.clone());
        }
        if self.server.settings.conduct == crate::config::Conduct::Strict {
            self.fault(Cause::Peer(PeerFault::Noise));
            return;
        }
        if let Some(run) = self.noise.run.as_mut().filter(|_| continues(line)) {
            run.lines += 1;
            run.scanner.feed(line);
            if run.scanner.complete() || run.lines >= RUN {
                self.end_noise();
            }
            return;
        }
        self.end_noise();
        let mut scanner = Scanner::new();
        scanner.feed(line);
        if scanner.started_object() && !scanner.complete() {
            self.noise.run = Some(Run { scanner, lines: 1, sample });
        } else {
            self.diagnose(DiagnosticKind::Noise(sample));
        }
    }

    /// A run of lines is over.
    pub(super) fn end_noise(&mut self) {
        let Some(run) = self.noise.run.take() else { return };
        if run.lines > 1 {
            self.diagnostics.multi_line(self.now, run.lines);
            self.diagnose(DiagnosticKind::MultiLineJson { lines: run.lines, sample: run.sample });
        } else {
            self.diagnose(DiagnosticKind::Noise(run.sample));
        }
    }
}

/// Whether a line can be the continuation of a broken JSON message.
fn continues(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_some_and(|first| b"\"{}[],:-0123456789tfn".contains(first))
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Noise { samples, run } leaves out { limit });

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Run { scanner, lines, sample } leaves out {});
