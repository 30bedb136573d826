//! What happens exactly at a bound, and just beyond it.

use super::*;
use crate::config::Secret;
use crate::error::{Cause, FailureKind, HandshakeFault, InvalidResponse};
use crate::output::{DiagnosticKind, Why};
use crate::{PeerReply, Signalled, StderrMode};

const SECOND: Duration = Duration::from_secs(1);

fn at(time: Duration) -> Time {
    Time::ZERO + time
}

/// Connected to a server of these capabilities.
fn offering(capabilities: &str) -> Session<u8> {
    connected_to("2025-11-25", capabilities, |_| {})
}

/// Connected to one that offers nothing.
fn plain(tune: impl FnOnce(&mut Server)) -> Session<u8> {
    connected_to("2025-11-25", "{}", tune)
}

/// Until when there is nothing to do, all having been written.
fn waits_until(session: &mut Session<u8>) -> Option<Time> {
    let waits = picked(session, |output| match output {
        Output::Wait { until, .. } => Some(*until),
        _ => None,
    });
    waits.into_iter().next().flatten()
}

/// W03: short lines are read in turns too, and none of them waits for something else to happen.
#[test]
fn w03_lines_that_mean_nothing_are_read_in_turns_to_the_last() {
    let mut session = ready();
    let lines = "x\n".repeat(30_000);
    assert_eq!(session.handle_stdout(Time::ZERO, lines.as_bytes()), lines.len());
    while session.counters().noise_lines < 8_192 {
        assert!(!matches!(session.poll_output(), Output::Wait { .. }));
    }
    assert_eq!(waits_until(&mut session), Some(Time::from_micros(1)));
    assert!(session.counters().noise_lines < 30_000);
    assert_eq!(waits_until(&mut session), None);
    assert_eq!(session.counters().noise_lines, 30_000);
}

/// L28: the check is sent when the interval is over, no later.
#[test]
fn l28_a_check_is_sent_at_the_end_of_its_interval() {
    let mut session = plain(|server| server.settings.timeouts.health_interval = Some(SECOND));
    assert_eq!(waits_until(&mut session), Some(at(SECOND)));
    session.handle_timeout(Time::from_micros(999_999));
    assert_eq!(drain(&mut session), "");
    session.handle_timeout(at(SECOND));
    assert!(drain(&mut session).contains("ping"));
}

/// L06, L16: a server that has read the whole handshake may close its input and still answer.
#[test]
fn l06_an_input_that_closes_behind_the_handshake_takes_no_time_from_it() {
    for written in [true, false] {
        let mut session = connecting(|server| server.settings.timeouts.connect = Some(SECOND * 10));
        if written {
            drain(&mut session);
        } else {
            assert!(matches!(session.poll_output(), Output::State(_)));
            assert!(matches!(session.poll_output(), Output::Spawn));
            session.handle_spawned(Time::ZERO, 1);
        }
        session.handle_stdin_closed(Time::ZERO);
        let patience = if written { SECOND * 10 } else { SECOND };
        assert_eq!(waits_until(&mut session), Some(at(patience)), "{written}");
    }
}

/// L26: an id of the server is repeated if it has at most 1,024 bytes.
#[test]
fn l26_an_id_that_is_too_long_to_repeat_is_told_and_not_answered() {
    for (length, answered) in [(1_024, true), (1_025, false), (4_000, false)] {
        let mut session = ready();
        let id = "i".repeat(length - 2);
        say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#));
        let mut told = 0;
        loop {
            match session.poll_output() {
                Output::Write(bytes) => {
                    assert!(answered && std::str::from_utf8(bytes).unwrap().contains(&id));
                    let count = bytes.len();
                    session.handle_written(Time::ZERO, count);
                }
                Output::Diagnostic(told_of) => {
                    assert!(matches!(told_of.kind, DiagnosticKind::BadRequest(_)));
                    told += 1;
                }
                Output::Wait { .. } => break,
                _ => {}
            }
        }
        assert_eq!((session.counters().pings, told), if answered { (1, 0) } else { (0, 1) }, "{length}");
    }
}

/// L26: every answer that is refused is counted, and the request can still be answered.
#[test]
fn l26_refused_answers_are_counted_and_the_request_stays_open() {
    let mut session = plain(|server| server.settings.capabilities.roots = true);
    say(&mut session, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    let Output::Request(request) = session.poll_output() else { panic!("it is asked") };
    let mut handle = request.handle;
    for refused in 1..=3 {
        handle = session.respond(Time::ZERO, handle, PeerReply::Result("[]")).unwrap_err().value;
        assert_eq!(session.counters().refused, refused);
    }
    session.respond(Time::ZERO, handle, PeerReply::Result("{}")).unwrap();
    assert!(drain(&mut session).contains("\"result\":{}"));
}

/// L27: a notification reaches the host if the server offered what it belongs to, and only then.
#[test]
fn l27_only_notifications_of_what_was_offered_reach_the_host() {
    for (method, capability) in [
        ("message", r#""logging":{}"#),
        ("tools/list_changed", r#""tools":{"listChanged":true}"#),
        ("prompts/list_changed", r#""prompts":{"listChanged":true}"#),
        ("resources/list_changed", r#""resources":{"listChanged":true}"#),
        ("resources/updated", r#""resources":{"subscribe":true}"#),
        ("tasks/status", r#""tasks":{}"#),
    ] {
        for offered in [true, false] {
            let mut session = offering(&if offered { format!("{{{capability}}}") } else { "{}".to_owned() });
            say(&mut session, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"}}"#));
            let told = picked(&mut session, |output| match output {
                Output::Notification(told) => Some(told.method.to_owned()),
                _ => None,
            });
            let wanted: Vec<_> = offered.then(|| format!("notifications/{method}")).into_iter().collect();
            assert_eq!(told, wanted, "{method}, offered: {offered}");
            let counters = session.counters();
            let counted = (counters.notifications, counters.ignored_notifications);
            assert_eq!(counted, if offered { (1, 0) } else { (0, 1) }, "{method}");
        }
    }
}

/// L27: only news about tools makes the catalog stale.
#[test]
fn l27_other_notifications_leave_the_catalog_as_it_is() {
    let mut session = offering(r#"{"tools":{},"logging":{},"resources":{}}"#);
    session.list_tools(Time::ZERO, 1).unwrap();
    drain(&mut session);
    say(&mut session, r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}"#);
    drain(&mut session);
    for (method, stale) in
        [("message", false), ("resources/list_changed", false), ("tools/list_changed", true)]
    {
        say(&mut session, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"}}"#));
        drain(&mut session);
        assert_eq!(session.catalog_is_stale(), stale, "{method}");
    }
}

/// L07: a check takes the last id there is, and none beyond it.
#[test]
fn l07_a_check_is_sent_with_the_last_id_and_with_none_beyond_it() {
    for (next_id, sent) in [(LAST_ID, true), (LAST_ID + 1, false)] {
        let mut session = plain(|server| server.settings.timeouts.health_interval = Some(SECOND));
        session.machine.next_id = next_id;
        session.handle_timeout(at(SECOND));
        assert_eq!(drain(&mut session).contains("ping"), sent, "{next_id}");
    }
}

/// L33, W03: calls that waited for the list go on in turns, so that nothing else has to wait for all of them.
#[test]
fn l33_calls_that_waited_for_the_list_go_on_in_turns() {
    let mut session = ready();
    let list = session.list_tools(Time::ZERO, 1).unwrap();
    for token in 2..51 {
        session.call(Time::ZERO, Call::without_arguments("t"), token).unwrap();
    }
    assert!(drain(&mut session).contains("tools/list"));
    // The server reads nothing more, so that only turns can end a poll.
    session.ping(Time::ZERO, None, 60).unwrap();
    while !matches!(session.poll_output(), Output::Write(_)) {}
    session.handle_written(Time::ZERO, 0);
    let page = list.number() + 1;
    say(
        &mut session,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{page},"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}]}}}}"#
        ),
    );
    let mut turns = 1;
    while waits_until(&mut session) == Some(Time::from_micros(1)) {
        turns += 1;
        assert!(turns < 60);
    }
    assert_eq!(turns, 49_usize.div_ceil(16));
    session.handle_writable(Time::ZERO);
    assert_eq!(drain(&mut session).matches("tools/call").count(), 49);
}

/// L13: the number of an operation that had no request of its own is no number of a request.
#[test]
fn l13_an_answer_to_what_only_waited_is_an_answer_to_nothing() {
    let mut session = ready();
    say(&mut session, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    drain(&mut session);
    assert_eq!((session.counters().unknown, session.counters().duplicate), (1, 0), "a connect");

    let call = session.call(Time::ZERO, Call::without_arguments("t"), 2).unwrap().number();
    drain(&mut session);
    say(
        &mut session,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}]}}}}"#,
            call + 1
        ),
    );
    assert!(drain(&mut session).contains("tools/call"));
    for own in [2, call + 1, call + 2] {
        assert!(!session.cancel(Time::ZERO, crate::Handle(own), ""), "{own} is nobody's operation");
    }
    say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#, call + 2));
    drain(&mut session);
    for (id, counted) in [(call, (2, 0)), (call + 2, (2, 1))] {
        say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        drain(&mut session);
        assert_eq!((session.counters().unknown, session.counters().duplicate), counted, "{id}");
    }
    assert!(session.machine.renamed.is_empty(), "and nothing is kept of it");
}

/// L29: everything that has a deadline is counted while it is open.
#[test]
fn l29_what_has_a_deadline_is_counted_as_a_timer() {
    let mut session = plain(|server| server.settings.capabilities.roots = true);
    assert_eq!(session.counters().timers, 0);
    session.ping(Time::ZERO, Some(SECOND), 1).unwrap();
    session.ping(Time::ZERO, Some(SECOND * 2), 2).unwrap();
    assert_eq!(session.counters().timers, 2);
    say(&mut session, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    drain(&mut session);
    assert_eq!(session.counters().timers, 3);
    session.handle_timeout(at(SECOND));
    drain(&mut session);
    assert_eq!(session.counters().timers, 2);
}

/// L22: a secret that is cut in two by whatever happens between is still one.
#[test]
fn l22_a_secret_is_not_told_because_the_state_changed_in_the_middle_of_it() {
    let mut session = Session::<u8>::new(
        Server::new("docs", "docs-server")
            .secret("TOKEN", Secret::new("hunter2hunter2"))
            .stderr(StderrMode::Events),
    )
    .unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    drain(&mut session);
    session.handle_stderr(Time::ZERO, b"it is hunter2hun");
    session.close(Time::ZERO);
    let mut told = Vec::new();
    for rest in [&b""[..], b"ter2 and more\n"] {
        session.handle_stderr(Time::ZERO, rest);
        told.extend(picked(&mut session, |output| match output {
            Output::Stderr(bytes) => Some(bytes.to_vec()),
            _ => None,
        }));
    }
    let told = String::from_utf8(told.concat()).unwrap();
    assert!(!told.contains("hunter2") && told.contains("[secret] and more"), "{told}");
}

/// L23, W03: what a server says of itself is kept up to a bound.
#[test]
fn l23_the_names_that_a_server_gives_itself_are_bounded() {
    for (length, kept) in [(256, 256), (257, 256), (10_000, 256)] {
        let mut session = connecting(|_| {});
        drain(&mut session);
        let text = "n".repeat(length);
        let info = format!(r#"{{"name":"{text}","version":"{text}","title":"{text}"}}"#);
        say(
            &mut session,
            &format!(
                r#"{{"jsonrpc":"2.0","id":2,"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{info}}}}}"#
            ),
        );
        drain(&mut session);
        let info = session.server_info().unwrap();
        let lengths = [info.name.len(), info.version.len(), info.title.as_ref().unwrap().len()];
        assert_eq!(lengths, [kept; 3]);
    }
}

/// L06: a handshake whose answer is no answer says what was wrong with it.
#[test]
fn l06_a_handshake_that_is_answered_without_a_result_says_so() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"instructions":"{}"}}}}"#, "i".repeat(5_000));
    for (answer, fault) in [
        (r#"{"jsonrpc":"2.0","id":2}"#, HandshakeFault::Response(InvalidResponse::Neither)),
        (&*long, HandshakeFault::TooLarge(4_096)),
        (r#"{"jsonrpc":"2.0","id":2,"result":[]}"#, HandshakeFault::Invalid("result")),
    ] {
        let mut session = connecting(|server| {
            server.settings.conduct = crate::Conduct::Tolerant;
            server.settings.limits.line = 4_096;
        });
        drain(&mut session);
        say(&mut session, answer);
        let failure = loop {
            match session.poll_output() {
                Output::Complete(done) => break done.outcome.unwrap_err(),
                Output::Wait { .. } => panic!("nobody is told"),
                _ => {}
            }
        };
        assert_eq!(failure.kind(), &FailureKind::Ended(Cause::Handshake(fault)));
    }
}

/// L17: while a shutdown waits for what is open, it says that, and for how long.
#[test]
fn l17_a_shutdown_says_what_it_waits_for() {
    let mut session = ready();
    session.ping(Time::ZERO, Some(SECOND * 9), 1).unwrap();
    session.shutdown(Time::ZERO, SECOND);
    drain(&mut session);
    let Output::Wait { until, why } = session.poll_output() else { panic!("it waits") };
    assert_eq!((until, why), (Some(at(SECOND)), Why::Grace));
}

/// L20: the queue takes what fits to the last byte, of notifications too.
#[test]
fn l20_a_notification_that_fills_the_queue_is_taken_and_one_byte_more_is_not() {
    const LIMIT: usize = 1_024;
    let empty = r#"{"jsonrpc":"2.0","method":"n","params":{"p":""}}"#.len() + 1;
    for (bytes, taken) in [(LIMIT, true), (LIMIT + 1, false)] {
        let mut session = ready_within(Limits { send_queue: LIMIT, parameters: LIMIT, ..Limits::default() });
        let mut notify = |bytes: usize| {
            let params = format!(r#"{{"p":"{}"}}"#, "x".repeat(bytes - empty));
            session.notify(Time::ZERO, "n", Some(&params)).is_ok()
        };
        assert!(notify(100));
        assert_eq!(notify(bytes - 100), taken, "{bytes}");
    }
}

/// L17: only a signal that the system forbids is told as that.
#[test]
fn l17_the_end_says_whether_a_signal_was_forbidden() {
    for (signalled, refused) in
        [(Signalled::Delivered, false), (Signalled::NoProcess, false), (Signalled::NotPermitted, true)]
    {
        let mut session = ready();
        session.handle_signalled(Time::ZERO, signalled);
        session.machine.make_end();
        assert_eq!(session.end().unwrap().signal_refused, refused);
    }
}
