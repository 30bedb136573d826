//! Servers that misbehave in one way each, as the fixture's modes: the precise outcome, well before any deadline where it is
//! known earlier, and nothing left.

use std::time::{Duration, Instant};

use sans_mcp::error::PeerFault;
use sans_mcp::{Cause, Code, Delivery, Exit, FailureKind, IdMatching, Limits, Server, Timeouts};
use serde_json::json;

use super::outcome::Outcome;
use super::support::{
    GONE, Mark, SLACK, assert_idle, call, called, close_bound, connected, echo, everywhere, fixture,
    is_alive, mode, never, ping, with,
};
use crate::host::{Host, Kind};

const GREETING: &str = "héllo 漢字 €😀 end";
/// The deadline of calls here; what is known earlier must be told earlier.
const DEADLINE: Duration = Duration::from_millis(1_000);

const OK: &str = "ok";
const INVALID: &str = Code::INVALID_RESPONSE.as_str();
const TIMEOUT: &str = Code::TIMEOUT.as_str();
const EXIT: &str = Code::PROCESS_EXIT.as_str();
const TOO_LARGE: &str = Code::TOO_LARGE.as_str();

/// How a call ended, in one word.
fn told(outcome: &Outcome, wanted: &str) -> String {
    match outcome {
        Ok(answer) if answer.text() == wanted => OK.to_owned(),
        Ok(answer) => format!("another text: {:.200}", answer.text()),
        Err(error) => error.code().to_string(),
    }
}

/// Makes one call, and compares how it ended and whether it ended in time.
fn one_call(host: &mut Host, mode: &str, value: &str, expected: &str) {
    let _ = outcome(host, mode, value, expected);
}

/// The same, for who wants to know more than how it ended.
fn outcome(host: &mut Host, mode: &str, value: &str, expected: &str) -> Outcome {
    let began = Instant::now();
    let outcome = called(host, echo(value).timeout(Some(DEADLINE)));
    let took = began.elapsed();
    assert_eq!(told(&outcome, value), expected, "{mode}, {value}: {outcome:?}");
    if expected == TIMEOUT {
        assert!(took >= DEADLINE && took < DEADLINE + SLACK, "{mode}, {value}: {took:?}");
    } else {
        assert!(took < DEADLINE, "{mode}, {value}: {took:?}");
    }
    outcome
}

/// Closes within the bound, and sees from outside that nothing is left.
fn close(mut host: Host, mode: &str, mark: &Mark) {
    let began = Instant::now();
    let end = host.close();
    assert!(began.elapsed() < close_bound(), "{mode}: the close took {:?}", began.elapsed());
    assert!(end.gone(), "{mode}: {end}");
    mark.assert_gone(Instant::now(), GONE);
    assert_idle(&host);
}

/// Connects to a server, makes two calls one after another whatever becomes of the first, and closes.
fn two_calls(kind: Kind, server: Server, first: &str, second: &str) {
    let [_, _] = outcomes(kind, server, first, second);
}

/// The same, for who wants to know more than how they ended.
fn outcomes(kind: Kind, server: Server, first: &str, second: &str) -> [Outcome; 2] {
    let mode = server.args.join(" ");
    let (server, mark) = Mark::on(server);
    let mut host = connected(kind, server);
    let first = outcome(&mut host, &mode, GREETING, first);
    let second = outcome(&mut host, &mode, "second", second);
    close(host, &mode, &mark);
    [first, second]
}

#[test]
fn s02_every_mode_has_a_test() {
    let source = [include_str!("hostile.rs"), include_str!("../outside/drill.rs")].concat();
    for mode in sans_mcp_fixtures::mode_names() {
        assert!(source.contains(&format!("\"{mode}\"")), "no test mentions {mode}");
    }
}

#[test]
fn w05_what_is_no_message_is_passed_over() {
    everywhere(|kind| {
        for name in ["plain", "log-line", "non-object", "dribble2", "deep"] {
            two_calls(kind, mode(name), OK, OK);
        }
    });
}

#[test]
fn l13_answers_that_name_no_call_or_name_it_twice_change_nothing() {
    everywhere(|kind| {
        for name in ["dup-id", "id-unknown", "huge-id"] {
            two_calls(kind, mode(name), OK, OK);
        }
    });
}

#[test]
fn w06_answers_that_are_none_fail_their_call_at_once() {
    everywhere(|kind| {
        for (name, problem) in [
            ("both", "both a result and an error"),
            ("neither", "neither a result nor an error"),
            ("bad-utf8", "not UTF-8"),
        ] {
            let [first, _] = outcomes(kind, mode(name), INVALID, OK);
            let error = first.unwrap_err();
            assert!(error.to_string().contains(problem), "{name}: {error}");
            assert_eq!(error.delivery(), Delivery::Sent);
        }
    });
}

#[test]
fn l07_a_string_for_a_number_is_named_in_the_timeout_and_taken_on_request() {
    everywhere(|kind| {
        for outcome in outcomes(kind, mode("id-string"), TIMEOUT, TIMEOUT) {
            let error = outcome.unwrap_err();
            let id = error.failure().id();
            let near_miss = format!("an answer came with id \"{id}\", which is not the id that was sent");
            assert!(error.to_string().contains(&near_miss), "{error}");
        }
        let lenient = with(mode("id-string"), |settings| settings.id_matching = IdMatching::Decimal);
        two_calls(kind, lenient, OK, OK);
    });
}

#[test]
fn l15_exits_and_lost_outputs_are_told_at_once() {
    everywhere(|kind| {
        for name in ["half-exit", "grandchild-exit"] {
            let [first, _] = outcomes(kind, mode(name), EXIT, EXIT);
            assert_eq!(first.unwrap_err().exit(), Some(Exit::Code(0)), "{name}");
        }
        let [first, _] = outcomes(kind, mode("close-stdout"), EXIT, EXIT);
        assert_eq!(*first.unwrap_err().failure().kind(), FailureKind::Ended(Cause::OutputEnded));
    });
}

#[test]
fn l15_every_open_call_has_the_code_of_the_exit() {
    everywhere(|kind| {
        let (server, mark) = Mark::on(mode("exit3"));
        let mut host = connected(kind, server);
        let pid = host.process_id().unwrap();
        let began = Instant::now();
        let calls: Vec<_> = (0..5).map(|_| host.call(echo("x").timeout(Some(3 * DEADLINE)))).collect();
        for ticket in calls {
            let error = host.wait(ticket).unwrap_err();
            assert_eq!((error.code(), error.exit()), (Code::PROCESS_EXIT, Some(Exit::Code(3))));
            assert_eq!(error.delivery(), Delivery::Sent);
            assert!(error.to_string().contains("exit code 3"), "{error}");
        }
        assert!(began.elapsed() < DEADLINE, "{:?}", began.elapsed());
        let end = host.closed();
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(3)), true));
        assert!(!is_alive(pid));
        mark.assert_none();
    });
}

#[test]
fn l11_silence_is_a_timeout_and_a_late_answer_harms_nobody() {
    everywhere(|kind| {
        two_calls(kind, mode("never"), TIMEOUT, TIMEOUT);
        two_calls(kind, mode("late"), TIMEOUT, OK);
        two_calls(kind, mode("dribble1-nonl"), TIMEOUT, TIMEOUT);
    });
}

#[test]
fn w02_a_line_without_an_end_ends_the_session_and_later_calls_have_its_name() {
    everywhere(|kind| {
        let (server, mark) = Mark::on(mode("flood-nonl"));
        let mut host = connected(kind, server);
        let unanswered = host.call(never());
        let endless = echo(GREETING).timeout(Some(Duration::from_secs(50)));
        let error = called(&mut host, endless).unwrap_err();
        let limit = Limits::DISCARD;
        let ended = FailureKind::Ended(Cause::Peer(PeerFault::EndlessLine { limit }));
        assert_eq!(*error.failure().kind(), ended);
        assert_eq!(*host.wait(unanswered).unwrap_err().failure().kind(), ended);
        let later = called(&mut host, echo("second")).unwrap_err();
        assert_eq!((later.code().as_str(), later.delivery()), (TOO_LARGE, Delivery::NotSent));
        assert_eq!(ping(&mut host).unwrap_err().code().as_str(), TOO_LARGE);
        let end = host.closed();
        assert!(end.gone() && end.cause.code().as_str() == TOO_LARGE, "{end}");
        mark.assert_none();
        let discarded = host.counters().discarded_bytes;
        assert!(discarded >= limit as u64, "{discarded}");
    });
}

#[test]
fn l19_floods_hold_up_nothing() {
    everywhere(|kind| {
        for name in ["srv-req-flood", "notif-flood", "stderr-flood"] {
            let (server, mark) = Mark::on(fixture(&["--mode", name, "--lifetime", "300"]));
            let mut host = connected(kind, server);
            for value in [GREETING, "second"] {
                let outcome = called(&mut host, echo(value).timeout(None));
                assert_eq!(told(&outcome, value), OK, "{name}");
            }
            let counters = host.counters();
            match name {
                "srv-req-flood" => assert_eq!(counters.pings, 100_000),
                "notif-flood" => {
                    assert_eq!(counters.notifications + counters.dropped_notifications, 1_000_000);
                    assert!(counters.dropped_notifications > 0, "{counters:?}");
                }
                _ => {
                    let whole = 100 << 20;
                    super::support::until(&mut host, "all of it", |host| {
                        host.counters().stderr_bytes == whole
                    });
                    assert!(host.stderr().as_str().len() <= Limits::STDERR_TAIL);
                }
            }
            close(host, name, &mark);
        }
    });
}

#[test]
fn l17_who_ignores_the_end_of_input_and_sigterm_is_killed_within_the_bound() {
    everywhere(|kind| {
        let (server, mark) = Mark::on(mode("stubborn"));
        let mut host = connected(kind, server);
        one_call(&mut host, "stubborn", GREETING, OK);
        let began = Instant::now();
        let end = host.close();
        let took = began.elapsed();
        let ladder = Timeouts::END_OF_INPUT + Timeouts::TERMINATE;
        assert!(took >= ladder && took < close_bound(), "{took:?}");
        assert_eq!((end.exit, end.gone()), (Some(Exit::Signal(9)), true));
        mark.assert_none();
    });
}

#[test]
fn l17_a_close_ends_grandchildren_in_the_group_and_out_of_it() {
    everywhere(|kind| {
        for name in ["grandchild-close", "grandchild-escape"] {
            let (server, mark) = Mark::on(mode(name));
            let mut host = connected(kind, server);
            assert_eq!(mark.processes().len(), 2, "{name}");
            one_call(&mut host, name, GREETING, OK);
            close(host, name, &mark);
        }
    });
}

/// The modes `drop` and `drop-stubborn` of a comparison: a drop without a close, after one call and with one open.
#[test]
fn l18_a_drop_leaves_nothing_half_a_second_later() {
    everywhere(|kind| {
        for name in ["plain", "stubborn", "never", "grandchild-close", "grandchild-escape"] {
            let (server, mark) = Mark::on(mode(name));
            let mut host = connected(kind, server);
            let open = host.call(never());
            if name != "never" {
                one_call(&mut host, name, "x", OK);
            }
            let pid = host.process_id().unwrap();
            drop(open);
            let began = Instant::now();
            let _lives_on = host.abandon();
            mark.assert_gone(began, GONE);
            assert!(!is_alive(pid), "{name}: not reaped");
        }
    });
}

#[test]
fn l06_a_server_that_never_answers_the_handshake_meets_the_connect_timeout() {
    everywhere(|kind| {
        let server = with(mode("init-never"), |settings| settings.timeouts.connect = Some(DEADLINE));
        let (server, mark) = Mark::on(server);
        let mut host = Host::new(kind, server, &[]).unwrap();
        let began = Instant::now();
        let error = host.connect().unwrap_err();
        let took = began.elapsed();
        assert_eq!(*error.failure().kind(), FailureKind::Ended(Cause::ConnectTimeout(DEADLINE)));
        assert!(took >= DEADLINE && took < DEADLINE + SLACK, "{took:?}");
        mark.assert_none();
        assert_eq!(called(&mut host, echo("x")).unwrap_err().code(), Code::CONNECT_TIMEOUT);
    });
}

/// Calls are refused as busy or time out, none of them late, and the close keeps its bound.
#[test]
fn l19_a_server_that_stops_reading_holds_up_neither_deadlines_nor_the_close() {
    everywhere(|kind| {
        // So small that a slow machine fills it before the first call expires.
        let server = with(mode("stop-reading"), |settings| {
            settings.limits.parameters = 1 << 20;
            settings.limits.send_queue = 1 << 20;
        });
        let (server, mark) = Mark::on(server);
        let mut host = connected(kind, server);
        let big = echo(&"b".repeat(16 << 10)).timeout(Some(DEADLINE));
        let began = Instant::now();
        let calls: Vec<_> = (0..200).map(|_| host.call(big.clone())).collect();
        let handed_in = began.elapsed();
        let mut busy = 0;
        for ticket in calls {
            let error = host.wait(ticket).unwrap_err();
            match error.code() {
                Code::BUSY => busy += 1,
                Code::TIMEOUT => {
                    let elapsed = error.failure().elapsed();
                    assert!(elapsed >= DEADLINE && elapsed < handed_in + DEADLINE + SLACK, "{elapsed:?}");
                }
                other => panic!("{other}: {error}"),
            }
        }
        let took = began.elapsed();
        assert!(took < handed_in + DEADLINE + SLACK, "{took:?}, handed in within {handed_in:?}");
        assert!(busy > 100, "the queue has no bound: {busy} refused");
        assert_idle(&host);
        close(host, "stop-reading", &mark);
    });
}

#[test]
fn l19_a_server_that_closes_its_input_early_fails_what_is_not_sent() {
    everywhere(|kind| {
        let (server, mark) = Mark::on(mode("close-stdin-early"));
        let mut host = connected(kind, server);
        one_call(&mut host, "close-stdin-early", GREETING, OK);
        let error = outcome(&mut host, "close-stdin-early", "second", Code::STDIN_CLOSED.as_str());
        assert_eq!(error.unwrap_err().delivery(), Delivery::NotSent);
        close(host, "close-stdin-early", &mark);
    });
}

/// What a grandchild still holds open does not hide what the leader wrote before it left.
#[test]
fn l15_answers_that_were_written_before_an_exit_arrive() {
    everywhere(|kind| {
        let mut host = connected(kind, mode("grandchild-close"));
        let answers: Vec<_> = (0..50).map(|_| host.call(call("blob", json!({ "bytes": 10_000 })))).collect();
        let exit = host.call(call("exit", json!({ "code": 9 })));
        for ticket in answers {
            assert_eq!(host.wait(ticket).unwrap().text().len(), 10_000);
        }
        assert_eq!(host.wait(exit).unwrap_err().exit(), Some(Exit::Code(9)));
        assert!(host.closed().gone());
    });
}
