//! Odd servers and odd drivers, each found once by somebody who looked for it.

use super::*;
use crate::config::Secret;
use crate::error::{Code, Delivery, HandshakeFault};
use crate::output::{Reply, Why};
use crate::process::Exit;

const TENTH: Duration = Duration::from_millis(100);

/// A session that is connected to a server of this revision, with a secret and roots of the host.
fn connected(version: &str, tune: impl FnOnce(&mut Server)) -> Session<u8> {
    connected_to(version, r#"{"tools":{}}"#, |server| {
        server.secrets.push(("TOKEN".to_owned(), Secret::new("hunter2hunter2")));
        server.settings.capabilities.roots = true;
        tune(server);
    })
}

/// Polls until a wait and gives how operations ended: "answer", or the name of the failure.
fn ended(session: &mut Session<u8>) -> Vec<(u8, String)> {
    let mut ended = Vec::new();
    loop {
        match session.poll_output() {
            Output::Complete(done) => ended.push((
                done.token,
                match done.outcome {
                    Ok(Reply::Answer(_)) => "answer".to_owned(),
                    Ok(other) => format!("{other:?}"),
                    Err(failure) => failure.code().to_string(),
                },
            )),
            Output::Write(bytes) => {
                let count = bytes.len();
                session.handle_written(Time::ZERO, count);
            }
            Output::Wait { .. } | Output::Closed(_) => return ended,
            _ => {}
        }
    }
}

/// L05, L16: what can never be listed is not waited for: the server closed its input, and who connects then is told at once.
#[test]
fn l05_a_connect_after_the_input_closed_ends_at_once() {
    let mut session = connected("2025-06-18", |server| server.settings.list_on_connect = true);
    let handle = session.connect(Time::ZERO, 1).unwrap();
    // Nobody waits for the listing any more, so it is given up.
    for number in [1, handle.number()] {
        assert!(session.cancel(Time::ZERO, crate::Handle(number), ""));
    }
    session.handle_stdin_closed(Time::ZERO);
    ended(&mut session);
    session.connect(Time::ZERO, 2).unwrap();
    assert_eq!(ended(&mut session), [(2, "Connected".to_owned())]);
}

/// W03, L11: a line of very many messages is read in turns, so that deadlines and the host get theirs.
#[test]
fn w03_a_line_of_very_many_messages_does_not_hold_up_a_deadline() {
    let mut session = connected("2025-11-25", |_| {});
    session.ping(Time::ZERO, Some(TENTH), 1).unwrap();
    ended(&mut session);
    let line = "{}".repeat(30_000);
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        let taken = session.handle_stdout(Time::ZERO, rest);
        rest = &rest[taken..];
        drain(&mut session);
    }
    say(&mut session, "");
    session.handle_timeout(Time::ZERO + TENTH);
    while session.counters().timeouts == 0 {
        assert!(session.counters().noise_lines < 30_000, "all of it was read first");
        let _ = session.poll_output();
    }
    ended(&mut session);
    ended(&mut session);
    assert_eq!(session.counters().noise_lines, 30_000);
    assert_eq!(&*session.noise_samples()[1], "{}", "a sample is of its own message");
}

/// W06: what cannot be read of a batch fails the call that it names, and the rest leaves a trace.
#[test]
fn w06_a_broken_batch_fails_the_call_it_names_and_leaves_a_trace() {
    let mut session = connected("2025-03-26", |_| {});
    for token in [1, 2, 3] {
        session.ping(Time::ZERO, None, token).unwrap();
    }
    drain(&mut session);
    let good = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    say(&mut session, &format!(r#"[{},{{"jsonrpc":"2.0","id":4,"result":{{}} oops}},{}]"#, good(3), good(5)));
    assert_eq!(ended(&mut session), [(1, "answer".to_owned()), (2, "MCP_INVALID_RESPONSE".to_owned())]);
    assert_eq!(session.counters().noise_lines, 1);
    say(&mut session, r#"[{"jsonrpc":"2.0","id":5,"result":{} oops}]"#);
    assert_eq!(ended(&mut session), [(3, "MCP_INVALID_RESPONSE".to_owned())], "also in the first element");
    say(&mut session, "[{} oops]");
    assert_eq!(ended(&mut session), []);
    // What could not be read of two batches, and one that names no call.
    assert_eq!((session.counters().noise_lines, session.counters().malformed), (3, 2));
}

/// L17, L26: what stands in the line after the message that was polled is not acted on once the session closes.
#[test]
fn l17_nothing_of_the_current_line_is_acted_on_after_a_close() {
    let mut session = connected("2025-11-25", |_| {});
    let ask = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    say(&mut session, &format!("{}{}", ask(1), ask(2)));
    assert!(matches!(session.poll_output(), Output::Request(_)));
    session.close(Time::ZERO);
    loop {
        match session.poll_output() {
            Output::Request(request) => panic!("{request:?}"),
            Output::Wait { .. } => break,
            _ => {}
        }
    }
    assert_eq!((session.counters().peer_requests, session.counters().timers), (0, 0));
}

/// W06: absent members that are written as null are absent.
#[test]
fn w06_an_answer_with_a_null_method_is_an_answer() {
    let mut session = connected("2025-11-25", |_| {});
    session.ping(Time::ZERO, None, 1).unwrap();
    drain(&mut session);
    say(&mut session, r#"{"jsonrpc":"2.0","id":3,"method":null,"params":null,"result":{},"error":null}"#);
    assert_eq!(ended(&mut session), [(1, "answer".to_owned())]);
}

/// W07, L14: a lone surrogate or a repeated member costs neither the code of an error nor the handshake.
#[test]
fn w07_odd_text_in_errors_and_in_the_handshake_is_replaced() {
    let mut session = connected("2025-11-25", |_| {});
    session.ping(Time::ZERO, None, 1).unwrap();
    drain(&mut session);
    let error = r#"{"code":-1,"code":-32000,"message":"bad \ud800 hunter2hunter2 \u001b[2J","more":1}"#;
    say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":3,"error":{error}}}"#));
    let Output::Complete(done) = session.poll_output() else { panic!("the call is settled") };
    let failure = done.outcome.unwrap_err();
    let remote = failure.remote().unwrap();
    assert_eq!((remote.code, remote.message.as_str()), (-32000, "bad \u{fffd} [secret] \u{1b}[2J"));
    assert!(!failure.to_string().contains('\u{1b}'), "{failure}");

    let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    drain(&mut session);
    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"\ud800":{}},"serverInfo":{"name":"a","name":"d\ud800","version":"1"}}"#;
    say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#));
    assert_eq!(ended(&mut session), [(0, "Connected".to_owned())]);
    assert_eq!(session.server_info().unwrap().name, "d\u{fffd}");
}

/// L22, W05: what is told of an error that names no call is escaped and free of secrets.
#[test]
fn w05_an_error_that_names_no_call_is_told_without_secrets_and_controls() {
    let mut session = connected("2025-11-25", |_| {});
    say(
        &mut session,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\u001b[2J\u202e hunter2hunter2"}}"#,
    );
    let Output::Diagnostic(diagnostic) = session.poll_output() else { panic!("it is told") };
    let text = diagnostic.to_string();
    assert!(!text.contains("hunter2") && !text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text}");
}

/// L30: between a seen exit and its declaration new calls are refused with the name of the exit.
#[test]
fn l30_a_loss_that_is_not_declared_yet_has_its_name() {
    let mut session = connected("2025-11-25", |_| {});
    session.handle_exit(Time::ZERO, Exit::Code(0));
    let refused = session.ping(Time::ZERO, None, 1).unwrap_err();
    assert_eq!(refused.refusal.code(), Code::PROCESS_EXIT);
}

/// L33: connecting ends with the tools listed, also for the one who comes after everybody else gave up.
#[test]
fn l33_who_connects_after_others_gave_up_waits_for_the_list() {
    let mut server = Server::new("docs", "docs-server");
    server.settings.list_on_connect = true;
    let mut session = Session::new(server).unwrap();
    let first = session.connect(Time::ZERO, 1).unwrap();
    drain(&mut session);
    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#));
    drain(&mut session);
    assert!(session.cancel(Time::ZERO, first, "no patience"));
    assert_eq!(ended(&mut session), [(1, "MCP_ABORTED".to_owned())]);
    session.connect(Time::ZERO, 2).unwrap();
    assert_eq!(ended(&mut session), []);
    say(
        &mut session,
        r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}"#,
    );
    assert_eq!(ended(&mut session), [(2, "Connected".to_owned())]);
    assert_eq!(session.catalog().len(), 1);
}

/// L11: who joins a walk that is under way does not die of that walk's deadline.
#[test]
fn l11_who_joins_a_walk_has_a_deadline_of_its_own() {
    let mut session = connected("2025-11-25", |server| server.settings.timeouts.call = Some(TENTH));
    session.list_tools(Time::ZERO, 1).unwrap();
    drain(&mut session);
    let later = Time::ZERO + TENTH / 2;
    session.call(later, Call::without_arguments("t").timeout(Some(TENTH * 10)), 2).unwrap();
    drain(&mut session);
    session.handle_timeout(Time::ZERO + TENTH);
    assert_eq!(ended(&mut session), [(1, "MCP_TIMEOUT".to_owned())]);
    // A new walk is under way for the call.
    say(
        &mut session,
        r#"{"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}"#,
    );
    drain(&mut session);
    say(&mut session, r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#);
    assert_eq!(ended(&mut session), [(2, "answer".to_owned())]);
}

/// A walk that nobody waits for any more is given up, however its last waiter ended.
#[test]
fn l12_a_walk_ends_with_its_last_waiter() {
    let mut session = connected("2025-11-25", |server| server.settings.timeouts.call = Some(TENTH * 10));
    let call = Call::without_arguments("t").timeout(Some(TENTH));
    session.call(Time::ZERO, call, 1).unwrap();
    drain(&mut session);
    session.handle_timeout(Time::ZERO + TENTH);
    assert_eq!(ended(&mut session), [(1, "MCP_TIMEOUT".to_owned())]);
    assert_eq!(session.counters().pending, 0);
}

/// Facts that no honest driver tells do no harm.
#[test]
fn facts_in_absurd_order_and_size_do_no_harm() {
    let mut session = connected("2025-11-25", |_| {});
    session.ping(Time::ZERO, None, 1).unwrap();
    while !matches!(session.poll_output(), Output::Write(_)) {}
    session.handle_written(Time::ZERO, 3);
    session.handle_written(Time::ZERO, usize::MAX);
    session.handle_stdin_closed(Time::ZERO);
    session.handle_spawned(Time::ZERO, 7);
    assert_eq!(session.ping(Time::ZERO, None, 2).unwrap_err().refusal.code(), Code::STDIN_CLOSED);
    session.close(Time::ZERO);
    ended(&mut session);
    for _ in 0..2 {
        let _ = session.read_space();
        session.handle_read(Time::ZERO, usize::MAX);
    }
    assert!(matches!(session.poll_output(), Output::Wait { why: Why::Ladder, .. }));
}

/// L16, L23: a connect that failed after `initialize` had left says so.
#[test]
fn l16_a_refused_handshake_was_sent() {
    let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    drain(&mut session);
    say(&mut session, r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25"}}"#);
    let failure = loop {
        if let Output::Complete(done) = session.poll_output() {
            break done.outcome.unwrap_err();
        }
    };
    assert_eq!(failure.delivery(), Delivery::Sent);
    let cause = Cause::Handshake(HandshakeFault::Invalid("serverInfo"));
    assert_eq!(*failure.kind(), crate::FailureKind::Ended(cause));
}

/// L26: what the client never declares is refused, also where the method is declared.
#[test]
fn l26_sampling_with_tools_and_elicitation_by_url_are_refused() {
    let mut session = connected("2025-11-25", |server| {
        server.settings.capabilities.sampling = true;
        server.settings.capabilities.elicitation = true;
    });
    for (method, params) in [
        ("sampling/createMessage", r#"{"messages":[],"tools":[]}"#),
        ("sampling/createMessage", r#"{"messages":[],"toolChoice":{}}"#),
        ("elicitation/create", r#"{"mode":"url"}"#),
    ] {
        say(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{params}}}"#));
        let reply = drain(&mut session);
        assert!(reply.contains(r#""id":"x","error":{"code":-32602"#), "{method} {params}: {reply}");
    }
    assert_eq!((session.counters().refused_requests, session.counters().peer_requests), (3, 0));
}

/// L30: a server that answers a health check with an error is alive.
#[test]
fn l30_an_error_is_an_answer_to_a_health_check() {
    let mut session = connected("2025-11-25", |server| {
        server.settings.timeouts.health_interval = Some(TENTH);
    });
    session.handle_timeout(Time::ZERO + TENTH);
    let ping = drain(&mut session);
    assert!(ping.contains(r#""method":"ping""#), "{ping}");
    let error = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}"#;
    say(&mut session, error);
    drain(&mut session);
    assert_eq!((session.state(), session.counters().pending), (State::Ready, 0));
}

/// L24: a call that waited for the list is checked against the tool that was found.
#[test]
#[cfg(feature = "schema")]
fn l24_a_call_that_waited_for_the_list_fails_if_its_arguments_do_not_fit() {
    let mut session = ready();
    session.call(Time::ZERO, Call::without_arguments("t"), 1).unwrap();
    drain(&mut session);
    say(
        &mut session,
        r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","required":["n"]}}]}}"#,
    );
    assert_eq!(ended(&mut session), [(1, Code::INVALID_ARGUMENTS.to_string())]);
    let found = session.tool("t").unwrap().unwrap();
    assert!(Call::new("t", r#"{"n":1}"#).prepare(&found, &session.server().settings).is_ok());
}

/// L24: a look for a tool says what a call would come to.
#[test]
fn l24_a_tool_is_looked_up_as_a_call_would_find_it() {
    let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
    assert_eq!(session.tool("t").unwrap_err(), Refusal::NotReady);
    session = ready();
    assert!(session.tool("t").unwrap().is_none(), "the list was not fetched");
    session.list_tools(Time::ZERO, 1).unwrap();
    drain(&mut session);
    say(
        &mut session,
        r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"tool","inputSchema":{"type":"object"}}]}}"#,
    );
    drain(&mut session);
    assert!(!session.catalog().is_empty());
    let Err(Refusal::UnknownTool { name, near }) = session.tool("Tool") else {
        panic!("it is no look-alike")
    };
    assert_eq!((name.as_str(), near), ("Tool", vec!["tool".to_owned()]));
}

/// L29: a failure says which session it belongs to, and nothing of it shows what was handed in or sent.
#[test]
fn l29_a_failure_names_its_session_and_hints_at_near_misses() {
    let mut session = ready().with_instance(7);
    session.ping(Time::ZERO, Some(TENTH), 1).unwrap();
    drain(&mut session);
    say(&mut session, r#"{"jsonrpc":"2.0","id":"3","result":{"private":1}}"#);
    drain(&mut session);
    session.handle_timeout(Time::ZERO + TENTH);
    let Output::Complete(done) = session.poll_output() else { panic!("the deadline has passed") };
    let failure = done.outcome.unwrap_err();
    assert_eq!((failure.instance(), failure.hints().len()), (7, 1));
    assert!(!failure.report().contains("private"));
}
