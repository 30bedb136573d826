//! What needs a look inside.

mod bounds;
mod bursts;
mod counts;
mod oddities;

use super::*;
use crate::config::Limits;
use crate::error::Refusal;
use crate::output::Output;
use crate::wire::id;

/// A session whose server is asked for, and said nothing yet.
fn connecting(tune: impl FnOnce(&mut Server)) -> Session<u8> {
    let mut server = Server::new("docs", "docs-server");
    server.settings.list_on_connect = false;
    tune(&mut server);
    let mut session = Session::new(server).unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    session
}

/// A session that is connected to a server of this revision, which offers this.
fn connected_to(revision: &str, capabilities: &str, tune: impl FnOnce(&mut Server)) -> Session<u8> {
    let mut session = connecting(tune);
    drain(&mut session);
    say(
        &mut session,
        &format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"protocolVersion":"{revision}","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ),
    );
    drain(&mut session);
    session
}

/// A session that is connected to a server with tools, none of them listed.
fn ready_with(tune: impl FnOnce(&mut Server)) -> Session<u8> {
    connected_to("2025-11-25", r#"{"tools":{}}"#, tune)
}

fn ready() -> Session<u8> {
    ready_with(|_| {})
}

fn ready_within(limits: Limits) -> Session<u8> {
    ready_with(|server| server.settings.limits = limits)
}

/// One line of the server.
fn say(session: &mut Session<u8>, line: &str) {
    let line = format!("{line}\n");
    assert_eq!(session.handle_stdout(Time::ZERO, line.as_bytes()), line.len());
}

/// Polls until a wait, writing what there is to write, and gives what `pick` takes.
fn picked<R>(session: &mut Session<u8>, mut pick: impl FnMut(&Output<'_, u8>) -> Option<R>) -> Vec<R> {
    let mut picked = Vec::new();
    loop {
        let output = session.poll_output();
        picked.extend(pick(&output));
        match output {
            Output::Spawn => session.handle_spawned(Time::ZERO, 1),
            Output::Write(bytes) => {
                let count = bytes.len();
                session.handle_written(Time::ZERO, count);
            }
            Output::Wait { .. } => return picked,
            _ => {}
        }
    }
}

/// Writes whatever there is to write, and gives it.
fn drain(session: &mut Session<u8>) -> String {
    let written = picked(session, |output| match output {
        Output::Write(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    String::from_utf8(written.concat()).unwrap()
}

#[test]
fn l07_when_ids_run_out_calls_are_refused_and_a_restart_is_asked_for() {
    let mut session = ready();
    session.machine.next_id = LAST_ID;
    assert_eq!(session.ping(Time::ZERO, None, 1).unwrap().number(), LAST_ID);
    for refused in [
        session.ping(Time::ZERO, None, 2),
        session.list_tools(Time::ZERO, 2),
        session.connect(Time::ZERO, 2),
        session.call(Time::ZERO, Call::without_arguments("t"), 2),
    ] {
        let refused = refused.unwrap_err();
        assert_eq!((refused.value, &refused.refusal), (2, &Refusal::IdsExhausted));
        assert!(refused.to_string().contains("start a new session"));
    }
    assert_eq!(drain(&mut session).matches("ping").count(), 1);
}

#[test]
fn l07_what_the_last_accepted_call_needs_still_has_ids_that_every_peer_can_echo() {
    let mut session = ready();
    session.machine.next_id = LAST_ID;
    session.list_tools(Time::ZERO, 1).unwrap();
    let page = format!(r#""id":{}"#, LAST_ID + 1);
    assert!(drain(&mut session).contains(&page));
    const { assert!(LAST_ID + 2 * (1 << 24) <= id::MAX) };
}

/// L10: a session that is dropped gives back what was handed in, and nothing for requests of its own.
#[test]
fn l10_a_dropped_session_gives_back_the_tokens_of_its_callers() {
    let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
    session.connect(Time::ZERO, 1).unwrap();
    session.connect(Time::ZERO, 2).unwrap();
    assert!(drain(&mut session).contains("initialize"));
    assert_eq!(session.into_tokens().collect::<Vec<_>>(), [1, 2]);
}

/// L17: what failed when the input closed is no reason for a shutdown to wait.
#[test]
fn l17_a_shutdown_after_a_closed_input_does_not_wait_for_what_has_failed() {
    let mut session = ready();
    session.handle_written(Time::ZERO, 0);
    session.ping(Time::ZERO, None, 1).unwrap();
    session.handle_stdin_closed(Time::ZERO);
    drain(&mut session);
    session.shutdown(Time::ZERO, Duration::from_secs(60));
    drain(&mut session);
    assert_eq!(session.machine.phase, Phase::Leaving);
}

/// L29: a flood of one kind does not hide the first of another.
#[test]
fn l29_each_kind_of_diagnostic_is_counted_by_itself() {
    let mut session = ready();
    session.handle_stdout(
        Time::ZERO,
        b"noise\nmore noise\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard-of\"}\n",
    );
    let counts = picked(&mut session, |output| match output {
        Output::Diagnostic(diagnostic) => Some(diagnostic.count),
        _ => None,
    });
    assert_eq!(counts, [1, 2, 1]);
}

/// W05, W08: a log line in brackets is no batch.
#[test]
fn w08_only_an_array_of_objects_is_a_batch() {
    let mut session = ready();
    session.handle_stdout(Time::ZERO, b"[INFO] server is up\n[1,2]\n[]\n [ {\"jsonrpc\":\"2.0\"} ]\n");
    drain(&mut session);
    let counters = session.counters();
    assert_eq!((counters.batches, counters.noise_lines), (1, 3));
}

/// W06: a line that the end of output cut off is no broken answer, its call ends with the exit.
#[test]
fn w06_an_answer_that_is_cut_off_is_lost_and_not_malformed() {
    for end in [&b"{"[..], b"\"", b"\"\xff"] {
        let mut session = ready();
        let id = session.ping(Time::ZERO, None, 1).unwrap();
        drain(&mut session);
        let answer = [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).as_bytes(), end].concat();
        assert_eq!(session.handle_stdout(Time::ZERO, &answer), answer.len());
        session.handle_eof(Time::ZERO);
        session.handle_exit(Time::ZERO, Exit::Code(3));
        let failure = loop {
            match session.poll_output() {
                Output::Complete(done) => break done.outcome.unwrap_err(),
                Output::Wait { .. } | Output::Closed(_) => panic!("the call does not end"),
                _ => {}
            }
        };
        assert_eq!((failure.exit(), session.counters().malformed), (Some(Exit::Code(3)), 0), "{failure}");
    }
}

/// L27: a flood of other notifications does not hide that the list has changed.
#[test]
fn l27_a_flood_does_not_hide_that_the_list_has_changed() {
    let mut session = ready();
    session.list_tools(Time::ZERO, 1).unwrap();
    drain(&mut session);
    session.handle_stdout(Time::ZERO, b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"tools\":[]}}\n");
    drain(&mut session);
    assert!(!session.catalog_is_stale());
    let log = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n".repeat(1_000);
    for _ in 0..30 {
        let mut rest = log.as_bytes();
        while !rest.is_empty() {
            let taken = session.handle_stdout(Time::ZERO, rest);
            rest = &rest[taken..];
            drain(&mut session);
        }
    }
    session.handle_stdout(
        Time::ZERO,
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n",
    );
    drain(&mut session);
    assert!(session.catalog_is_stale());
    assert!(session.counters().dropped_notifications > 5_000);
}

#[test]
fn w03_of_a_server_that_leaves_no_more_is_read_than_of_a_line_without_an_end() {
    let mut session = ready();
    session.close(Time::ZERO);
    drain(&mut session);
    let (flood, mut read) = (vec![b'x'; 1 << 20], 0);
    while read < 4 * Limits::DISCARD {
        let taken = session.handle_stdout(Time::ZERO, &flood);
        drain(&mut session);
        read += taken;
        if taken == 0 {
            break;
        }
    }
    assert_eq!(read, Limits::DISCARD);
    assert!(session.read_space().is_empty());
    assert_eq!(session.counters().discarded_bytes, Limits::DISCARD as u64);
}

/// L12, L06: what the session says itself is not for the host to say.
#[test]
fn l12_notifications_of_the_session_itself_are_refused() {
    let mut session = ready();
    for method in ["notifications/cancelled", "notifications/initialized"] {
        let refused = session.notify(Time::ZERO, method, None).unwrap_err();
        assert_eq!(refused, Refusal::ReservedMethod(method));
    }
    assert_eq!(session.counters().refused, 2);
    assert_eq!(drain(&mut session), "");
}

/// L22: the tail is there to be asked for at any time.
#[test]
fn l22_what_stands_on_standard_error_can_be_asked_for() {
    let mut session = ready();
    session.handle_stderr(Time::ZERO, b"one\ntwo\n");
    assert!(session.stderr().to_string().contains("two"), "{}", session.stderr());
}

/// W05: a log line ends what looked like a message over several lines.
#[test]
fn w05_a_message_over_several_lines_ends_at_a_line_of_something_else() {
    for (lines, kinds) in [
        ("{\n\"a\": 1,\n\"b\": 2\nStarting up\n", ["3 lines on its output", "Starting up"]),
        ("{\nStarting up\n", ["{", "Starting up"]),
    ] {
        let mut session = ready();
        session.handle_stdout(Time::ZERO, lines.as_bytes());
        let told = picked(&mut session, |output| match output {
            Output::Diagnostic(diagnostic) => Some(diagnostic.to_string()),
            _ => None,
        });
        assert_eq!(told.len(), 2, "{told:?}");
        for (told, kind) in told.iter().zip(kinds) {
            assert!(told.contains(kind), "{told}");
        }
    }
}

/// W05: as many samples are kept as the limit says.
#[test]
fn w05_no_more_samples_are_kept_than_the_limit_says() {
    let mut session = ready_within(Limits { noise_samples: 3, ..Limits::default() });
    session.handle_stdout(Time::ZERO, b"a\nb\nc\nd\ne\n");
    drain(&mut session);
    assert_eq!(session.noise_samples().iter().map(|line| &**line).collect::<Vec<_>>(), ["a", "b", "c"]);
}
