//! The server's process: how it starts, ends, and is ended.

use std::fs::File;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use mio::{Events, Poll, Registry, Token};
use rustix::io::{Errno, dup2};
use sans_mcp_mio::{Call, Cause, Code, Connection, Exit, Output, StartFailure, State, Time};

use crate::support::{
    Host, LIMIT, Scratch, Seen, assert_gone, eventually, first_token, fixture, is_argument_of_a_process,
    is_running, scripted,
};

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
