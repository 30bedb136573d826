//! What is run, and what is shown of it.

use crate::columns::{FLOOR, PUMP};

/// One run of each column, of which one line or more are shown.
pub(crate) struct Workload {
    pub(crate) what: &'static str,
    /// Arguments of the programs, in which `N` stands for `calls`.
    pub(crate) arguments: &'static str,
    pub(crate) calls: usize,
    /// Whether client and server share one core, and the client one thread.
    pub(crate) pinned: bool,
    pub(crate) for_clients_only: bool,
    pub(crate) in_readme: bool,
    pub(crate) lines: &'static [Line],
}

/// A line of the table.
pub(crate) struct Line {
    pub(crate) unit: &'static str,
    pub(crate) shows: Shows,
    pub(crate) in_readme: bool,
}

pub(crate) enum Shows {
    /// Calls a second, as a share of those of this column in the same round.
    Share(usize),
    /// What the program reported.
    Fields(&'static [Field]),
}

/// The name of a number, what it is multiplied with, and how many digits after the point are shown.
pub(crate) type Field = (&'static str, f64, usize);

impl Workload {
    pub(crate) fn name(&self) -> String {
        format!("{}{}", self.what, if self.pinned { ", on one core" } else { "" })
    }
}

/// The workloads of which a name has one of the words, or all if there are none.
pub(crate) fn chosen(words: &[String]) -> Vec<Workload> {
    let all = [true, false].into_iter().flat_map(calls_and_results).chain(rest());
    all.filter(|workload| words.is_empty() || words.iter().any(|word| workload.name().contains(word)))
        .collect()
}

const fn share(of: usize) -> Line {
    let unit = if of == PUMP {
        "calls a second, as a share of the pump"
    } else {
        "calls a second, as a share of the pump floor"
    };
    Line { unit, shows: Shows::Share(of), in_readme: true }
}

const fn more(unit: &'static str, fields: &'static [Field]) -> Line {
    Line { unit, shows: Shows::Fields(fields), in_readme: false }
}

const fn main(unit: &'static str, fields: &'static [Field]) -> Line {
    Line { unit, shows: Shows::Fields(fields), in_readme: true }
}

const PROCESSOR: Line = more("processor time of the client, µs a call", &[("cpu_us_per_op", 1.0, 2)]);
const WRITES: Line = more("writes a call", &[("writes_per_op", 1.0, 3)]);
const READS: Line = more("reads a call", &[("reads_per_op", 1.0, 3)]);
const PEAK: Line = more("peak memory of the client, MiB", &[("maxrss_kb", 1.0 / 1024.0, 1)]);

fn calls_and_results(pinned: bool) -> Vec<Workload> {
    const SMALL: &[Line] = &[share(PUMP), PROCESSOR, WRITES, READS];
    const WINDOW: &[Line] = &[share(PUMP), PROCESSOR, Line { in_readme: true, ..WRITES }, READS];
    const LARGE: &[Line] = &[share(FLOOR), PROCESSOR, PEAK];
    let workload = |what, arguments, calls, lines| Workload {
        what,
        arguments,
        calls,
        pinned,
        for_clients_only: false,
        in_readme: pinned,
        lines,
    };
    vec![
        workload("one call at a time", "seq N", 10_000, SMALL),
        workload("64 calls in flight", "pipe 64 N", 40_000, WINDOW),
        workload("1,024 calls in flight", "pipe 1024 N", 40_000, SMALL),
        workload("10,000 calls in flight", "pipe 10000 N", 40_000, SMALL),
        workload("results of 1 KiB", "blob 1024 N", 10_000, LARGE),
        workload("results of 1 MiB", "blob 1048576 N", 100, LARGE),
        workload("results of 16 MiB", "blob 16777216 N", 8, LARGE),
        workload("results of 64 MiB", "blob 67108864 N", 3, LARGE),
    ]
}

fn rest() -> Vec<Workload> {
    const START: &[Line] = &[main("ms", &[("us_per_op", 1e-3, 2)])];
    const STORM: &[Line] = &[
        Line { in_readme: true, ..PROCESSOR },
        main("calls still open in the server after 0.2 s", &[("left", 1.0, 0)]),
    ];
    const WAITING: &[Line] = &[main("bytes a call", &[("bytes_per_pending", 1.0, 0)])];
    const TAIL: &[Line] =
        &[main("p50 / p95 / p99, µs", &[("p50_us", 1.0, 0), ("p95_us", 1.0, 0), ("p99_us", 1.0, 0)])];
    const IDLE: &[Line] = &[
        main("KiB each", &[("bytes_each", 1.0 / 1024.0, 0)]),
        more("descriptors each", &[("descriptors_each", 1.0, 1)]),
        main("wake-ups of all in 10 s", &[("wakeups", 1.0, 0)]),
    ];
    let workload = |what, arguments, calls, for_clients_only, lines| Workload {
        what,
        arguments,
        calls,
        pinned: false,
        for_clients_only,
        in_readme: true,
        lines,
    };
    vec![
        workload("start, handshake, list and close", "cold N", 30, false, START),
        workload("calls given up, 64 at a time", "cancel N", 10_000, false, STORM),
        workload("10,000 waiting calls", "sleepers N 1000", 10_000, true, WAITING),
        workload("latency at 64 in flight", "latency 64 N nothing", 4_000, true, TAIL),
        workload("latency beside a slow call", "latency 64 N slow", 4_000, true, TAIL),
        workload("latency beside an answer of 8 MiB", "latency 64 N large", 4_000, true, TAIL),
        Workload { in_readme: false, ..workload("1 idle session", "sessions N 10", 1, true, IDLE) },
        Workload { in_readme: false, ..workload("10 idle sessions", "sessions N 10", 10, true, IDLE) },
        Workload { in_readme: false, ..workload("100 idle sessions", "sessions N 10", 100, true, IDLE) },
        workload("1,000 idle sessions", "sessions N 10", 1_000, true, IDLE),
    ]
}
