//! Rows L05, L23, L31, L33: connecting, and what is known then.

use sans_mcp::error::{Cause, HandshakeFault, Hint};
use sans_mcp::{Exit, Output, Refusal, Request, Session, State, Time, Tree, Version};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::{Scripted, initialize, list};
use serde_json::{Value, json};

use crate::support::{call, code, connected, connected_to, ms, server};

#[test]
fn l05_concurrent_connects_share_one_handshake_and_a_later_one_needs_none() {
    let mut runner = Runner::new(server(|_| {}), Scripted::default(), LinkOptions::default());
    let tokens = [runner.connect(), runner.connect(), runner.connect()];
    for token in tokens {
        assert!(matches!(runner.ended(token), Outcome::Connected));
    }
    let lines = runner.wire().count();
    let late = runner.connect();
    assert!(matches!(runner.ended(late), Outcome::Connected));
    assert_eq!((runner.sent("initialize"), runner.sent("notifications/initialized")), (1, 1));
    assert_eq!(runner.wire().count(), lines);
    assert_eq!(runner.counters().pending, 0);
}

#[test]
fn l05_a_failed_handshake_leaves_the_session_unusable_and_the_process_gone() {
    let peer = Scripted::default().shaking(initialize("1999-01-01", "{}"));
    let mut runner = Runner::new(server(|_| {}), peer, LinkOptions::default());
    let waiting = [runner.connect(), runner.connect()];
    runner.run_until(Runner::is_closed);
    assert_eq!(waiting.map(|token| code(&runner, token)), ["MCP_VERSION_UNSUPPORTED"; 2]);
    let end = runner.session().end().unwrap();
    assert_eq!((end.tree, end.gone()), (Tree::Gone, true));
    assert!(!runner.link().leaves_something());
    let again = runner.try_connect().unwrap_err();
    assert_eq!(again, Refusal::Closed(sans_mcp::Code::VERSION));
    assert!(matches!(runner.call(call("{}")), Err(Refusal::Closed(_))));
}

#[test]
fn l05_a_new_incarnation_carries_nothing_over() {
    let configuration = server(|_| {});
    let mut old = connected_to(configuration.clone(), Scripted::silent());
    old.call(call("{}")).unwrap();
    old.closed();
    let mut new = connected_to(configuration, Scripted::default().listing([list(&["other"])]));
    assert_eq!(new.wire().next(), old.wire().next());
    assert!(new.session().catalog().get("t").is_none());
    assert_eq!(new.counters().failed, 0);
    assert!(matches!(new.call(call("{}")), Err(Refusal::UnknownTool { .. })));
    assert!(matches!(old.call(call("{}")), Err(Refusal::Closed(_))));
    assert_eq!(old.session().state(), State::Closed);
}

/// W05, L06: a server that prints how it is used and leaves is quoted, and asked about unless its stderr says why.
#[test]
fn l06_a_server_that_leaves_before_the_handshake_is_quoted_and_asked_about() {
    let hints = |line: &'static str, complaint: &'static str| {
        let peer = Scripted::on(move |_, agenda| {
            if !line.is_empty() {
                agenda.say(line);
            }
            agenda.complain(complaint);
            agenda.exit(ms(10), Exit::Code(2));
            true
        });
        let mut runner = Runner::new(server(|_| {}), peer, LinkOptions::default());
        let token = runner.connect();
        let failure = runner.ended(token).failure().unwrap();
        (failure.hints().to_vec(), failure.to_string())
    };
    let question = "is it an MCP server on stdin and stdout, and do its arguments select that?";
    let quoted = vec![Hint::NotAServer(Some("usage: docs [--stdio]".into()))];
    for complaint in ["", "warning\n"] {
        let (hinted, text) = hints("usage: docs [--stdio]", complaint);
        assert_eq!(hinted, quoted);
        let told = format!("it wrote `usage: docs [--stdio]`, which is no message: {question}");
        assert!(text.contains(&told), "{text}");
    }
    assert_eq!(hints("", "").0, [Hint::NotAServer(None)]);
    assert_eq!(hints("", "no configuration\n").0, []);
}

/// Connects to a server that answers `initialize` so, and gives what that came to.
fn shaken(answer: &str) -> (Runner, u64) {
    let peer = Scripted::default().shaking(answer);
    let mut runner = Runner::new(server(|_| {}), peer, LinkOptions::default());
    let token = runner.connected();
    runner.settle();
    (runner, token)
}

fn fault(answer: &str) -> HandshakeFault {
    let (mut runner, token) = shaken(answer);
    assert_eq!(runner.sent("notifications/initialized"), 0, "{answer}");
    assert!(runner.outcome(token).and_then(Outcome::failure).is_some(), "{answer}");
    match &runner.closed().cause {
        Cause::Handshake(fault) => fault.clone(),
        other => panic!("{answer}: {other}"),
    }
}

#[test]
fn l23_each_required_member_of_initialize_is_checked() {
    assert_eq!(fault("[]"), HandshakeFault::Invalid("result"));
    assert_eq!(fault("{}"), HandshakeFault::Invalid("protocolVersion"));
    assert_eq!(fault(r#"{"protocolVersion":20251125}"#), HandshakeFault::Invalid("protocolVersion"));
    let no_info = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
    assert_eq!(fault(no_info), HandshakeFault::Invalid("serverInfo"));
    let half_info = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x"}}"#;
    assert_eq!(fault(half_info), HandshakeFault::Invalid("serverInfo"));
    let odd = r#"{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{"name":"x","version":"1"}}"#;
    assert_eq!(fault(odd), HandshakeFault::Invalid("capabilities"));
}

#[test]
fn l23_a_refused_version_is_quoted_bounded_and_escaped_and_both_sides_are_named() {
    let version = format!("9\\n\\u001b[2J{}", "x".repeat(5_000));
    let HandshakeFault::Version { offered, accepted } = fault(&initialize(&version, r#"{"secret":"s"}"#))
    else {
        panic!("another fault");
    };
    assert!(offered.starts_with("9\\n\\x1b[2Jxxx") && offered.len() <= 64, "{offered}");
    assert_eq!(accepted, ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]);
}

#[test]
fn l23_every_accepted_version_is_negotiated_and_the_newest_is_asked_for() {
    for version in Version::LEGACY {
        let (runner, token) = shaken(&initialize(version.as_str(), "{}"));
        assert!(matches!(runner.outcome(token), Some(Outcome::Connected)));
        assert_eq!(runner.session().version(), Some(version));
        assert_eq!(runner.sent("notifications/initialized"), 1);
    }
}

#[test]
fn l23_the_client_says_its_product_name_and_version_and_nothing_else() {
    let mut configuration = server(|settings| {
        settings.client.name = "editor".to_owned();
        settings.client.version = "7".to_owned();
        settings.capabilities.roots = true;
    });
    configuration.variables.push(("USER".to_owned(), "alice".to_owned()));
    let runner = connected_to(configuration, Scripted::default());
    let line: Value = serde_json::from_str(runner.wire().next().unwrap()).unwrap();
    assert_eq!(
        line["params"],
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": { "listChanged": true } },
            "clientInfo": { "name": "editor", "version": "7" },
        })
    );
}

#[test]
fn l23_nothing_is_asked_before_initialized_and_it_follows_once() {
    let mut runner = Runner::new(server(|_| {}), Scripted::default(), LinkOptions::rough(3));
    runner.connect();
    assert_eq!(runner.call(call("{}")), Err(Refusal::Connecting));
    assert_eq!(runner.ping(None), Err(Refusal::Connecting));
    runner.run_until(|runner| runner.session().state() == State::Ready);
    runner.run_for(ms(100));
    let methods: Vec<String> = runner
        .wire()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["method"].to_string())
        .collect();
    assert_eq!(methods, ["\"initialize\"", "\"notifications/initialized\"", "\"tools/list\""]);
}

#[test]
fn l23_features_without_a_negotiated_capability_are_refused_locally() {
    let mut runner = connected(Scripted::default().offering(r#"{"resources":{}}"#));
    let lines = runner.wire().count();
    for (method, capability) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/subscribe", "resources.subscribe"),
        ("logging/setLevel", "logging"),
        ("completion/complete", "completions"),
        ("tasks/list", "tasks"),
    ] {
        assert_eq!(runner.request(Request::new(method)), Err(Refusal::NotOffered(capability)));
    }
    assert_eq!(runner.call(call("{}")), Err(Refusal::NotOffered("tools")));
    assert_eq!(runner.list(), Err(Refusal::NotOffered("tools")));
    let now = runner.now();
    let roots = runner.session_mut().notify(now, "notifications/roots/list_changed", None);
    assert_eq!(roots, Err(Refusal::NotDeclared("roots")));
    runner.settle();
    assert_eq!(runner.wire().count(), lines);
    let offered = runner.request(Request::new("resources/list")).unwrap();
    assert_eq!(runner.ended(offered).code(), Some(sans_mcp::Code::ERROR));
}

#[test]
fn l31_all_that_was_agreed_can_be_read_without_a_round_trip() {
    let mut runner = connected(Scripted::default());
    let lines = runner.wire().count();
    let session = runner.session();
    assert_eq!(session.state(), State::Ready);
    assert_eq!(session.version(), Some(Version::V2025_11_25));
    let info = session.server_info().unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("scripted", "1.2"));
    assert_eq!(session.instructions(), Some("be kind"));
    let offered = session.server_capabilities().unwrap();
    assert!(
        offered.tools && offered.tools_list_changed && offered.resources_subscribe && !offered.completions
    );
    assert_eq!(session.catalog().tools().map(|tool| tool.name()).collect::<Vec<_>>(), ["t", "u"]);
    runner.settle();
    assert_eq!(runner.wire().count(), lines);
    runner.closed();
    assert_eq!(runner.session().version(), Some(Version::V2025_11_25));
    assert_eq!(runner.session().state(), State::Closed);
}

#[test]
fn l33_connect_ends_with_the_tools_listed_unless_that_is_turned_off() {
    let runner = connected(Scripted::default());
    assert_eq!((runner.session().catalog().len(), runner.sent("tools/list")), (2, 1));
    let runner = connected_to(server(|settings| settings.list_on_connect = false), Scripted::default());
    assert_eq!((runner.session().catalog().len(), runner.sent("tools/list")), (0, 0));
}

#[test]
fn l33_a_refresh_replaces_the_catalog_as_a_whole_and_a_failed_one_keeps_the_old() {
    let half = r#"{"tools":[{"name":"new","inputSchema":{"type":"object"}}],"nextCursor":"2"}"#;
    let mut pages = vec![list(&["t"]), half.to_owned(), list(&["newer"]), r#"{"no":"list"}"#.to_owned()];
    let mut runner = connected(Scripted::on(move |said, agenda| {
        if said.method != "tools/list" {
            return false;
        }
        agenda.write(ms(50), format!("{}\n", said.result(&pages.remove(0))).into_bytes());
        true
    }));
    let names = |runner: &Runner| {
        runner.session().catalog().tools().map(|tool| tool.name().to_owned()).collect::<Vec<_>>()
    };
    let listed = runner.list().unwrap();
    runner.run_for(ms(75));
    assert_eq!((names(&runner), runner.outcome(listed).is_some()), (vec!["t".to_owned()], false));
    assert!(matches!(runner.ended(listed), Outcome::Listed));
    assert_eq!(names(&runner), ["new", "newer"]);
    let failed = runner.list().unwrap();
    assert_eq!(runner.ended(failed).code(), Some(sans_mcp::Code::LIST_FAILED));
    assert_eq!(names(&runner), ["new", "newer"]);
}

#[test]
fn l33_a_list_that_fails_leaves_the_session_connected_and_is_reported() {
    let mut runner = connected(Scripted::default().listing([r#"{"tools":7}"#]));
    assert!(runner.trace().told("listing its tools failed"), "{}", runner.trace());
    let ping = runner.ping(None).unwrap();
    assert_eq!(runner.ended(ping).answer(), Some("{}"));
}

#[test]
fn l33_a_server_that_reads_no_more_after_the_handshake_holds_up_no_connect() {
    let mut session = Session::<u8>::new(server(|_| {})).unwrap();
    let mut told = Vec::new();
    session.connect(Time::ZERO, 0).unwrap();
    for round in 0..2 {
        loop {
            match session.poll_output() {
                Output::Spawn => session.handle_spawned(Time::ZERO, 1),
                Output::Write(bytes) => {
                    assert_eq!(round, 0, "nothing is written to a closed input");
                    let count = bytes.len();
                    session.handle_written(Time::ZERO, count);
                }
                Output::Wait { .. } => break,
                Output::Complete(done) => told.push(format!("{:?}", done.outcome)),
                Output::Diagnostic(diagnostic) => told.push(diagnostic.to_string()),
                _ => {}
            }
        }
        session.handle_stdin_closed(Time::ZERO);
        let answer =
            format!(r#"{{"jsonrpc":"2.0","id":2,"result":{}}}"#, initialize("2025-11-25", r#"{"tools":{}}"#));
        session.handle_stdout(Time::ZERO, format!("{answer}\n").as_bytes());
    }
    assert_eq!(
        told,
        ["server `docs`: listing its tools failed: the server closed its input", "Ok(Connected)"]
    );
    assert_eq!(session.counters().queued_bytes, 0);
    assert_eq!(session.call(Time::ZERO, call("{}"), 1).unwrap_err().refusal, Refusal::StdinClosed);
}
