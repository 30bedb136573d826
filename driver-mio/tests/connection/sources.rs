//! Events: foreign, spurious, one at a time, and too many.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Token};
use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::fcntl_getpipe_size;
use sans_mcp_mio::{Call, Code, Connection, State};

use crate::support::{Host, LIMIT, Seen, echo, eventually, first_token, fixture, scripted, slow_echo};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn foreign_events_change_nothing() {
    let mut host = Host::new([fixture(&[]), fixture(&[])]);
    host.connect(0);
    host.connect(1);
    host.pump();
    let waits = |host: &Host, index: usize| host.connections[index].timeout(host.now());
    assert_eq!(waits(&host, 0), None);

    host.call(1, echo("x"), 1);
    host.pump();
    let mut events = Events::with_capacity(8);
    host.poll.poll(&mut events, Some(LIMIT)).expect("a working poll");
    let of_the_second = |event: &&Event| event.token() >= first_token(1);
    let answer = events.iter().find(of_the_second).expect("an answer");
    assert!(!host.connections[0].handle_event(answer));
    assert_eq!(waits(&host, 0), None);
    assert!(host.connections[1].handle_event(answer));
    assert_eq!(waits(&host, 1), Some(Duration::ZERO));
    assert_eq!(host.outcome_of(1, 1).expect("answered"), "x");
}

#[test]
fn the_switch_leaves_the_pipe_of_the_output_as_it_is() {
    let mut host = Host::new([fixture(&[])]);
    let connection = host.connections.remove(0).keep_pipe_size();
    host.connections.insert(0, connection);
    host.connect(0);
    let long = "x".repeat(200_000);
    assert_eq!(host.text("echo", &format!(r#"{{"value":"{long}"}}"#)), long);
    let process = host.connections[0].process_id().expect("it runs");
    let stdout = open(format!("/proc/{process}/fd/1"), OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
    assert_eq!(fcntl_getpipe_size(stdout.expect("it is open")), Ok(64 << 10));
    assert!(host.close(0).gone());
}

/// Pipes that the poll watches under the tokens of the first connection.
struct FalseSources(Vec<(PipeReader, PipeWriter)>);

impl FalseSources {
    fn new(host: &Host) -> FalseSources {
        let source = |offset| {
            let (reader, writer) = pipe().expect("a pipe");
            let token = Token(first_token(0).0 + offset);
            let mut source = SourceFd(&reader.as_raw_fd());
            host.poll.registry().register(&mut source, token, Interest::READABLE).expect("registered");
            (reader, writer)
        };
        FalseSources((0..Connection::<u32>::TOKENS).map(source).collect())
    }

    /// Makes the poll report all of them.
    fn stir(&mut self) {
        for (_, writer) in &mut self.0 {
            writer.write_all(b"x").expect("room");
        }
    }
}

#[test]
fn spurious_events_are_harmless_at_any_time() {
    let mut host = Host::new([fixture(&[])]);
    let mut sources = FalseSources::new(&host);
    sources.stir();
    host.turn(SECOND);
    assert_eq!(host.foreign, 0);

    host.connect(0);
    for round in 0..50_u32 {
        sources.stir();
        host.call(0, slow_echo(&round.to_string(), round % 3), round);
        host.turn(SECOND);
    }
    for round in 0..50 {
        assert_eq!(host.outcome(round).expect("answered"), round.to_string());
    }
    assert!(host.close(0).gone());
    sources.stir();
    host.turn(SECOND);
    let now = host.now();
    assert_eq!(
        host.connections[0].timeout(now),
        None,
        "a closed connection has no work, whatever is reported"
    );
}

#[test]
fn one_event_at_a_time_is_enough() {
    let mut host = Host::with_capacity(1, [fixture(&[]), fixture(&["--stderr-bytes", "200000"])]);
    host.connect(0);
    host.connect(1);
    for key in 0..20 {
        host.call(0, slow_echo("a", key % 3), key);
        host.call(1, Call::new("blob", r#"{"bytes":200000}"#), key);
    }
    for key in 0..20 {
        assert_eq!(host.outcome_of(0, key).expect("answered"), "a");
        assert_eq!(host.outcome_of(1, key).expect("answered").len(), 200_000);
    }
    host.call(1, Call::new("exit", r#"{"code":9}"#), 99);
    assert!(host.outcome_of(1, 99).is_err());
    assert!(host.end(1).gone());
    assert!(host.close(0).gone());
}

#[test]
fn l19_a_server_that_floods_does_not_starve_the_others() {
    let mut host = Host::new([fixture(&[]), fixture(&[])]);
    host.connect(0);
    host.connect(1);
    let flood = r#"{"method":"notifications/tools/list_changed","count":200000}"#;
    host.call(1, Call::new("notify", flood), 1);
    let mut answered = 0;
    host.call(0, echo("x"), 0);
    let flooded = loop {
        host.turn(SECOND);
        let mut flooded = None;
        for (index, seen) in std::mem::take(&mut host.seen) {
            match (index, seen) {
                (0, Seen::Done(..)) => {
                    answered += 1;
                    host.call(0, echo("x"), 0);
                }
                (1, Seen::Done(_, outcome)) => flooded = Some(outcome),
                _ => {}
            }
        }
        if let Some(outcome) = flooded {
            break outcome;
        }
    };
    assert_eq!(flooded.expect("answered"), "200000 sent");
    assert!(answered > 0, "{answered} calls of the other server were answered meanwhile");
}

#[test]
fn l19_what_a_turn_leaves_in_a_pipe_is_read_in_the_next_one() {
    const WAITERS: u32 = 4050; // nearly a whole budget
    let mut host = Host::connected(scripted(
        "read -r go; head -c 60000 /dev/zero | tr '\\0' x; exec >&-; read -r never; read -r never",
    ));
    let pid = host.connections[0].process_id().expect("it runs");
    let now = host.now();
    host.connections[0].ping(now, None, WAITERS).expect("accepted");
    host.pump();
    eventually("the end of output", || !Path::new(&format!("/proc/{pid}/fd/1")).exists());

    let mut events = Events::with_capacity(8);
    host.poll.poll(&mut events, Some(LIMIT)).expect("a working poll");
    let docs = &mut host.connections[0];
    events.iter().for_each(|event| assert!(docs.handle_event(event)));
    (0..WAITERS).for_each(|key| assert!(docs.connect(now, key).is_ok()));
    let pumped = docs.pump(now, |_| {});
    assert!(pumped.starved, "{pumped:?}");
    assert_eq!(docs.session().state(), State::Ready, "the end is still in the pipe");
    assert_eq!(docs.timeout(now), Some(Duration::ZERO));
    assert_eq!(host.outcome(WAITERS).expect_err("no answer").code(), Code::PROCESS_EXIT);
}
