//! Each field that is in the digest changes it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::config::{Server, StderrMode};
use crate::digest::Place;
use crate::output::Output;
use crate::{Call, Settings, Time};

const NOW: Time = Time::from_micros(5_000);

fn session(line: usize) -> Session<u64> {
    let mut settings = Settings::default();
    settings.capabilities.roots = true;
    settings.limits.line = line;
    settings.timeouts.health_interval = Some(Duration::from_secs(10));
    let server = Server::new("digested", "digested")
        .settings(settings)
        .secret("TOKEN", crate::Secret::new("secret"))
        .secret("LONGER", crate::Secret::new("secretive"))
        .stderr(StderrMode::Events);
    Session::new(server).unwrap()
}

/// Reads all that is there.
fn read(session: &mut Session<u64>) {
    while session.read_message() {}
}

/// Polls until nothing is left, and writes `most` bytes of each offer.
fn drain(session: &mut Session<u64>, most: usize) {
    loop {
        let written = match session.poll_output() {
            Output::Wait { .. } | Output::Closed(_) => return,
            Output::Write(bytes) => bytes.len().min(most),
            Output::Spawn => {
                session.handle_spawned(NOW, 1);
                continue;
            }
            _ => continue,
        };
        session.handle_written(NOW, written);
    }
}

fn say(session: &mut Session<u64>, line: &str) {
    read(session);
    let line = format!("{line}\n");
    assert_eq!(session.handle_stdout(NOW, line.as_bytes()), line.len());
}

fn answer(session: &mut Session<u64>, id: u64, result: &str) {
    say(session, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    drain(session, usize::MAX);
}

/// Connected, with one tool listed.
fn connected() -> Session<u64> {
    connected_with(1 << 10)
}

fn connected_with(line: usize) -> Session<u64> {
    let mut session = session(line);
    session.connect(NOW, 1).unwrap();
    drain(&mut session, usize::MAX);
    answer(
        &mut session,
        2,
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"","version":""}}"#,
    );
    answer(&mut session, 3, r#"{"tools":[{"name":"a","inputSchema":{}},{"name":"b"}]}"#);
    session
}

/// Sessions that have something in every field between them.
fn sessions() -> Vec<Session<u64>> {
    let mut half_written = connected();
    half_written.call(NOW, Call::new("a", "{}").progress().reset_on_progress(), 2).unwrap();
    half_written.call(NOW, Call::new("a", "{}"), 3).unwrap();
    let _ = half_written.poll_output();
    half_written.handle_written(NOW, 5);
    half_written.call(NOW, Call::new("a", "{}"), 4).unwrap();
    half_written.notify(NOW, "notifications/x", None).unwrap();
    say(&mut half_written, r#"{"jsonrpc":"2.0","id":"4.0","result":{}}"#);
    say(&mut half_written, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    say(&mut half_written, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    half_written.handle_stderr(NOW, b"words, and the beginning of a secr");
    drain(&mut half_written, 0);

    let mut cancelled = half_written.clone();
    cancelled.handle_writable(NOW);
    drain(&mut cancelled, usize::MAX);
    say(&mut cancelled, r#"{"jsonrpc":"2.0","id":"4","result":{}}"#);
    say(&mut cancelled, r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#);
    say(&mut cancelled, "{\n\"a\":\n\"b\"");
    drain(&mut cancelled, usize::MAX);
    let handle = cancelled.call(NOW, Call::new("a", "{}"), 5).unwrap();
    drain(&mut cancelled, usize::MAX);
    cancelled.cancel(NOW, handle, "");
    cancelled.call(NOW, Call::new("stale", "{}"), 6).unwrap();
    let _ = cancelled.poll_output();

    let mut walking = cancelled.clone();
    drain(&mut walking, usize::MAX);
    let page = walking.machine.next_id - 1;
    answer(&mut walking, page, r#"{"tools":[{"name":"a","inputSchema":{}},{"name":"b"}],"nextCursor":"c"}"#);
    say(&mut walking, &"long".repeat(300));
    walking.handle_stdout(NOW, b"{\"id\":4,");
    let _ = walking.poll_output();

    let mut renamed = connected();
    say(&mut renamed, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    drain(&mut renamed, usize::MAX);
    renamed.call(NOW, Call::new("c", "{}"), 7).unwrap();
    drain(&mut renamed, usize::MAX);
    let page = renamed.machine.next_id - 1;
    say(
        &mut renamed,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{page},"result":{{"tools":[{{"name":"c","inputSchema":{{}}}}]}}}}"#
        ),
    );
    read(&mut renamed);
    assert!(renamed.machine.tools.is_resuming());
    let resuming = renamed.clone();
    drain(&mut renamed, usize::MAX);

    let mut oversized = connected();
    oversized.handle_stdout(NOW, &[b'{'; 1_100]);
    drain(&mut oversized, usize::MAX);
    let mut large = oversized.clone();
    oversized.handle_stdout(NOW, br#""result":"#);
    large.handle_stdout(NOW, br#""id": 7"#);

    let mut dying = connected();
    dying.ping(NOW, None, 8).unwrap();
    dying.handle_exit(NOW, Exit::Code(3));
    dying.handle_eof(NOW);
    for _ in 0..9 {
        let _ = dying.poll_output();
    }
    assert_eq!(dying.machine.phase, Phase::Reaping);
    let mut probing = dying.clone();
    drain(&mut probing, usize::MAX);
    probing.handle_reaped(NOW, Exit::Code(3));
    drain(&mut probing, usize::MAX);
    probing.handle_tree(NOW, Tree::Unknown);

    let mut unpolled = connected();
    unpolled.ping(NOW, None, 9).unwrap();
    let _ = unpolled.poll_output();
    unpolled.handle_written(NOW, 3);
    unpolled.handle_written(NOW, 0);
    say(&mut unpolled, r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    say(&mut unpolled, r#"{"jsonrpc":"2.0","id":"r","method":"roots/list","params":{}}"#);
    unpolled.handle_stderr(NOW, b"secret");
    unpolled.handle_stderr(NOW, b" of many words, secret");
    unpolled.read_message();
    unpolled.read_message();
    unpolled.close(NOW);

    let mut repeated = connected();
    repeated.list_tools(NOW, 10).unwrap();
    for more in [0, 1] {
        drain(&mut repeated, usize::MAX);
        let page = 4 + more + 1;
        answer(&mut repeated, page, r#"{"tools":[],"nextCursor":"c"}"#);
    }
    assert!(repeated.machine.tools.catalog.incomplete().is_some());

    let mut long = connected_with(1 << 20);
    long.handle_stdout(NOW, &[b'x'; 64 << 10]);
    drain(&mut long, usize::MAX);
    let mut answered = connected();
    answered.handle_stdout(NOW, format!(r#"{{"id":7,"result":"{}"#, "x".repeat(1_100)).as_bytes());
    drain(&mut answered, usize::MAX);

    let mut closed = session(1 << 10);
    closed.close(NOW);
    drain(&mut closed, usize::MAX);
    vec![
        half_written,
        cancelled,
        walking,
        renamed,
        resuming,
        oversized,
        large,
        dying,
        probing,
        unpolled,
        repeated,
        long,
        answered,
        closed,
    ]
}

#[test]
fn every_field_of_the_digest_changes_it() {
    let (mut named, mut altered) = (BTreeSet::new(), BTreeSet::new());
    for (which, session) in sessions().into_iter().enumerate() {
        let digest = session.digest();
        assert_eq!(digest, session.clone().digest(), "a clone is the same");
        named.extend(session.canonical().fields);
        for number in 0.. {
            let mut other = session.clone();
            let mut place = Place::new(number);
            other.alter(&mut place);
            let Some(within) = place.altered else { break };
            assert_ne!(other.digest(), digest, "session {which}: {within:?} makes no difference");
            altered.extend(within);
        }
    }
    let either: Vec<_> = named.symmetric_difference(&altered).collect();
    assert!(either.is_empty(), "not named and altered: {either:?}");
}

#[test]
fn the_words_of_a_failure_and_the_definition_of_a_tool_are_in_the_digest() {
    let failed = |reason| {
        let mut session = connected();
        let handle = session.call(NOW, Call::new("a", "{}"), 2).unwrap();
        session.cancel(NOW, handle, reason);
        session.digest()
    };
    assert_eq!(failed("late"), failed("late"));
    assert_ne!(failed("late"), failed("lost"));
    let listed = |description| {
        let mut session = connected();
        session.list_tools(NOW, 2).unwrap();
        drain(&mut session, usize::MAX);
        let tool = format!(r#"{{"name":"a","inputSchema":{{}},"description":"{description}"}}"#);
        let page = session.machine.next_id - 1;
        answer(&mut session, page, &format!(r#"{{"tools":[{tool}]}}"#));
        let first = session.machine.tools.catalog.tools().next().unwrap();
        assert_eq!(first.description(), Some(description));
        session.digest()
    };
    assert_eq!(listed("one"), listed("one"));
    assert_ne!(listed("one"), listed("two"));
}

#[test]
fn times_count_from_now_and_counters_do_not_count() {
    let mut early = connected();
    let mut late = connected();
    late.machine.counters.late += 1;
    assert_eq!(early.digest(), late.digest());
    early.ping(NOW, Some(Duration::from_secs(1)), 2).unwrap();
    late.ping(NOW, Some(Duration::from_secs(2)), 2).unwrap();
    assert_ne!(early.digest(), late.digest());
}

#[test]
fn what_failures_report_is_never_stale() {
    for mut session in sessions() {
        let known = session.machine.circumstances();
        assert!(!session.machine.circumstances_are_stale());
        session.machine.exit = Some(Exit::Code(77));
        assert!(session.machine.circumstances_are_stale(), "{known:?}");
    }
}

#[test]
fn whatever_a_failure_reports_makes_it_stale() {
    let changes: [fn(&mut Session<u64>); 4] = [
        |session| session.machine.exit = Some(Exit::Code(77)),
        |session| session.machine.peer = None,
        |session| session.machine.busy_with = State::Closed,
        |session| session.machine.stderr.push(b"newer\n"),
    ];
    for change in changes {
        let mut session = connected();
        session.machine.circumstances();
        assert!(!session.machine.circumstances_are_stale());
        change(&mut session);
        assert!(session.machine.circumstances_are_stale());
    }
}
