//! The server's process: how it starts, ends, and is ended.

use std::fs::File;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Registry, Token};
use rustix::io::{Errno, dup2};
use sans_mcp_mio::{
    Call, Cause, Code, Connection, Delivery, Exit, Output, Server, Settings, StartFailure, State, Time,
};

use crate::support::{
    Host, LIMIT, Scratch, Seen, assert_gone, echo, eventually, first_token, fixture,
    is_argument_of_a_process, is_running, scripted,
};

/// Gives a server 100 ms for each step of leaving.
fn hurried(server: Server) -> Server {
    let mut settings = Settings::default();
    settings.timeouts.end_of_input = Duration::from_millis(100);
    settings.timeouts.terminate = Duration::from_millis(100);
    server.settings(settings)
}

#[test]
fn l15_an_exit_fails_what_is_open_with_code_and_stderr() {
    let mut host = Host::connected(fixture(&["--stderr-text", "disk on fire"]));
    let start = Instant::now();
    host.call(0, Call::without_arguments("never"), 1);
    host.call(0, Call::new("exit", r#"{"code":7}"#), 2);
    for key in [1, 2] {
        let failure = host.outcome(key).expect_err("the server is gone");
        assert_eq!((failure.code(), failure.delivery()), (Code::PROCESS_EXIT, Delivery::Sent));
        assert_eq!(failure.exit(), Some(Exit::Code(7)));
        assert_eq!(failure.stderr().to_string().trim_end(), "disk on fire");
    }
    let end = host.end(0);
    assert_eq!((&end.cause, end.gone()), (&Cause::Exited(Exit::Code(7)), true));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn l15_answers_that_were_written_before_an_exit_arrive() {
    let mut host = Host::connected(fixture(&["--mode", "exit3"]));
    for key in 1..=4 {
        host.call(0, Call::without_arguments("stats"), key);
    }
    for key in 11..=15 {
        host.call(0, echo("x"), key); // the fifth ends the server
    }
    for key in 1..=4 {
        assert!(host.outcome(key).expect("answered").contains("\"calls\":"));
    }
    for key in 11..=15 {
        assert_eq!(host.outcome(key).expect_err("the server is gone").exit(), Some(Exit::Code(3)));
    }
}

#[test]
fn l15_what_was_written_before_an_exit_is_read_before_it_whatever_is_reported_first() {
    let mut host =
        Host::connected(scripted(r#"answer '{"content":[],"structuredContent":{"n":7}}'; exit 5"#));
    let pid = host.connections[0].process_id().expect("it runs");
    host.call(0, Call::without_arguments("count"), 1);
    host.pump();
    eventually("the exit", || !is_running(pid));
    let mut events = Events::with_capacity(8);
    host.poll.poll(&mut events, Some(LIMIT)).expect("a working poll");
    host.seen.clear();
    let exit = Token(first_token(0).0 + 3);
    let exit = events.iter().find(|event| event.token() == exit).expect("it is reported");
    assert!(host.connections[0].handle_event(exit));
    host.pump();
    let answered = host.seen.iter().position(|(_, seen)| matches!(seen, Seen::Done(1, Ok(_))));
    let closing = host.seen.iter().position(|(_, seen)| matches!(seen, Seen::State(State::Closing)));
    assert!(answered.is_some() && answered < closing, "{:?}", host.seen);
    assert_eq!(host.end(0).exit, Some(Exit::Code(5)));
}

#[test]
fn l15_an_end_of_output_that_was_reported_with_the_last_answer_is_noticed() {
    let mut host = Host::connected(scripted(
        r#"answer '{"content":[],"structuredContent":{"n":7}}'; exec >&-; read -r never; read -r never"#,
    ));
    let pid = host.connections[0].process_id().expect("it runs");
    host.call(0, Call::without_arguments("count"), 1);
    host.pump();
    eventually("the end of output", || !Path::new(&format!("/proc/{pid}/fd/1")).exists());
    assert_eq!(host.outcome(1).expect("answered"), r#"{"content":[],"structuredContent":{"n":7}}"#);
    assert_eq!(host.end(0).cause, Cause::OutputEnded);
}

#[test]
fn l18_an_exit_is_noticed_while_a_grandchild_holds_the_pipes_and_the_grandchild_is_killed() {
    let pids = Scratch::new();
    let mut host = Host::connected(fixture(&["--mode", "grandchild-exit", "--pids", pids.path()]));
    let grandchild = pids.pids()[1];
    assert!(is_running(grandchild));
    let start = Instant::now();
    host.call(0, echo("x"), 1);
    assert_eq!(host.outcome(1).expect_err("the server is gone").exit(), Some(Exit::Code(0)));
    assert!(host.end(0).gone());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_gone(grandchild);
}

#[test]
fn l17_a_server_that_will_not_leave_is_killed_with_its_group() {
    let pids = Scratch::new();
    let stubborn = fixture(&["--mode", "stubborn", "--pids", pids.path()]);
    let mut host = Host::connected(hurried(stubborn));
    let start = Instant::now();
    let end = host.close(0);
    assert_eq!((end.exit, end.gone()), (Some(Exit::Signal(9)), true));
    let elapsed = start.elapsed();
    let bound = host.connections[0].session().server().settings.timeouts.close_bound();
    assert!(elapsed >= Duration::from_millis(200) && elapsed < bound, "{elapsed:?}");
    assert_gone(pids.pids()[0]);
}

#[test]
fn l18_drop_leaves_no_process() {
    for mode in ["plain", "stubborn", "grandchild-close"] {
        let pids = Scratch::new();
        let host = Host::connected(fixture(&["--mode", mode, "--pids", pids.path()]));
        let pids = pids.pids();
        assert!(pids.iter().all(|pid| is_running(*pid)), "{mode}");
        let start = Instant::now();
        drop(host);
        assert!(start.elapsed() < Duration::from_secs(1), "{mode}: {:?}", start.elapsed());
        pids.into_iter().for_each(assert_gone);
    }
}

#[test]
fn l18_a_connection_may_outlive_its_poll() {
    let mut host = Host::connected(fixture(&["--mode", "stubborn"]));
    let connection = host.connections.remove(0);
    let pid = connection.process_id().expect("it runs");
    drop(host);
    assert!(is_running(pid));
    drop(connection);
    assert_gone(pid);
}

#[test]
fn l18_a_drop_between_spawn_and_handshake_leaves_no_process() {
    let mut host = Host::new([fixture(&["--start-delay", "10000"])]);
    host.connections[0].connect(Time::ZERO, 1).expect("accepted");
    host.pump();
    let pid = host.connections[0].process_id().expect("it was started");
    assert_eq!(host.connections.remove(0).into_keys().collect::<Vec<_>>(), [1]);
    assert_gone(pid);
}

#[test]
fn l06_a_server_that_cannot_be_started_is_told_apart() {
    let mut host = Host::new([Server::new("docs", "no-such-server")]);
    host.connections[0].connect(Time::ZERO, 1).expect("accepted");
    assert_eq!(host.outcome(1).expect_err("not started").code(), Code::NOT_FOUND);
    let end = host.end(0);
    assert_eq!((end.exit, end.gone()), (None, true));
}

/// A clone of the poll's registry that cannot register anything: its descriptor is of another kind.
fn broken_registry(poll: &Poll) -> Registry {
    let registry = poll.registry().try_clone().expect("a registry");
    let file = File::open("/dev/null").expect("it is there");
    // SAFETY: the descriptor is open and stays the registry's, since the borrowed owner is forgotten below.
    let mut descriptor = unsafe { OwnedFd::from_raw_fd(registry.as_raw_fd()) };
    let replaced = dup2(&file, &mut descriptor);
    mem::forget(descriptor);
    replaced.expect("both are open");
    registry
}

#[test]
fn l06_a_process_that_cannot_be_registered_is_a_start_failure_and_is_gone() {
    let poll = Poll::new().expect("a poll");
    let mark = Scratch::new();
    let server = fixture(&["--mode", "stubborn", "--record", mark.path()]);
    let mut connection = Connection::new(server, broken_registry(&poll), Token(0)).expect("valid");
    connection.connect(Time::ZERO, 1).expect("accepted");
    let mut ends = Vec::new();
    connection.pump(Time::ZERO, |output| {
        if let Output::Closed(end) = output {
            ends.push((end.cause.clone(), end.gone()));
        }
    });
    assert!(!is_argument_of_a_process(mark.path()));
    let [(Cause::Start { failure, .. }, true)] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(*failure, StartFailure::NoResources { errno: Errno::INVAL.raw_os_error() });
    assert_eq!(connection.process_id(), None);
}

#[test]
fn closing_before_the_process_runs_starts_none() {
    let mut host = Host::new([fixture(&[])]);
    host.connections[0].connect(Time::ZERO, 1).expect("accepted");
    let end = host.close(0);
    assert_eq!(host.outcome(1).expect_err("closed").code(), Code::CLOSED);
    assert!(end.gone());
    let started = host.seen.iter().any(|(_, seen)| matches!(seen, Seen::State(State::Ready)));
    assert!(!started);
}
