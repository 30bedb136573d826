//! The checker finds what it is for: each test feeds it with one thing that must not be.

use std::time::Duration;

use sans_mcp::{Conduct, Output, Session, Signal, State, Why};

use super::*;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn server() -> Server {
    let mut settings = sans_mcp::Settings::default();
    settings.limits.pending = 1;
    Server::new("checked", "checked").settings(settings)
}

/// A checker that has seen these lines written whole.
fn written(lines: &[&str]) -> Result<Invariants, Violation> {
    let mut checker = Invariants::new(&server());
    checker.spawn_asked()?;
    for line in lines {
        let line = format!("{line}\n");
        checker.offered(line.as_bytes())?;
        checker.written(line.len())?;
    }
    Ok(checker)
}

fn rule<V: fmt::Debug>(checked: Result<V, Violation>) -> Rule {
    checked.unwrap_err().rule
}

/// A handle with this number: a session's own counter gives it.
fn handle(number: u64) -> Handle {
    let mut session = Session::<Token>::new(Server::new("numbers", "numbers")).unwrap();
    (1..=number).map(|token| session.connect(Time::ZERO, token).unwrap()).last().unwrap()
}

#[test]
fn a_good_conversation_passes() {
    let mut checker = written(&[
        INITIALIZE,
        r#"{"jsonrpc":"2.0","id":"p","result":{}}"#,
        INITIALIZED,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#,
    ])
    .unwrap();
    assert_eq!(checker.lines().len(), 6);
    checker.accepted(1, handle(3), Asked::Request, Some(Time::from_micros(5))).unwrap();
    checker.wait(Some(Time::from_micros(5))).unwrap();
}

#[test]
fn lines_must_be_whole_valid_messages() {
    for line in [
        "",
        "[]",
        r#"{"id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}}"#,
        r#"{"jsonrpc":"2.0","id":"1","method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","extra":1}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no code"}}"#,
        "{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"initialize\"}",
    ] {
        assert_eq!(rule(written(&[line])), Rule::WholeMessages, "{line}");
    }
}

#[test]
fn what_was_begun_is_offered_until_it_is_whole() {
    let mut checker = Invariants::new(&server());
    let line = format!("{INITIALIZE}\n");
    checker.offered(line.as_bytes()).unwrap();
    checker.written(10).unwrap();
    assert!(checker.clone().offered(&line.as_bytes()[10..]).is_ok());
    assert_eq!(rule(checker.clone().offered(&line.as_bytes()[11..])), Rule::WholeMessages);
    assert_eq!(rule(checker.clone().offered(b"")), Rule::Offer);
    checker.offered(&line.as_bytes()[10..]).unwrap();
    checker.written(0).unwrap();
    assert_eq!(rule(checker.clone().offered(&line.as_bytes()[10..])), Rule::Offer);
    checker.writable();
    checker.input_closed();
    assert_eq!(rule(checker.offered(&line.as_bytes()[10..])), Rule::Offer);
}

#[test]
fn ids_only_grow_and_nothing_is_asked_before_initialized() {
    let ping = |id: u64| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    assert_eq!(rule(written(&[INITIALIZE, INITIALIZED, &ping(3), &ping(3)])), Rule::IdsGrow);
    assert_eq!(rule(written(&[INITIALIZE, INITIALIZED, &ping(3), &ping(2)])), Rule::IdsGrow);
    assert_eq!(rule(written(&[&ping(1)])), Rule::Handshake);
    assert_eq!(rule(written(&[INITIALIZE, &ping(2)])), Rule::Handshake);
    assert_eq!(rule(written(&[INITIALIZE, INITIALIZED, INITIALIZED])), Rule::Handshake);
    assert_eq!(rule(written(&[INITIALIZE, r#"{"jsonrpc":"2.0","method":"x"}"#])), Rule::Handshake);
    assert_eq!(
        rule(written(&[INITIALIZE, r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}"#])),
        Rule::Handshake
    );
    let again = r#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#;
    assert_eq!(rule(written(&[INITIALIZE, INITIALIZED, again])), Rule::Handshake);
}

#[test]
fn a_cancel_notice_names_what_was_written_once_and_never_initialize() {
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let cancel = |id: u64| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    };
    let begin = [INITIALIZE, INITIALIZED, ping];
    let with = |more: &[&str]| rule(written(&[&begin, more].concat()));
    assert_eq!(with(&[&cancel(3)]), Rule::CancelNotice);
    assert_eq!(with(&[&cancel(1)]), Rule::CancelNotice);
    assert_eq!(with(&[&cancel(2), &cancel(2)]), Rule::CancelNotice);
    assert_eq!(with(&[r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#]), Rule::CancelNotice);
}

#[test]
fn a_token_comes_back_once_and_a_refused_one_never_again() {
    let mut checker = written(&[]).unwrap();
    checker.accepted(1, handle(1), Asked::Waiting, None).unwrap();
    assert_eq!(rule(checker.clone().accepted(1, handle(2), Asked::Waiting, None)), Rule::ExactlyOnce);
    assert_eq!(rule(checker.clone().accepted(2, handle(1), Asked::Waiting, None)), Rule::IdsGrow);
    assert_eq!(rule(checker.clone().refused(5, 6)), Rule::RefusedAtOnce);
    assert_eq!(rule(checker.clone().refused(1, 1)), Rule::RefusedAtOnce);
    checker.refused(5, 5).unwrap();
    for (token, number) in [(2, 1), (1, 2), (5, 1)] {
        let output = Output::Complete(sans_mcp::Completion {
            handle: handle(number),
            token,
            outcome: Ok(Reply::Connected),
            elapsed: Duration::ZERO,
        });
        assert_eq!(rule(checker.clone().output(&output)), Rule::ExactlyOnce, "{token} {number}");
    }
    let good = Output::Complete(sans_mcp::Completion {
        handle: handle(1),
        token: 1,
        outcome: Ok(Reply::Connected),
        elapsed: Duration::ZERO,
    });
    checker.output(&good).unwrap();
    assert_eq!(rule(checker.output(&good)), Rule::ExactlyOnce);
}

#[test]
fn a_wait_is_later_than_now_and_passes_over_no_deadline() {
    let mut checker = written(&[]).unwrap();
    checker.time(Time::from_micros(10));
    let wait = |until: Option<u64>| Output::Wait { until: until.map(Time::from_micros), why: Why::Idle };
    assert_eq!(rule(checker.clone().output(&wait(Some(10)))), Rule::WaitIsLater);
    checker.accepted(1, handle(1), Asked::Request, Some(Time::from_micros(20))).unwrap();
    assert_eq!(rule(checker.clone().output(&wait(Some(21)))), Rule::WaitIsLater);
    assert_eq!(rule(checker.clone().output(&wait(None))), Rule::WaitIsLater);
    checker.output(&wait(Some(15))).unwrap();
    checker.time(Time::from_micros(20));
    assert_eq!(rule(checker.output(&wait(Some(25)))), Rule::Deadline);
}

#[test]
fn the_ladder_is_climbed_in_order() {
    let mut checker = Invariants::new(&server());
    assert_eq!(rule(checker.clone().output(&Output::CloseStdin)), Rule::Ladder);
    assert_eq!(rule(checker.clone().output(&Output::Signal(Signal::Kill))), Rule::Ladder);
    checker.output(&Output::Spawn).unwrap();
    assert_eq!(rule(checker.clone().output(&Output::Spawn)), Rule::Ladder);
    assert_eq!(rule(checker.clone().output(&Output::Reap)), Rule::Ladder);
    assert_eq!(rule(checker.clone().output(&Output::ProbeTree)), Rule::Ladder);
    checker.exit_told();
    checker.output(&Output::Signal(Signal::Kill)).unwrap();
    checker.output(&Output::Reap).unwrap();
    assert_eq!(rule(checker.clone().output(&Output::Signal(Signal::Kill))), Rule::Ladder);
    checker.output(&Output::State(State::Closing)).unwrap();
    assert_eq!(rule(checker.output(&Output::State(State::Ready))), Rule::States);
}

/// Connects a bare session to a server that answers `answer` to a call, and gives what the checker says about it.
fn answered(answer: &str) -> Checked {
    let mut settings = sans_mcp::Settings::default();
    settings.conduct = Conduct::Tolerant;
    settings.list_on_connect = false;
    let server = Server::new("checked", "checked").settings(settings);
    let mut checker = Invariants::new(&server);
    let mut session = Session::<Token>::new(server).unwrap();
    let connect = session.connect(Time::ZERO, 1).unwrap();
    checker.accepted(1, connect, Asked::Waiting, None)?;
    let shaken = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    for (line, asks) in [(shaken, false), (answer, true)] {
        if asks {
            let handle = session.ping(Time::ZERO, None, 2).unwrap();
            checker.accepted(2, handle, Asked::Request, None)?;
        }
        drain(&mut session, &mut checker)?;
        let told = if asks { line.replace("honest", "lie") } else { line.to_owned() };
        checker.received(format!("{line}\n").as_bytes());
        session.handle_stdout(Time::ZERO, format!("{told}\n").as_bytes());
        drain(&mut session, &mut checker)?;
    }
    checker.settled(&session)
}

fn drain(session: &mut Session<Token>, checker: &mut Invariants) -> Checked {
    loop {
        let output = session.poll_output();
        checker.output(&output)?;
        match output {
            Output::Write(bytes) => {
                let count = bytes.len();
                checker.written(count)?;
                session.handle_written(Time::ZERO, count);
            }
            Output::Spawn => session.handle_spawned(Time::ZERO, 1),
            Output::Wait { .. } | Output::Closed(_) => return Ok(()),
            _ => {}
        }
    }
}

#[test]
fn a_result_or_an_error_that_the_server_did_not_send_is_found() {
    assert_eq!(answered(r#"{"jsonrpc":"2.0","id":3,"result":{"true":1}}"#), Ok(()));
    assert_eq!(rule(answered(r#"{"jsonrpc":"2.0","id":3,"result":{"honest":1}}"#)), Rule::OwnAnswer);
    assert_eq!(answered(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-5,"message":"x"}}"#), Ok(()));
    // Without a message it is no error object, and told as one of the client's own.
    assert_eq!(answered(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-5}}"#), Ok(()));
}

#[test]
fn what_is_left_after_the_end_and_what_is_over_a_limit_is_found() {
    let mut session = Session::<Token>::new(server()).unwrap();
    let mut checker = Invariants::new(&server());
    let connect = session.connect(Time::ZERO, 1).unwrap();
    checker.accepted(1, connect, Asked::Waiting, None).unwrap();
    // The state was not told.
    assert_eq!(rule(checker.clone().settled(&session)), Rule::States);
    checker.output(&Output::State(State::Connecting)).unwrap();
    checker.settled(&session).unwrap();
    // A token that nobody knows of is pending.
    let mut ignorant = Invariants::new(&Server::new("wide", "wide"));
    ignorant.output(&Output::State(State::Connecting)).unwrap();
    ignorant.accepted(7, handle(1), Asked::Waiting, None).unwrap();
    ignorant.accepted(8, handle(2), Asked::Waiting, None).unwrap();
    assert_eq!(rule(ignorant.settled(&session)), Rule::ExactlyOnce);
    let mut narrow = server();
    narrow.settings.limits.pending = 0;
    let mut many = Session::<Token>::new(Server::new("many", "many")).unwrap();
    for token in 1..=4 {
        many.connect(Time::ZERO, token).unwrap();
    }
    let mut checker = Invariants::new(&narrow);
    checker.output(&Output::State(State::Connecting)).unwrap();
    assert_eq!(rule(checker.settled(&many)), Rule::Budget);
    // One token more than the limit, while the session's own requests have room beside them.
    let mut checker = Invariants::new(&server());
    checker.output(&Output::State(State::Connecting)).unwrap();
    checker.accepted(1, handle(1), Asked::Waiting, None).unwrap();
    checker.accepted(2, handle(2), Asked::Waiting, None).unwrap();
    let mut two = Session::<Token>::new(Server::new("two", "two")).unwrap();
    for token in 1..=2 {
        two.connect(Time::ZERO, token).unwrap();
    }
    assert_eq!(rule(checker.settled(&two)), Rule::Budget);
    // Tokens that are dropped come back, all of them.
    let mut checker = Invariants::new(&server());
    assert_eq!(rule(checker.dropped(many)), Rule::ExactlyOnce);
}
