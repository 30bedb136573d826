//! Closing, step by step (row L17).

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sans_mcp::{Call, Code, Delivery, Exit, Server, State, Timeouts};
use serde_json::json;

use super::outcome::Seen;
use super::support::{
    Mark, SLACK, Scratch, assert_closes, call, called, close_bound, connected, echo, everywhere, fixture,
    never, scripted, until, with,
};
use crate::host::Host;

const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

/// A server that leaves with 0 at the end of its input, and with 99 at SIGTERM.
fn polite() -> Server {
    scripted(&format!("trap 'exit 99' TERM; while take; do answer '{OK}'; done; exit 0"))
}

/// A server that has only so much time for each step of leaving.
fn hurried(server: Server, step: Duration) -> Server {
    with(server, |settings| {
        settings.timeouts.end_of_input = step;
        settings.timeouts.terminate = step;
    })
}

#[test]
fn c121_the_server_sees_the_end_of_its_input_before_sigterm() {
    const STEP: Duration = Duration::from_millis(600);
    everywhere(|kind| {
        let order = Scratch::new();
        let file = order.path();
        let ignores = format!(
            "trap 'echo TERM >> {file}; exit 7' TERM; while take; do answer '{OK}'; done; \
             echo EOF >> {file}; while :; do sleep 0.02; done"
        );
        let (server, mark) = Mark::on(hurried(scripted(&ignores), STEP));
        let mut host = connected(kind, server);
        assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
        let began = Instant::now();
        let end = host.close();
        let took = began.elapsed();
        assert!(took >= STEP && took < STEP + SLACK, "{took:?}");
        assert_eq!(order.read(), "EOF\nTERM\n");
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(7)), true));
        mark.assert_none();
    });
}

/// The server ignores both and goes on writing; in a second run it is stopped, so that it cannot even do that.
#[test]
fn c122_a_server_that_ignores_everything_is_killed_after_the_second_step() {
    const STEP: Duration = Duration::from_millis(500);
    everywhere(|kind| {
        for stopped in [false, true] {
            let (server, mark) = Mark::on(hurried(fixture(&["--ignore-eof", "--ignore-sigterm"]), STEP));
            let mut host = connected(kind, server);
            let arguments = json!({ "method": "notifications/tools/list_changed", "count": 1_000_000_000 });
            let flood = host.call(call("notify", arguments).timeout(None));
            until(&mut host, "the flood", |host| host.counters().notifications > 1_000);
            if stopped {
                let pid = Pid::from_raw(host.process_id().unwrap().cast_signed()).unwrap();
                kill_process(pid, Signal::STOP).unwrap();
            }
            let began = Instant::now();
            let end = host.close();
            let took = began.elapsed();
            assert!(took >= 2 * STEP && took < 2 * (STEP + SLACK), "{took:?}");
            assert_eq!((end.exit, end.gone()), (Some(Exit::Signal(9)), true));
            mark.assert_none();
            assert_eq!(host.wait(flood).unwrap_err().code(), Code::CLOSED);
            let warnings = host.seen().iter().filter(|seen| matches!(seen, Seen::Diagnostic(_))).count();
            assert!(warnings < 100, "{warnings} warnings");
        }
    });
}

#[test]
fn c123_a_server_that_leaves_at_the_end_of_its_input_gets_no_signal() {
    everywhere(|kind| {
        let mut host = connected(kind, polite());
        assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
        let pending = host.request("no/answer");
        let began = Instant::now();
        let end = host.close();
        assert!(began.elapsed() < SLACK, "{:?}", began.elapsed());
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(0)), true));
        drop(pending);
    });
}

#[test]
fn l17_a_shutdown_sends_no_signal_to_a_server_that_leaves_by_itself() {
    everywhere(|kind| {
        let mut host = connected(kind, polite());
        let accepted = host.call(Call::without_arguments("t"));
        let began = Instant::now();
        host.begin_shutdown(Duration::from_secs(5));
        let refused = called(&mut host, Call::without_arguments("t")).unwrap_err();
        assert_eq!((refused.code(), refused.delivery()), (Code::CLOSED, Delivery::NotSent));
        assert_eq!(host.wait(accepted).unwrap().text(), "ok");
        let end = host.closed();
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(0)), true));
        assert!(began.elapsed() < SLACK, "it ends when the last call has: {:?}", began.elapsed());
    });
}

#[test]
fn l17_a_shutdown_lets_accepted_calls_finish_for_as_long_as_its_grace() {
    const GRACE: Duration = Duration::from_secs(2);
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let last = host.call(call("echo", json!({ "value": "last", "delay": 200 })));
        let endless = host.call(never());
        let began = Instant::now();
        host.begin_shutdown(GRACE);
        assert_eq!(host.wait(last).unwrap().text(), "last");
        let error = host.wait(endless).unwrap_err();
        let took = began.elapsed();
        assert_eq!(error.code(), Code::CLOSED);
        assert!(took >= GRACE && took < GRACE + SLACK, "{took:?}");
        assert_eq!(host.closed().exit, Some(Exit::Code(0)));
    });
}

#[test]
fn l17_a_close_cuts_a_shutdown_short() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let endless = host.call(never());
        host.begin_shutdown(Duration::from_secs(60));
        host.turn(Duration::from_millis(50));
        assert_eq!(host.state(), State::Draining);
        let began = Instant::now();
        assert!(host.close().gone());
        assert!(began.elapsed() < close_bound(), "{:?}", began.elapsed());
        assert_eq!(host.wait(endless).unwrap_err().code(), Code::CLOSED);
    });
}

/// A server that says nothing while it is connected to, and one that leaves a call open: closed three times at once, and
/// again when it is over.
#[test]
fn c125_many_closes_are_one() {
    everywhere(|kind| {
        for silent in [true, false] {
            let order = Scratch::new();
            let file = order.path();
            let ends = format!("while take; do :; done; echo EOF >> {file}");
            let server = if silent {
                super::support::shell(&ends.replace("take", "read -r line"))
            } else {
                scripted(&ends)
            };
            let (server, mark) = Mark::on(server);
            let mut host = Host::new(kind, server, &[]).unwrap();
            let connecting = [(); 2].map(|()| host.begin_connect());
            if silent {
                until(&mut host, "the process", |host| host.process_id().is_some());
            } else {
                host.connect().unwrap();
            }
            let call = host.call(Call::without_arguments("t"));
            let began = Instant::now();
            (0..3).for_each(|_| host.begin_close());
            let end = host.closed();
            assert!(began.elapsed() < close_bound(), "{:?}", began.elapsed());
            let again = host.close();
            assert_eq!((&end.cause, end.exit, end.gone()), (&again.cause, again.exit, true));
            for ticket in connecting {
                match host.wait(ticket) {
                    Err(error) => assert!(silent && error.code() == Code::CLOSED, "{error}"),
                    Ok(_) => assert!(!silent),
                }
            }
            let error = host.wait(call).unwrap_err();
            assert_eq!(error.code(), if silent { Code::NOT_READY } else { Code::CLOSED });
            assert_eq!(host.connect().unwrap_err().code(), Code::CLOSED);
            assert_eq!(order.read(), "EOF\n");
            mark.assert_none();
            let seen = host.seen();
            for once in [Seen::State(State::Closing), Seen::State(State::Closed), Seen::Closed] {
                assert_eq!(seen.iter().filter(|seen| **seen == once).count(), 1, "{once:?} in {seen:?}");
            }
        }
    });
}

#[test]
fn l17_closing_what_was_never_started_is_over_at_once() {
    everywhere(|kind| {
        let mut host = Host::new(kind, fixture(&[]), &[]).unwrap();
        let end = host.close();
        assert_eq!((end.exit, end.gone()), (None, true));
        assert_eq!(host.connect().unwrap_err().code(), Code::CLOSED);
    });
}

/// L32: what is told of a session from its beginning to its end.
#[test]
fn l32_the_states_of_a_life_come_in_order() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        called(&mut host, echo("x")).unwrap();
        host.close();
        let states = [State::Connecting, State::Ready, State::Closing, State::Closed].map(Seen::State);
        assert_eq!(host.seen(), [&states[..], &[Seen::Closed]].concat());
    });
}

#[test]
fn l17_the_bound_of_a_close_is_the_sum_of_its_steps() {
    let timeouts = Timeouts::default();
    let sum = Timeouts::LOSS + timeouts.end_of_input + timeouts.terminate + Timeouts::REAP;
    assert_eq!((timeouts.close_bound(), sum), (sum, Duration::from_millis(5_100)));
    everywhere(|kind| drop(assert_closes(connected(kind, fixture(&[])))));
}
