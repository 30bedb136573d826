//! Servers that leave by themselves, and servers that are found dead (rows L15, L28).

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sans_mcp::{Call, Cause, Code, Delivery, Exit, FailureKind, Server, State};
use serde_json::json;

use super::outcome::Seen;
use super::support::{
    Mark, SLACK, Scratch, assert_closes, assert_idle, call, called, connected, echo, everywhere, fixture,
    is_alive, never, ping, scripted, until, with,
};

/// The server kills itself at the fifth call.
#[test]
fn c117_a_server_that_is_killed_fails_all_calls_at_once_and_is_closed_once() {
    let server = scripted("n=0; while take; do n=$((n+1)); [ $n = 5 ] && kill -9 $$; done");
    everywhere(|kind| {
        let mut host = connected(kind, server.clone());
        let began = Instant::now();
        let calls: Vec<_> = (0..5).map(|_| host.call(Call::without_arguments("t"))).collect();
        for ticket in calls {
            let error = host.wait(ticket).unwrap_err();
            assert_eq!((error.code(), error.exit()), (Code::PROCESS_EXIT, Some(Exit::Signal(9))));
            assert!(error.to_string().contains("server exited (signal 9)"), "{error}");
        }
        assert!(began.elapsed() < Duration::from_millis(200) + SLACK, "{:?}", began.elapsed());
        let later = called(&mut host, Call::without_arguments("t")).unwrap_err();
        assert_eq!((later.code(), later.delivery()), (Code::PROCESS_EXIT, Delivery::NotSent));
        assert_eq!(ping(&mut host).unwrap_err().code(), Code::PROCESS_EXIT);
        let end = host.closed();
        assert_eq!((end.exit, end.gone()), (Some(Exit::Signal(9)), true));
        host.close();
        let seen = host.seen();
        for once in [Seen::State(State::Closing), Seen::State(State::Closed), Seen::Closed] {
            assert_eq!(seen.iter().filter(|seen| **seen == once).count(), 1, "{once:?} in {seen:?}");
        }
    });
}

#[test]
fn l15_an_exit_ends_every_call_at_once_with_code_and_stderr() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&["--stderr-text", "FATAL: out of paper"]));
        let pid = host.process_id().unwrap();
        let mut calls: Vec<_> = (0..4).map(|_| host.call(never())).collect();
        calls.push(host.call(call("exit", json!({ "code": 7 }))));
        let began = Instant::now();
        for ticket in calls {
            let error = host.wait(ticket).unwrap_err();
            assert_eq!((error.code(), error.exit()), (Code::PROCESS_EXIT, Some(Exit::Code(7))));
            assert_eq!(error.delivery(), Delivery::Sent);
            assert!(error.to_string().contains("exit code 7"), "{error}");
            let report = error.failure().report();
            assert!(report.contains("FATAL: out of paper"), "{report}");
        }
        assert!(began.elapsed() < SLACK, "{:?}", began.elapsed());
        let end = host.closed();
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(7)), true));
        assert!(!is_alive(pid));
        assert_idle(&host);
    });
}

/// The server leaves by itself shortly after the handshake; the same command can be started again at once.
#[test]
fn c120_an_exit_is_noticed_without_a_call_and_a_new_start_works() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&["--exit-after-handshake", "1000"]));
        until(&mut host, "the exit", |host| host.state() == State::Closed);
        let end = host.closed();
        assert_eq!((&end.cause, end.gone()), (&Cause::Exited(Exit::Code(0)), true));
        let mut again = connected(kind, fixture(&[]));
        assert_eq!(called(&mut again, echo("healthy")).unwrap().text(), "healthy");
        assert_closes(again);
    });
}

/// A server whose health is looked at every 100 ms, and has so long for an answer.
fn watched(server: Server, answer: Duration) -> Server {
    with(server, |settings| {
        settings.timeouts.health_interval = Some(Duration::from_millis(100));
        settings.timeouts.health = Some(answer);
    })
}

#[test]
fn l28_a_server_that_is_well_is_left_alone() {
    everywhere(|kind| {
        let record = Scratch::new();
        let server = watched(fixture(&["--record", record.path()]), Duration::from_secs(3));
        let mut host = connected(kind, server);
        let open = host.call(never().timeout(None));
        let checks = || record.messages().into_iter().filter(|message| message["method"] == "ping").count();
        until(&mut host, "three checks", |_| checks() >= 3);
        assert_eq!(host.state(), State::Ready);
        host.cancel(open);
        assert_eq!(called(&mut host, echo("well")).unwrap().text(), "well");
        assert_closes(host);
    });
}

#[test]
fn l28_a_server_that_does_not_answer_the_check_is_ended() {
    everywhere(|kind| {
        const ANSWER: Duration = Duration::from_millis(300);
        let (server, mark) = Mark::on(watched(fixture(&[]), ANSWER));
        let mut host = connected(kind, server);
        let open = host.call(never().timeout(None));
        ping(&mut host).unwrap();
        let pid = Pid::from_raw(host.process_id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let began = Instant::now();
        let error = host.wait(open).unwrap_err();
        let took = began.elapsed();
        let cause = Cause::Unhealthy(ANSWER);
        assert_eq!(*error.failure().kind(), FailureKind::Ended(cause.clone()));
        assert!(took < Duration::from_millis(100) + ANSWER + SLACK, "{took:?}");
        assert_eq!(called(&mut host, echo("late")).unwrap_err().code(), Code::UNHEALTHY);
        let end = host.closed();
        assert_eq!((end.cause.clone(), end.exit, end.gone()), (cause, Some(Exit::Signal(9)), true));
        mark.assert_none();
    });
}
