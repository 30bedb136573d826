//! Times in memory, for work on the core: compare two runs on one quiet machine, and trust `.ci/instructions` before them.
//!
//! ```text
//! cargo bench -p sans-mcp-tests
//! ```

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

use sans_mcp_tests::loopback::{Kind, Loopback, Outcome, answer, around, listing};

fn main() {
    divan::main();
}

/// Calls that are made, written, answered and read, so many at a time.
#[divan::bench(args = [1, 64, 1_024])]
fn generic_calls(bencher: Bencher<'_, '_>, open: u64) {
    calls(bencher, Kind::Generic, open, 0);
}

#[divan::bench(args = [1, 64, 1_024])]
fn tool_calls(bencher: Bencher<'_, '_>, open: u64) {
    calls(bencher, Kind::Tool, open, 0);
}

/// One call at a time beside others that wait.
#[divan::bench(args = [1, 100, 10_000, 100_000])]
fn generic_call_beside(bencher: Bencher<'_, '_>, waiting: u64) {
    calls(bencher, Kind::Generic, 1, waiting);
}

fn calls(bencher: Bencher<'_, '_>, kind: Kind, open: u64, waiting: u64) {
    let mut loopback = None;
    bencher.counter(ItemsCount::new(open)).bench_local(|| -> Outcome {
        let loopback = match &mut loopback {
            Some(loopback) => loopback,
            none => none.insert(connected(kind, waiting)?),
        };
        let last = loopback.call((0..open).map(|_| kind.prepare()))?;
        loopback.write();
        let answers: String = (last + 1 - open..=last).map(answer).collect();
        loopback.read(answers.as_bytes(), usize::MAX)
    });
}

fn connected(kind: Kind, waiting: u64) -> Outcome<Loopback> {
    let mut loopback = Loopback::connect()?;
    for _ in 0..waiting {
        loopback.call([kind.prepare()])?;
        loopback.write();
    }
    Ok(loopback)
}

/// A result of so many bytes, read as much at a time as there is room for.
#[divan::bench(args = [1 << 10, 1 << 20, 16 << 20, 64 << 20])]
fn result(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = "x".repeat(bytes);
    bencher.counter(BytesCount::new(bytes)).with_inputs(Loopback::connect).bench_local_values(|loopback| {
        let mut loopback = loopback?;
        let number = loopback.call([Kind::Tool.prepare()])?;
        loopback.write();
        let [head, tail] = around(number);
        for part in [&head, &text, &tail] {
            loopback.read(part.as_bytes(), usize::MAX)?;
        }
        Outcome::Ok(loopback)
    });
}

/// A server of so many tools is connected to.
#[divan::bench(args = [1, 100, 10_000])]
fn catalog(bencher: Bencher<'_, '_>, tools: usize) {
    let listing = listing(tools);
    bencher.counter(ItemsCount::new(tools)).bench_local(|| Loopback::connect_to(black_box(&listing)));
}
