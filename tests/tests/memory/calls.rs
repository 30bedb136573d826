use sans_mcp_tests::loopback::{Kind, Loopback, Prepared, answer, around};

use crate::bounds;
use crate::counting::count;

/// What is open at a time, and how often; the first times are for buffers to grow to what they need.
const OPEN: u64 = 64;
const WARM_UP: u64 = 32;
const TIMES: u64 = 64;

fn prepared(kind: Kind, n: u64) -> Vec<Prepared> {
    (0..n).map(|_| kind.prepare()).collect()
}

/// Allocations for each call: until it is written, and from reading its answer on.
fn allocations(kind: Kind) -> [f64; 2] {
    let mut loopback = Loopback::connect().unwrap();
    let mut allocations = [0, 0];
    for time in 0..WARM_UP + TIMES {
        let calls = prepared(kind, OPEN);
        let (calling, last) = count(|| {
            let last = loopback.call(calls).unwrap();
            loopback.write();
            last
        });
        let answers: String = (last + 1 - OPEN..=last).map(answer).collect();
        let (reading, ()) = count(|| loopback.read(answers.as_bytes(), usize::MAX).unwrap());
        if time >= WARM_UP {
            allocations = [allocations[0] + calling.allocations, allocations[1] + reading.allocations];
        }
    }
    assert_eq!(loopback.answered().unwrap() as u64, 1 + OPEN * (WARM_UP + TIMES));
    allocations.map(|allocations| allocations as f64 / (OPEN * TIMES) as f64)
}

fn at_most(what: &str, counted: f64, bound: f64) {
    println!("{what}: {counted:.2}, at most {bound}");
    assert!(counted <= bound, "{what}: {counted:.2}, which is more than {bound}");
}

#[test]
fn a_generic_call_allocates_little_and_reading_its_answer_nothing() {
    let [calling, reading] = allocations(Kind::Generic);
    at_most("allocations for a generic call", calling, bounds::GENERIC_CALL);
    at_most("allocations for an answer", reading, bounds::ANSWER);
}

#[test]
fn a_call_of_a_tool_allocates_little() {
    let [calling, reading] = allocations(Kind::Tool);
    at_most("allocations for a call of a tool", calling, bounds::TOOL_CALL);
    at_most("allocations for an answer of which the text is read", reading, bounds::TOOL_ANSWER);
}

#[test]
fn a_waiting_call_holds_little_and_an_answered_one_nothing() {
    for (kind, bound) in [(Kind::Generic, bounds::WAITING_REQUEST), (Kind::Tool, bounds::WAITING_CALL)] {
        let waiting = 160 * OPEN;
        let mut loopback = Loopback::connect().unwrap();
        let call_all = |loopback: &mut Loopback| {
            let mut last = 0;
            for _ in 0..waiting / OPEN {
                last = loopback.call((0..OPEN).map(|_| kind.prepare())).unwrap();
                loopback.write();
            }
            last
        };
        let (held, last) = count(|| call_all(&mut loopback));
        at_most(&format!("bytes of a waiting {kind:?} call"), held.bytes as f64 / waiting as f64, bound);
        let answers: String = (last + 1 - waiting..=last).map(answer).collect();
        let (freed, ()) = count(|| loopback.read(answers.as_bytes(), usize::MAX).unwrap());
        at_most(
            &format!("bytes kept after so many {kind:?} calls"),
            (held.bytes + freed.bytes) as f64,
            bounds::AFTER_MANY_CALLS,
        );
    }
}

#[test]
fn an_idle_session_holds_little() {
    let (count, loopback) = count(|| Loopback::connect().unwrap());
    at_most("bytes of an idle session", count.bytes as f64, bounds::IDLE_SESSION);
    drop(loopback);
}

#[test]
fn a_large_result_leaves_no_large_buffer_behind() {
    let text = "x".repeat(8 << 20);
    let mut loopback = Loopback::connect().unwrap();
    let (count, ()) = count(|| {
        let number = loopback.call([Kind::Tool.prepare()]).unwrap();
        loopback.write();
        let [head, tail] = around(number);
        for part in [&head, &text, &tail] {
            loopback.read(part.as_bytes(), usize::MAX).unwrap();
        }
    });
    assert_eq!(loopback.answered().unwrap(), 2);
    at_most("bytes kept after a result of 8 MiB", count.bytes as f64, bounds::AFTER_A_LARGE_RESULT);
}
