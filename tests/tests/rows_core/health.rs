//! Row L28: the health check.

use sans_mcp::{Cause, Code, Refusal, Settings, Time};
use sans_mcp_tests::runner::Runner;
use sans_mcp_tests::scripted::Scripted;

use crate::support::{call, connected, connected_to, ms, server};

fn checked(settings: &mut Settings) {
    settings.timeouts.health_interval = Some(ms(1_000));
    settings.timeouts.health = Some(ms(200));
    settings.timeouts.call = None;
}

#[test]
fn l28_an_idle_server_is_not_pinged_unless_that_is_asked_for() {
    let mut runner = connected(Scripted::on(|_, _| false));
    runner.run_for(ms(600_000));
    assert_eq!(runner.sent("ping"), 0);
}

#[test]
fn l28_a_server_that_answers_is_pinged_at_intervals_and_stays() {
    let mut runner = connected_to(server(checked), Scripted::on(|_, _| false));
    runner.run_for(ms(5_500));
    assert_eq!(runner.sent("ping"), 5);
    assert!(!runner.is_closed());
}

#[test]
fn l28_a_server_that_does_not_answer_is_unhealthy_refused_and_closed() {
    let mut runner = connected_to(
        server(checked),
        Scripted::on(|said, _| said.method == "ping" || said.method == "tools/call"),
    );
    let waiting = runner.call(call("{}")).unwrap();
    runner.run_until(|runner| runner.outcome(waiting).is_some());
    let done = runner.done(waiting).unwrap();
    assert_eq!(done.outcome.code(), Some(Code::UNHEALTHY));
    assert_eq!(done.at, Time::ZERO + ms(1_200));
    assert!(matches!(runner.call(call("{}")), Err(Refusal::Closed(Code::UNHEALTHY))));
    runner.run_until(Runner::is_closed);
    assert_eq!(runner.closed().cause, Cause::Unhealthy(ms(200)));
    assert!(runner.closed().gone());
}

#[test]
fn l28_a_session_that_drains_is_not_asked_any_more() {
    let mut runner = connected_to(server(checked), Scripted::silent());
    runner.call(call("{}")).unwrap();
    runner.run_for(ms(500));
    runner.shutdown(ms(3_000));
    runner.run_for(ms(2_500));
    assert_eq!((runner.sent("ping"), runner.is_closed()), (0, false));
}
