//! Servers that read slowly, no more, or not at all (row L19).

use std::time::{Duration, Instant};

use sans_mcp::error::HandshakeFault;
use sans_mcp::{Call, Cause, Code, Delivery, FailureKind, Server, Tree};
use serde_json::json;

use super::alone::{alone, path_of};
use super::support::{
    GONE, Mark, SLACK, assert_closes, call, called, close_bound, connected, echo, everywhere, fixture, mode,
    scripted, shell, until,
};
use crate::host::{Host, Kind};

/// The server shakes hands, reads nothing more, and stays.
#[test]
fn l16_c110_a_call_that_is_not_read_fails_on_time_and_says_how_far_it_got() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    everywhere(|kind| {
        let (server, mark) = Mark::on(scripted("exec sleep 60"));
        let mut host = connected(kind, server);
        let value = "x".repeat(2 << 20);
        let big = host.call(call("t", json!({ "value": value })).timeout(Some(TIMEOUT)));
        let began = Instant::now();
        let error = host.wait(big).unwrap_err();
        assert!(began.elapsed() < TIMEOUT + SLACK, "{:?}", began.elapsed());
        assert!(error.failure().elapsed() >= TIMEOUT, "{:?}", error.failure().elapsed());
        assert_eq!((error.code(), error.delivery()), (Code::TIMEOUT, Delivery::Partial));
        // The next one waits behind the half that was written, and never leaves.
        let behind = Call::without_arguments("t").timeout(Some(TIMEOUT / 4));
        let error = called(&mut host, behind).unwrap_err();
        assert_eq!((error.code(), error.delivery()), (Code::TIMEOUT, Delivery::NotSent));
        let began = Instant::now();
        let end = host.close();
        assert!(end.gone() && began.elapsed() < close_bound(), "{end}, {:?}", began.elapsed());
        mark.assert_none();
    });
}

/// As a whole process, whose SIGPIPE has its default action: two hundred servers that close their input at once and exit
/// 300 ms later.
#[test]
fn c115_two_hundred_closed_inputs_are_typed_errors_and_the_host_survives() {
    const HOSTS: usize = 10;
    let path = path_of!(c115_two_hundred_closed_inputs_are_typed_errors_and_the_host_survives);
    let written = alone(path, || {
        // SAFETY: the default action needs no handler, and this process runs one test only.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let (server, mark) = Mark::on(shell("exec <&-; sleep 0.3"));
        everywhere(|kind| {
            std::thread::scope(|scope| {
                for _ in 0..HOSTS {
                    scope.spawn(|| (0..200 / HOSTS).for_each(|_| meets_a_closed_input(kind, server.clone())));
                }
            });
            mark.assert_none();
        });
        println!("all ended");
    });
    let Some(written) = written else { return };
    assert!(written.contains("all ended") && !written.contains("nhandled"), "{written}");
}

/// What is given up while nothing can be written is gone at once, and what is left goes with the client.
#[test]
fn l19_a_blocked_stdin_holds_up_neither_a_cancel_nor_a_drop() {
    everywhere(|kind| {
        let (server, mark) = Mark::on(mode("stop-reading"));
        let mut host = connected(kind, server);
        let first = host.call(echo("stop").timeout(None));
        let big = echo(&"x".repeat(16 << 10)).timeout(None);
        let mut calls: Vec<_> = (0..100).map(|_| host.call(big.clone())).collect();
        until(&mut host, "the pipe is full", |host| host.counters().queued_bytes < 100 * (16 << 10));
        let queued = host.counters().queued_bytes;
        assert!(queued > 50 * (16 << 10), "{queued} bytes wait");
        host.cancel(calls.pop().unwrap());
        let counters = host.counters();
        assert_eq!((counters.cancelled, counters.pending), (1, 100));
        assert!(counters.queued_bytes + (16 << 10) <= queued, "{counters:?}");
        calls.drain(50..).for_each(|ticket| host.cancel(ticket));
        assert_eq!((host.counters().cancelled, host.counters().pending), (50, 51));
        let began = Instant::now();
        drop((first, calls));
        let _lives_on = host.abandon();
        mark.assert_gone(began, GONE);
    });
}

fn meets_a_closed_input(kind: Kind, server: Server) {
    let mut host = Host::new(kind, server, &[]).unwrap();
    let error = host.connect().unwrap_err();
    let FailureKind::Ended(cause) = error.failure().kind() else { panic!("not an end: {error}") };
    let typed = matches!(cause, Cause::Handshake(HandshakeFault::InputClosed) | Cause::ExitedInHandshake(_));
    assert!(typed, "{cause}");
    // Many at once may take all the time that there is for finding out what is left; that none is, is seen from outside.
    assert!(!matches!(host.closed().tree, Tree::Alive(_)));
}

#[test]
fn l19_a_stdin_that_the_server_closed_is_told_apart() {
    everywhere(|kind| {
        let mut server = fixture(&["--close-stdin-early"]);
        // The list would be sent before the input is closed, and never come.
        server.settings.list_on_connect = false;
        server.settings.timeouts.call = Some(Duration::from_millis(50));
        let mut host = connected(kind, server);
        let began = Instant::now();
        let error = loop {
            let ping = host.ping();
            match host.wait(ping).unwrap_err() {
                // It was written before the server had closed its input.
                error if error.code() == Code::TIMEOUT => {
                    assert!(began.elapsed() < super::support::LIMIT, "{error}");
                }
                error => break error,
            }
        };
        assert_eq!((error.code(), error.delivery()), (Code::STDIN_CLOSED, Delivery::NotSent));
        assert_closes(host);
    });
}

#[test]
fn l19_writing_goes_on_once_the_server_reads_again() {
    everywhere(|kind| {
        let mut host = connected(kind, mode("late"));
        let first = host.call(echo("first"));
        let value = "x".repeat(16 << 10);
        let calls: Vec<_> = (0..40).map(|_| host.call(echo(&value))).collect();
        host.turn(Duration::from_millis(50));
        assert!(host.counters().queued_bytes > 0, "the pipe is full");
        assert_eq!(host.wait(first).unwrap().text(), "first");
        for ticket in calls {
            assert_eq!(host.wait(ticket).unwrap().text(), value);
        }
        assert_closes(host);
    });
}
