use std::time::Duration;

use mio::Poll;
use sans_mcp::{State, Timeouts};

use super::*;

fn connection(command: &str, args: &[&str]) -> (Poll, Connection<&'static str>) {
    let poll = Poll::new().expect("a poll");
    let server = Server::new("test", command).args(args.iter().copied());
    let registry = poll.registry().try_clone().expect("a registry");
    let connection = Connection::new(server, registry, Token(0)).expect("valid");
    (poll, connection)
}

#[test]
fn timeout_is_zero_while_work_is_left_and_rounds_up() {
    let (_poll, mut connection) = connection("sleep", &["60"]);
    assert_eq!(connection.timeout(Time::ZERO), None);
    connection.connect(Time::ZERO, "connect").expect("accepted");
    assert_eq!(connection.timeout(Time::ZERO), Some(Duration::ZERO));

    let pumped = connection.pump(Time::ZERO, |_| {});
    let deadline = Time::ZERO + Timeouts::CONNECT;
    assert_eq!((pumped.until, pumped.why), (Some(deadline), Why::Connect));
    assert_eq!(connection.timeout(Time::from_micros(1)), Some(Timeouts::CONNECT));
    let just_before = Time::from_micros(deadline.as_micros() - 1);
    assert_eq!(connection.timeout(just_before), Some(Duration::from_millis(1)));
    assert_eq!(connection.timeout(deadline), Some(Duration::ZERO));
    assert_eq!(connection.timeout(deadline + Duration::from_secs(1)), Some(Duration::ZERO));

    connection.close(just_before);
    assert_eq!(connection.timeout(just_before), Some(Duration::ZERO));
}

#[test]
fn a_pump_without_work_does_nothing() {
    let (_poll, mut connection) = connection("sleep", &["60"]);
    let idle = connection.pump(Time::ZERO, |output| panic!("{output:?}"));
    assert_eq!((idle.until, idle.closed), (None, false));
    connection.connect(Time::ZERO, "connect").expect("accepted");
    let first = connection.pump(Time::ZERO, |_| {});
    assert_eq!(connection.pump(Time::from_micros(5), |output| panic!("{output:?}")), first);
}

#[test]
fn the_end_comes_once_and_ends_all_waiting() {
    let (_poll, mut connection) = connection("no-such-server", &[]);
    connection.connect(Time::ZERO, "connect").expect("accepted");
    let mut ends = 0;
    let pumped = connection.pump(Time::ZERO, |output| ends += u32::from(matches!(output, Output::Closed(_))));
    assert!(pumped.closed);
    assert_eq!(connection.session().state(), State::Closed);

    connection.close(Time::ZERO);
    assert_eq!(connection.connect(Time::ZERO, "again").expect_err("closed").value, "again");
    assert_eq!(connection.timeout(Time::ZERO), None);
    assert!(connection.pump(Time::ZERO, |output| panic!("{output:?}")).closed);
    assert_eq!(ends, 1);
}

#[test]
fn keys_come_back_from_what_is_open() {
    let (_poll, mut connection) = connection("sleep", &["60"]);
    connection.connect(Time::ZERO, "one").expect("accepted");
    connection.connect(Time::ZERO, "two").expect("accepted");
    connection.pump(Time::ZERO, |_| {});
    assert_eq!(connection.into_keys().collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn l19_what_is_over_the_budget_waits_for_the_next_turn() {
    const WAITERS: usize = 10_000;
    let (_poll, mut connection) = connection("sleep", &["60"]);
    for _ in 0..WAITERS {
        connection.connect(Time::ZERO, "waiter").expect("accepted");
    }
    connection.pump(Time::ZERO, |_| {});
    connection.close(Time::ZERO);
    let mut turns = Vec::new();
    while turns.last() != Some(&0) {
        let mut done = 0;
        let pumped =
            connection.pump(Time::ZERO, |output| done += usize::from(matches!(output, Output::Complete(_))));
        assert_eq!(pumped.starved, connection.timeout(Time::ZERO) == Some(Duration::ZERO));
        turns.push(done);
    }
    assert_eq!(turns.iter().sum::<usize>(), WAITERS);
    let most = BUDGET / 64;
    assert!(turns.len() > 3 && turns.iter().all(|done| *done <= most), "{turns:?}");
}
