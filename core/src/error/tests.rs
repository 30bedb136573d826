use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::config::Server;
use crate::output::{Output, Reply};
use crate::process::{Exit, StartFailure, Tree};
use crate::redact::Redactor;
use crate::session::Session;
use crate::stderr::Collector;
use crate::time::Time;

/// Every way in which a process cannot be started, and the name of it.
fn start_failures() -> [(StartFailure, Code); 7] {
    [
        (StartFailure::NotFound { searched_path: true }, Code::NOT_FOUND),
        (StartFailure::NotFound { searched_path: false }, Code::NOT_FOUND),
        (StartFailure::NotPermitted, Code::NOT_PERMITTED),
        (StartFailure::NotExecutable, Code::NOT_PERMITTED),
        (StartFailure::BadWorkingDirectory, Code::BAD_DIRECTORY),
        (StartFailure::NoResources { errno: 11 }, Code::START_FAILED),
        (StartFailure::System { errno: 5 }, Code::START_FAILED),
    ]
}

#[test]
fn l06_each_start_failure_has_a_name_and_says_what_to_do() {
    for (failure, code) in start_failures() {
        let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
        session.connect(Time::ZERO, 1).unwrap();
        while !matches!(session.poll_output(), Output::Spawn) {}
        session.handle_spawn_failed(Time::ZERO, failure.clone());
        let told = loop {
            if let Output::Complete(done) = session.poll_output() {
                break done.outcome.unwrap_err();
            }
        };
        assert_eq!(told.code(), code, "{failure:?}");
        assert!(told.to_string().contains(&failure.to_string()), "{told}");
    }
    let words = start_failures().map(|(failure, _)| failure.to_string());
    assert!(words.iter().all(|words| words.contains(": ") || words.contains("errno")), "{words:?}");
}

#[test]
fn l16_an_exit_is_told_as_what_it_was() {
    let exits = [Exit::Code(0), Exit::Code(3), Exit::Signal(9), Exit::Unknown];
    assert_eq!(exits.map(Exit::is_success), [true, false, false, false]);
    let words = exits.map(|exit| exit.to_string());
    assert_eq!(words, ["exit code 0", "exit code 3", "signal 9", "unknown exit status"]);
}

#[test]
fn l09_a_refusal_has_a_stable_name_and_is_the_source_of_its_error() {
    let named = [
        (Refusal::NotReady, Code::NOT_READY),
        (Refusal::Connecting, Code::NOT_READY),
        (Refusal::Closed(Code::TIMEOUT), Code::TIMEOUT),
        (Refusal::NotOpen, Code::CLOSED),
        (Refusal::Busy(Full::SendQueue), Code::BUSY),
        (Refusal::BadMethod, Code::INVALID_ARGUMENTS),
        (Refusal::NotDeclared("roots"), Code::UNSUPPORTED),
        (Refusal::ReservedMethod("initialize"), Code::RESERVED),
        (Refusal::StdinClosed, Code::STDIN_CLOSED),
        (Refusal::IdsExhausted, Code::IDS_EXHAUSTED),
    ];
    for (refusal, code) in named {
        assert_eq!(refusal.code(), code);
        let refused = Refused { value: 1, refusal: refusal.clone() };
        let source = std::error::Error::source(&refused).unwrap();
        assert_eq!(source.to_string(), refusal.to_string());
    }
}

/// L17: an end tells its exit once, whether it is the cause or not.
#[test]
fn l17_an_end_tells_its_exit_once() {
    let told = |cause, exit| {
        let end = End {
            server: "docs".into(),
            cause,
            exit: Some(exit),
            tree: Tree::Gone,
            signal_refused: false,
            stderr: Arc::default(),
        };
        end.to_string()
    };
    let exit = Exit::Code(3);
    let left = "no process left";
    assert_eq!(
        told(Cause::Exited(exit), exit),
        format!("server `docs`: server exited (exit code 3); {left}")
    );
    assert_eq!(
        told(Cause::ExitedInHandshake(exit), exit),
        format!("server `docs`: server exited before the handshake was over (exit code 3); {left}")
    );
    assert_eq!(told(Cause::Closed, exit), format!("server `docs`: closed by the host; exit code 3; {left}"));
    assert_eq!(
        told(Cause::Exited(Exit::Unknown), exit),
        format!("server `docs`: server exited (unknown exit status); exit code 3; {left}")
    );
}

#[test]
fn l17_an_end_says_what_is_left_of_the_server() {
    let told = |tree, signal_refused| {
        let (cause, stderr) = (Cause::Closed, Arc::default());
        End { server: "docs".into(), cause, exit: None, tree, signal_refused, stderr }.to_string()
    };
    let words = [
        (Tree::Gone, false, "no process left"),
        (Tree::Alive(2), false, "2 or more processes left"),
        (Tree::Alive(1), true, "1 or more processes left, the system forbids the signal"),
        (Tree::Unknown, false, "whether a process is left could not be found out"),
    ];
    for (tree, refused, words) in words {
        assert_eq!(told(tree, refused), format!("server `docs`: closed by the host; {words}"));
    }
    let gone = |tree| {
        let (cause, stderr) = (Cause::Closed, Arc::default());
        End { server: "docs".into(), cause, exit: None, tree, signal_refused: false, stderr }.gone()
    };
    assert_eq!([Tree::Gone, Tree::Alive(1), Tree::Unknown].map(gone), [true, false, false]);
}

/// L15: what was on standard error explains an end that the host did not ask for, and nothing else.
#[test]
fn l15_only_an_unwanted_end_is_explained_by_standard_error() {
    let told = |kind: &FailureKind, words: &str| {
        let mut collector = Collector::new(99, &Redactor::new(std::iter::empty()));
        collector.push(words.as_bytes());
        let circumstances = Circumstances {
            server: "docs".into(),
            instance: 1,
            version: None,
            phase: "ready",
            exit: None,
            stderr: collector.snapshot(),
        };
        let report = Report {
            kind: kind.clone(),
            delivery: Delivery::Sent,
            method: "ping".into(),
            tool: None,
            id: 3,
            elapsed: Duration::ZERO,
            hints: Vec::new(),
            circumstances: Arc::new(circumstances),
        };
        Failure::new(report).to_string()
    };
    let exited = FailureKind::Ended(Cause::OutputEnded);
    assert!(
        told(&exited, "out of memory\n")
            .ends_with(" failed: server closed its output; stderr: out of memory")
    );
    assert!(told(&exited, "").ends_with(" failed: server closed its output"));
    for other in [FailureKind::Timeout(Duration::from_secs(1)), FailureKind::Ended(Cause::Closed)] {
        assert!(told(&other, "a log line\n").ends_with(&format!(" failed: {other}")));
    }
}

/// L06: a command line that was given as a command is told apart from a program that is not there.
#[test]
fn l06_a_command_with_a_blank_that_is_not_found_says_that_arguments_go_separately() {
    let told = |command: &str, failure| Cause::Start { command: command.to_owned(), failure }.to_string();
    let missing = StartFailure::NotFound { searched_path: true };
    let words = "arguments are given separately";
    assert!(told("python3 srv.py", missing.clone()).ends_with(words));
    assert!(!told("python3", missing).contains(words));
    assert!(!told("python3 srv.py", StartFailure::NotPermitted).contains(words));
}

/// L06: the refusal after every end says in words why the session is over, not with the name of an error.
#[test]
fn l06_a_refusal_after_an_end_says_why_in_words() {
    let starts = start_failures().map(|(failure, _)| Cause::Start { command: "docs".to_owned(), failure });
    let second = Duration::from_secs(1);
    let others = [
        Cause::Closed,
        Cause::ConnectCancelled,
        Cause::ConnectTimeout(second),
        Cause::Handshake(HandshakeFault::InputClosed),
        Cause::Handshake(HandshakeFault::Version { offered: "x".to_owned(), accepted: Vec::new() }),
        Cause::ExitedInHandshake(Exit::Code(3)),
        Cause::OutputEnded,
        Cause::Peer(PeerFault::Noise),
        Cause::Peer(PeerFault::EndlessLine { limit: 9 }),
        Cause::Unhealthy(second),
    ];
    for cause in starts.into_iter().chain(others) {
        let told = Refusal::Closed(cause.code()).to_string();
        assert!(told.starts_with("the session is closed: the "), "{cause:?}: {told}");
        assert!(
            told.ends_with("; start a new one") && !told.contains(cause.code().as_str()),
            "{cause:?}: {told}"
        );
    }
}

#[test]
fn l29_what_a_server_answered_is_in_no_debug_output() {
    let mut session = Session::<u8>::new(Server::new("docs", "docs-server")).unwrap();
    session.connect(Time::ZERO, 0).unwrap();
    let mut written = 0;
    let mut answers = [
        r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"private":1}}"#,
    ]
    .into_iter();
    for _ in 0..100 {
        match session.poll_output() {
            Output::Spawn => session.handle_spawned(Time::ZERO, 1),
            Output::Write(bytes) => written = bytes.len(),
            Output::Complete(done) => {
                if let Ok(Reply::Answer(answer)) = done.outcome {
                    assert_eq!(format!("{answer:?}"), "Answer { bytes: 13, .. }");
                    let payload = answer.take();
                    assert_eq!(
                        (&*payload, format!("{payload:?}").as_str()),
                        (r#"{"private":1}"#, "Payload { bytes: 13, .. }")
                    );
                    return;
                }
                session.ping(Time::ZERO, None, 1).unwrap();
            }
            Output::Wait { .. } => {
                let line = format!("{}\n", answers.next().unwrap());
                session.handle_stdout(Time::ZERO, line.as_bytes());
            }
            _ => {}
        }
        if written > 0 {
            session.handle_written(Time::ZERO, std::mem::take(&mut written));
        }
    }
    panic!("no answer came");
}
