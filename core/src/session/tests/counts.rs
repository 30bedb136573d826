//! What is counted, what is told apart, and what a session says of itself.

use super::*;
use crate::config::Timeouts;
use crate::error::Code;
use crate::output::{Reply, Why};
use crate::{Capabilities, Conduct, PeerReply, StderrMode, Version};

/// What a server with tools offers.
const TOOLS: &str = r#"{"tools":{}}"#;

/// One line, and what it leads to.
fn hear(session: &mut Session<u8>, line: &str) {
    say(session, line);
    drain(session);
}

/// L26: a cancel of the server's own request is one when that request is open, and ignored otherwise.
#[test]
fn l26_cancels_of_the_server_are_counted_by_what_they_name() {
    let mut session = ready_with(|server| server.settings.capabilities.roots = true);
    hear(&mut session, r#"{"jsonrpc":"2.0","id":"a","method":"roots/list"}"#);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
    for counted in [(1, 0), (1, 1), (1, 2)] {
        hear(&mut session, cancel);
        let counters = session.counters();
        assert_eq!((counters.notifications, counters.ignored_notifications), counted);
    }
}

/// L32: what failed for no reason that has a count of its own is counted as failed.
#[test]
fn l32_failures_of_every_kind_are_counted() {
    let mut session = ready_with(|server| server.settings.conduct = Conduct::Tolerant);
    for (failed, token) in [(1, 1), (2, 2)] {
        let id = session.ping(Time::ZERO, None, token).unwrap().number();
        drain(&mut session);
        hear(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#));
        assert_eq!(session.counters().failed, failed);
    }
}

/// W03: what is thrown away of a line is counted while it is still coming.
#[test]
fn w03_bytes_that_are_thrown_away_are_counted_at_once() {
    let mut session = ready_within(Limits { line: 4_096, ..Limits::default() });
    let mut rest = &[b'x'; 10_000][..];
    while !rest.is_empty() {
        let taken = session.handle_stdout(Time::ZERO, rest);
        rest = &rest[taken..];
        drain(&mut session);
    }
    assert_eq!(session.counters().discarded_bytes, 10_000);
}

/// L20, L21: parameters may take their limit, and the queue its own, to the last byte.
#[test]
fn l20_parameters_and_the_queue_are_filled_to_the_last_byte() {
    const LIMIT: usize = 1_024;
    let limits = || Limits { send_queue: LIMIT, parameters: LIMIT, ..Limits::default() };
    let params = |bytes: usize| format!(r#"{{"p":"{}"}}"#, "x".repeat(bytes - r#"{"p":""}"#.len()));
    let ask = |bytes: usize| crate::Request::new("m/x").params(params(bytes));
    for (bytes, taken) in [(LIMIT, true), (LIMIT + 1, false)] {
        let mut session = ready_within(limits());
        assert_eq!(session.request(Time::ZERO, ask(bytes), 1).is_ok(), taken, "{bytes}");

        let mut session = ready_within(limits());
        session.request(Time::ZERO, ask(100), 1).unwrap();
        let refused = session.request(Time::ZERO, ask(bytes - 100), 2).err();
        let why = refused.map(|refused| (refused.value, refused.refusal.code()));
        assert_eq!(why, (!taken).then_some((2, Code::BUSY)), "{bytes} in two");
    }
    let mut session = ready_within(limits());
    let refused = session.notify(Time::ZERO, "n", Some(&params(LIMIT + 1))).unwrap_err();
    assert_eq!(refused, Refusal::TooLarge { bytes: LIMIT + 1, limit: LIMIT });
    let busy = session.notify(Time::ZERO, "n", Some(&params(LIMIT))).unwrap_err();
    assert!(matches!(busy, Refusal::Busy(_)), "it is not too large, but its frame finds no room: {busy}");
}

/// L05: questions of the server to the user were not known before the second revision.
#[test]
fn l05_only_what_a_revision_knows_is_declared_to_it() {
    for (version, elicitation) in
        [(Version::V2025_03_26, false), (Version::V2025_06_18, true), (Version::V2025_11_25, true)]
    {
        let mut server = Server::new("docs", "docs-server");
        server.settings.versions = vec![version];
        server.settings.capabilities = Capabilities { elicitation: true, ..Capabilities::default() };
        let mut session = Session::<u8>::new(server).unwrap();
        session.connect(Time::ZERO, 0).unwrap();
        assert_eq!(drain(&mut session).contains("\"elicitation\":{}"), elicitation, "{version}");
    }
}

/// L10: an operation that ended, and whose end nobody fetched, is still the caller's.
#[test]
fn l10_a_dropped_session_gives_back_what_ended_unheard() {
    let mut session = ready();
    session.ping(Time::ZERO, None, 1).unwrap();
    let handle = session.ping(Time::ZERO, None, 2).unwrap();
    assert!(session.cancel(Time::ZERO, handle, ""));
    let mut tokens: Vec<_> = session.into_tokens().collect();
    tokens.sort_unstable();
    assert_eq!(tokens, [1, 2]);
}

/// L07, L13: what was never written cannot be answered.
#[test]
fn l13_an_answer_that_comes_before_its_request_left_is_none() {
    let mut session = ready();
    session.ping(Time::ZERO, None, 1).unwrap();
    while !matches!(session.poll_output(), Output::Write(_)) {}
    session.handle_written(Time::ZERO, 0);
    let waiting = session.ping(Time::ZERO, None, 2).unwrap().number();
    for id in [waiting - 1, waiting] {
        hear(&mut session, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    assert_eq!((session.counters().unknown, session.counters().pending), (2, 2));
}

/// L27: news about roots may be told when roots were declared.
#[test]
fn l27_news_about_roots_need_roots() {
    for declared in [true, false] {
        let mut session = ready_with(|server| server.settings.capabilities.roots = declared);
        let told = session.notify(Time::ZERO, "notifications/roots/list_changed", None);
        assert_eq!(told, if declared { Ok(()) } else { Err(Refusal::NotDeclared("roots")) });
    }
}

/// L08: an answer that is taken away with its line leaves the rest of a batch to be read.
#[test]
fn l08_a_large_answer_that_is_kept_does_not_take_the_rest_of_its_batch() {
    let mut session = connected_to("2025-03-26", TOOLS, |_| {});
    let ids = [1, 2].map(|token| session.ping(Time::ZERO, None, token).unwrap().number());
    drain(&mut session);
    let result = |letter: &str| format!(r#"{{"t":"{}"}}"#, letter.repeat(100_000));
    let answer = |id: u64, letter| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, result(letter));
    let line = format!("[{},{}]\n", answer(ids[1], "b"), answer(ids[0], "a"));
    let mut rest = line.as_bytes();
    let mut kept = Vec::new();
    loop {
        let taken = session.handle_stdout(Time::ZERO, rest);
        rest = &rest[taken..];
        match session.poll_output() {
            Output::Complete(done) => {
                let Ok(Reply::Answer(answer)) = done.outcome else { panic!("it is answered") };
                kept.push((done.token, answer.take()));
            }
            Output::Wait { .. } if rest.is_empty() => break,
            _ => {}
        }
    }
    let kept: Vec<_> = kept.iter().map(|(token, answer)| (*token, &**answer)).collect();
    assert_eq!(kept, [(2, &*result("b")), (1, &*result("a"))]);
}

/// L31: while it connects, a session says that, and until when.
#[test]
fn l31_a_session_that_connects_says_so_and_until_when() {
    let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    drain(&mut session);
    let Output::Wait { until, why } = session.poll_output() else { panic!("it waits") };
    let patience = Timeouts::default().connect.unwrap();
    assert_eq!((until, why), (Some(Time::ZERO + patience), Why::Connect));
}

/// L26: a result may take the reserve of replies, and no more.
#[test]
fn l26_a_result_over_the_reserve_is_refused_by_its_size() {
    let mut session = ready_with(|server| {
        server.settings.capabilities.roots = true;
        server.settings.limits.replies = 1_024;
    });
    session.handle_stdout(Time::ZERO, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n");
    let Output::Request(request) = session.poll_output() else { panic!("it is asked") };
    let handle = request.handle;
    let result = |bytes: usize| format!(r#"{{"p":"{}"}}"#, "x".repeat(bytes - r#"{"p":""}"#.len()));
    let refused = session.respond(Time::ZERO, handle, PeerReply::Result(&result(1_025))).unwrap_err();
    assert_eq!(refused.refusal, Refusal::TooLarge { bytes: 1_025, limit: 1_024 });
    let refused = session.respond(Time::ZERO, refused.value, PeerReply::Result(&result(1_024))).unwrap_err();
    assert!(matches!(refused.refusal, Refusal::Busy(_)), "its frame finds no room: {}", refused.refusal);
}

/// L14: an error says that something was left out of it, be it of its message or its data.
#[test]
fn l14_an_error_says_when_its_message_or_its_data_was_too_long() {
    let limits = Limits::default();
    for (message, data, truncated) in [
        (limits.remote_message, limits.remote_data, false),
        (limits.remote_message + 1, limits.remote_data, true),
        (limits.remote_message, limits.remote_data + 1, true),
    ] {
        let mut session = ready();
        let id = session.ping(Time::ZERO, None, 1).unwrap().number();
        drain(&mut session);
        let (message, data) = ("m".repeat(message), "d".repeat(data - 2));
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":1,\"message\":\"{message}\",\"data\":\"{data}\"}}}}\n"
        );
        let mut rest = line.as_bytes();
        let failure = loop {
            let taken = session.handle_stdout(Time::ZERO, rest);
            rest = &rest[taken..];
            match session.poll_output() {
                Output::Complete(done) => break done.outcome.unwrap_err(),
                Output::Wait { .. } if rest.is_empty() => panic!("it is not answered"),
                _ => {}
            }
        };
        assert_eq!(failure.remote().unwrap().truncated, truncated);
    }
}

/// L22: what looked like the beginning of a secret is told when the session ends, since it was none.
#[test]
fn l22_events_of_standard_error_are_whole_at_the_end() {
    let mut server = Server::new("docs", "docs-server").stderr(StderrMode::Events);
    server.secrets.push(("TOKEN".to_owned(), crate::Secret::new("hunter2hunter2")));
    let mut session = Session::<u8>::new(server).unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    drain(&mut session);
    session.handle_stderr(Time::ZERO, b"the hunter");
    session.handle_exit(Time::ZERO, Exit::Code(1));
    session.handle_eof(Time::ZERO);
    let mut told = Vec::new();
    loop {
        match session.poll_output() {
            Output::Stderr(bytes) => told.extend_from_slice(bytes),
            Output::Reap => session.handle_reaped(Time::ZERO, Exit::Code(1)),
            Output::ProbeTree => session.handle_tree(Time::ZERO, Tree::Gone),
            Output::Closed(_) => break,
            Output::Wait { .. } => panic!("it does not end"),
            _ => {}
        }
    }
    assert_eq!(told, b"the hunter");
}
