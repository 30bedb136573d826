//! Servers that do not read (row L19).

use std::time::{Duration, Instant};

use sans_mcp_mio::{Call, Code, Delivery, Refusal, Settings};

use crate::support::{Host, Seen, echo, fixture};

/// A call that takes a quarter of a pipe.
fn big(timeout: Duration) -> Call {
    Call::new("echo", format!(r#"{{"value":"{}"}}"#, "x".repeat(16 << 10))).timeout(Some(timeout))
}

#[test]
fn l19_a_blocked_stdin_stops_neither_deadlines_nor_cancels_nor_close() {
    const CALLS: u32 = 200;
    let timeout = Duration::from_millis(500);
    let mut host = Host::connected(fixture(&["--mode", "stop-reading"]));
    host.call(0, echo("stop").timeout(None), 1000);
    host.turn(Duration::from_millis(100));
    for key in 0..CALLS {
        host.call(0, big(timeout), key);
    }
    host.pump();
    let counters = host.connections[0].session().counters();
    assert!(counters.queued_bytes > 150 * (16 << 10), "{counters:?}");

    let now = host.now();
    let last = host.connections[0].call(now, big(timeout), CALLS).expect("accepted");
    assert!(host.connections[0].cancel(now, last, "enough"));
    let failure = host.outcome(CALLS).expect_err("cancelled");
    assert_eq!((failure.code(), failure.delivery()), (Code::ABORTED, Delivery::NotSent));

    let mut unsent = 0;
    for key in 0..CALLS {
        let failure = host.outcome(key).expect_err("nobody reads");
        assert_eq!(failure.code(), Code::TIMEOUT);
        assert!(failure.elapsed() >= timeout && failure.elapsed() < timeout * 4, "{:?}", failure.elapsed());
        unsent += u32::from(failure.delivery() == Delivery::NotSent);
    }
    assert!(unsent > 190, "{unsent}");

    let start = Instant::now();
    assert!(host.close(0).gone());
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(host.outcome(1000).expect_err("closed").code(), Code::CLOSED);
}

#[test]
fn l19_reading_goes_on_while_nothing_can_be_written() {
    let mut host = Host::connected(fixture(&["--mode", "srv-req-flood"]));
    host.call(0, echo("after the pings"), 1);
    assert_eq!(host.outcome(1).expect("answered"), "after the pings");
    assert_eq!(host.connections[0].session().counters().pings, 100_000);
    assert!(host.close(0).gone());
}

#[test]
fn a_write_goes_on_once_the_server_reads_again() {
    const CALLS: u32 = 40;
    let mut host = Host::connected(fixture(&["--mode", "late"]));
    host.call(0, echo("first"), 1000);
    for key in 0..CALLS {
        host.call(0, big(Duration::from_secs(20)), key);
    }
    host.turn(Duration::from_millis(10));
    assert!(host.connections[0].session().counters().queued_bytes > 0, "the pipe is full");
    assert_eq!(host.outcome(1000).expect("answered"), "first");
    for key in 0..CALLS {
        assert_eq!(host.outcome(key).expect("answered").len(), 16 << 10);
    }
    assert!(host.seen.iter().all(|(_, seen)| !matches!(seen, Seen::Oddity)));
}

#[test]
fn a_stdin_that_the_server_closed_is_told_apart() {
    let mut settings = Settings::default();
    settings.list_on_connect = false; // the list would be sent before the input is closed, and never come
    let mut host = Host::connected(fixture(&["--close-stdin-early"]).settings(settings));
    let code = loop {
        let now = host.now();
        match host.connections[0].ping(now, Some(Duration::from_millis(50)), 1) {
            Ok(_) => match host.outcome(1).expect_err("nobody reads").code() {
                Code::TIMEOUT => {} // it was written before the server had closed its input
                code => break code,
            },
            Err(refused) => break refused.refusal.code(),
        }
    };
    assert_eq!(code, Code::STDIN_CLOSED);
    let now = host.now();
    let refused = host.connections[0].ping(now, None, 2).expect_err("no input");
    assert_eq!((refused.value, refused.refusal), (2, Refusal::StdinClosed));
    assert!(host.close(0).gone());
}
