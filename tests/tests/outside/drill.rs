//! The safety drill: one server that does all of it. It floods standard error, leaves a call unanswered, writes one line
//! without an end, and neither a closed input nor SIGTERM makes it leave.

use std::time::{Duration, Instant};

use sans_mcp::{Call, Code, Exit};

use crate::holdings::{assert_gone, bytes_read, peak};
use crate::host::{Host, assert_over, echo, mode};

/// What the server writes on standard error before it reads anything.
const FLOOD: u64 = 100 << 20;
/// The line limit, and some for how it grows.
const MEMORY: u64 = 32 << 20;
/// How long it takes at most to read what is too much.
const READING: Duration = Duration::from_secs(2);
/// What a busy machine may add to a bound.
const SLACK: Duration = Duration::from_millis(500);

pub(crate) fn run<H: Host>() {
    let mut host = H::new();
    let warm = host.connected(mode("plain"));
    host.leave(warm);
    let (idle, start) = (peak(), Instant::now());

    let server = mode("drill");
    let (limits, timeouts) = (server.settings.limits.clone(), server.settings.timeouts.clone());
    let client = host.connected(server);
    let process = host.process_id(client).expect("it runs");
    println!("flooded and connected after {} ms", start.elapsed().as_millis());

    let (start, before) = (Instant::now(), bytes_read());
    host.call(client, Call::without_arguments("never"), 1);
    host.call(client, echo("unanswered"), 2);
    host.call(client, echo("x"), 3);
    for key in [1, 2, 3] {
        assert_eq!(host.outcome(client, key), Err(Code::TOO_LARGE), "settled");
    }
    let settled = start.elapsed();
    println!("settled after {} ms", settled.as_millis());
    assert!(settled < READING + SLACK, "{settled:?}");
    assert_eq!(host.ask(client, echo("x"), 4), Err(Code::TOO_LARGE), "refused");

    let end = host.end(client);
    let gone = start.elapsed();
    let read = bytes_read() - before;
    println!("killed and reaped after {} ms and {} KiB", gone.as_millis(), read >> 10);
    // The line, what came while it was told to leave, and little else.
    assert!(read <= 2 * (limits.discard as u64) + (1 << 20), "{read} bytes");
    assert!(gone - settled < timeouts.terminate + SLACK, "{gone:?}");
    assert!(gone < timeouts.close_bound() + SLACK, "{gone:?}");
    assert_over(&end);
    assert_eq!((end.cause.code(), end.exit), (Code::TOO_LARGE, Some(Exit::Signal(9))));
    assert_gone(process, "the drill");
    assert_eq!(host.counters(client).stderr_bytes, FLOOD, "flooded");
    assert!(end.stderr.is_truncated() && end.stderr.as_str().len() <= limits.stderr_tail, "truncated");

    let grew = peak() - idle;
    println!("{} KiB above {} KiB", grew >> 10, idle >> 10);
    assert!(grew < MEMORY);
}
