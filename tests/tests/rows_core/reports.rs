//! Rows L29, L30 and L32: counters, reports, codes and events.

use sans_mcp::{Code, Exit, State, StderrMode, Version};
use sans_mcp_tests::peer::Act;
use sans_mcp_tests::runner::Runner;
use sans_mcp_tests::scripted::Scripted;

use crate::support::{call, connected, connected_to, ms, server};

#[test]
fn l29_counters_and_gauges_say_what_happened_and_hold_no_contents() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            match said.argument("do").as_str() {
                Some("never") => {}
                Some("error") => agenda.say(&said.error(-1, "no")),
                _ => agenda.write(ms(9), format!("{}\n", said.text("topsecret-result")).into_bytes()),
            }
        }
        said.method == "tools/call"
    }));
    let begin = runner.counters();
    let does = |what: &str| call(&format!(r#"{{"do":"{what}","private":"topsecret-argument"}}"#));
    let timed = runner.call(does("never").timeout(Some(ms(20)))).unwrap();
    let cancelled = runner.call(does("never")).unwrap();
    let refused = runner.call(does("error")).unwrap();
    let slow = runner.call(does("answer")).unwrap();
    assert_eq!(runner.counters().pending, 4);
    assert!(runner.counters().queued_bytes > 100);
    runner.settle();
    runner.cancel(cancelled, "");
    for token in [timed, cancelled, refused, slow] {
        runner.ended(token);
    }
    let counters = runner.counters();
    assert_eq!(
        (counters.timeouts, counters.cancelled, counters.remote_errors, counters.failed),
        (1, 1, 1, 0)
    );
    assert_eq!(counters.answered - begin.answered, 1);
    let latency = &counters.latency["tools/call"];
    assert_eq!((latency.count(), latency.buckets[4]), (1, 1), "9 ms are below 16 ms");
    assert_eq!(counters.latency["connect"].count(), 1);
    assert!(!format!("{counters:?}").contains("topsecret"));
    for token in [timed, cancelled, refused] {
        assert!(!runner.outcome(token).unwrap().failure().unwrap().report().contains("topsecret"));
    }
}

#[test]
fn l29_a_failure_report_names_all_that_is_known() {
    let peer = Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.complain("out of memory\n");
            agenda.exit(ms(30), Exit::Code(137));
        }
        said.method == "tools/call"
    });
    let mut runner = connected(peer);
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    let failure = runner.outcome(token).unwrap().failure().unwrap();
    assert_eq!(
        (failure.server(), failure.version(), failure.method()),
        ("docs", Some(Version::V2025_11_25), "tools/call")
    );
    assert_eq!(
        (failure.phase(), failure.elapsed(), failure.id()),
        ("ready", ms(30), runner.handle(token).unwrap().number())
    );
    let report = failure.report();
    let id = failure.id();
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(
        lines,
        [
            "MCP_PROCESS_EXIT: server `docs`: `tools/call` of `t` failed: server exited (exit code 137); stderr: out of memory".to_owned(),
            format!("  request {id} `tools/call`, sent, after 30 ms"),
            "  server `docs` #0, 2025-11-25, phase ready".to_owned(),
            "  process: exit code 137".to_owned(),
            "  stderr: out of memory".to_owned(),
        ]
    );
    assert!(!report.ends_with(char::is_whitespace), "{report:?}");
}

#[test]
fn l29_an_instance_number_tells_incarnations_apart() {
    let session = sans_mcp::Session::<u8>::new(server(|_| {})).unwrap().with_instance(7);
    assert_eq!(session.instance(), 7);
    assert!(format!("{session:?}").contains("instance: 7"));
}

#[test]
fn l30_codes_are_stable_names_and_each_means_one_thing() {
    let all = [
        (Code::PROCESS_EXIT, "MCP_PROCESS_EXIT"),
        (Code::TIMEOUT, "MCP_TIMEOUT"),
        (Code::ABORTED, "MCP_ABORTED"),
        (Code::ERROR, "MCP_ERROR"),
        (Code::CLOSED, "CLIENT_CLOSED"),
        (Code::BUSY, "MCP_BUSY"),
        (Code::NOT_READY, "MCP_NOT_READY"),
        (Code::TOO_LARGE, "MCP_TOO_LARGE"),
        (Code::INVALID_RESPONSE, "MCP_INVALID_RESPONSE"),
        (Code::INVALID_RESULT, "MCP_INVALID_RESULT"),
        (Code::INVALID_ARGUMENTS, "MCP_INVALID_ARGUMENTS"),
        (Code::UNKNOWN_TOOL, "MCP_UNKNOWN_TOOL"),
        (Code::UNSUPPORTED, "MCP_UNSUPPORTED"),
        (Code::RESERVED, "MCP_RESERVED"),
        (Code::STDIN_CLOSED, "MCP_STDIN_CLOSED"),
        (Code::IDS_EXHAUSTED, "MCP_IDS_EXHAUSTED"),
        (Code::PROTOCOL, "MCP_PROTOCOL"),
        (Code::UNHEALTHY, "MCP_UNHEALTHY"),
        (Code::NOT_FOUND, "MCP_NOT_FOUND"),
        (Code::NOT_PERMITTED, "MCP_NOT_PERMITTED"),
        (Code::BAD_DIRECTORY, "MCP_BAD_DIRECTORY"),
        (Code::START_FAILED, "MCP_START_FAILED"),
        (Code::CONNECT_TIMEOUT, "MCP_CONNECT_TIMEOUT"),
        (Code::HANDSHAKE_FAILED, "MCP_HANDSHAKE_FAILED"),
        (Code::VERSION, "MCP_VERSION_UNSUPPORTED"),
        (Code::LIST_FAILED, "MCP_LIST_FAILED"),
    ];
    for (code, name) in all {
        assert_eq!((code.as_str(), code.to_string().as_str()), (name, name));
    }
    let names: std::collections::BTreeSet<&str> = all.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(names.len(), all.len());
}

fn states(runner: &Runner) -> Vec<String> {
    runner.trace().host.into_iter().map(|(_, line)| line).filter(|line| line.starts_with("State(")).collect()
}

#[test]
fn l32_connecting_ending_stderr_and_exit_are_events() {
    let configuration = server(|_| {}).stderr(StderrMode::Events);
    let peer = Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.complain("warning: low disk\n");
            agenda.exit(ms(10), Exit::Code(4));
        }
        said.method == "tools/call"
    });
    let mut runner = connected_to(configuration, peer);
    assert_eq!(states(&runner), ["State(Connecting)", "State(Ready)"]);
    runner.call(call("{}")).unwrap();
    runner.run_until(Runner::is_closed);
    assert_eq!(states(&runner), ["State(Connecting)", "State(Ready)", "State(Closing)", "State(Closed)"]);
    let trace = runner.trace();
    assert!(trace.told("stderr warning: low disk"), "{trace}");
    let closed = "closed server `docs`: server exited (exit code 4); no process left";
    assert_eq!(trace.host.last().map(|(_, line)| line.as_str()), Some(closed));
    assert_eq!(runner.session().state(), State::Closed);
}

#[test]
fn l32_nobody_listening_is_no_fault_and_what_does_not_fit_is_dropped_and_told() {
    let mut session = sans_mcp::Session::<u8>::new(server(|_| {}).stderr(StderrMode::Events)).unwrap();
    for _ in 0..100 {
        session.handle_stderr(sans_mcp::Time::ZERO, &[b'e'; 4_096]);
    }
    let (mut bytes, mut dropped) = (0, 0);
    loop {
        match session.poll_output() {
            sans_mcp::Output::Stderr(piece) => bytes += piece.len(),
            sans_mcp::Output::Diagnostic(diagnostic) => {
                dropped = diagnostic.count;
                assert!(diagnostic.to_string().contains("nobody fetched it"));
            }
            sans_mcp::Output::Wait { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((bytes, dropped), (64 << 10, 64), "84 pieces did not fit, the last that is told is the 64th");
    assert_eq!(session.counters().stderr_bytes, 409_600);
}

#[test]
fn l32_a_grandchild_that_leaves_no_trace_of_the_leader_still_gives_an_end() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.act(ms(0), Act::Fork(sans_mcp_tests::peer::Child::Escaped));
        }
        false
    }));
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    let begin = runner.now();
    let end = runner.closed();
    assert_eq!((end.gone(), end.tree), (false, sans_mcp::Tree::Alive(1)));
    assert!(end.to_string().contains("1 or more processes left"), "{end}");
    assert!(runner.now().since(begin) <= ms(5_000));
}

#[test]
fn l32_nothing_comes_after_the_end() {
    let mut runner = connected_to(server(|_| {}).stderr(StderrMode::Events), Scripted::default());
    runner.closed();
    let now = runner.now();
    let session = runner.session_mut();
    for _ in 0..100 {
        session.handle_stderr(now, &[b'e'; 4_096]);
    }
    session.handle_stdout(now, b"noise\n");
    session.handle_stdin_closed(now);
    session.handle_exit(now, Exit::Signal(9));
    assert!(
        matches!(session.poll_output(), sans_mcp::Output::Closed(end) if end.exit == Some(Exit::Code(0)))
    );
    assert!(matches!(session.poll_output(), sans_mcp::Output::Closed(_)));
}
