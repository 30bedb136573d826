//! What a host is told of a session, and what it is not (rows L16, L29, L30, L31).

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sans_mcp::{Delivery, State, Version};
use serde_json::json;

use super::support::{Scratch, assert_closes, call, called, connected, echo, everywhere, fixture, never};

#[test]
fn l16_every_failure_says_how_far_its_call_got_and_nothing_is_sent_twice() {
    everywhere(|kind| {
        let record = Scratch::new();
        let mut host = connected(kind, fixture(&["--record", record.path()]));
        let timeout = called(&mut host, never().timeout(Some(Duration::from_millis(500)))).unwrap_err();
        let exit = called(&mut host, call("exit", json!({ "code": 7 }))).unwrap_err();
        let later = called(&mut host, echo("later")).unwrap_err();
        let told = [timeout, exit, later].map(|error| error.delivery());
        assert_eq!(told, [Delivery::Sent, Delivery::Sent, Delivery::NotSent]);
        host.close();
        let messages = record.messages();
        let calls = messages.iter().filter(|message| message["method"] == "tools/call");
        let names: Vec<_> = calls.map(|call| call["params"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["never", "exit"]);
    });
}

#[test]
fn l29_counters_and_reports_tell_what_happened_without_parameters_and_results() {
    const PRIVATE: &str = "nobody-else-may-read-this";
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        assert_eq!(called(&mut host, echo(PRIVATE)).unwrap().text(), PRIVATE);
        let slow = call("echo", json!({ "value": PRIVATE, "delay": 20_000 }));
        let error = called(&mut host, slow.timeout(Some(Duration::from_millis(100)))).unwrap_err();
        let (report, counters) = (error.failure().report(), host.counters());
        for word in ["MCP_TIMEOUT", "tools/call", "fixture", "2025-11-25", "phase"] {
            assert!(report.contains(word), "no {word} in {report}");
        }
        assert_eq!((counters.timeouts, counters.latency["tools/call"].buckets.iter().sum::<u64>()), (1, 1));
        let told = format!("{report} {error:?} {counters:?} {:?} {}", host.seen(), host.close());
        assert!(!told.contains(PRIVATE), "{told}");
    });
}

/// The names themselves are the promise, so they are written out here.
#[test]
fn l30_errors_have_stable_names() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let mut name = |call| called(&mut host, call).unwrap_err().code().to_string();
        assert_eq!(name(never().timeout(Some(Duration::from_millis(100)))), "MCP_TIMEOUT");
        assert_eq!(name(call("ecco", json!({}))), "MCP_UNKNOWN_TOOL");
        assert_eq!(name(call("blob", json!({ "bytes": "many" }))), "MCP_INVALID_ARGUMENTS");
        assert_eq!(name(call("exit", json!({ "code": 7 }))), "MCP_PROCESS_EXIT");
        let mut host = connected(kind, fixture(&[]));
        let request = host.request("no/such/method");
        assert_eq!(host.wait(request).unwrap_err().code().to_string(), "MCP_ERROR");
        host.close();
        assert_eq!(called(&mut host, echo("late")).unwrap_err().code().to_string(), "CLIENT_CLOSED");
    });
}

/// The server is stopped meanwhile, so that it can tell nothing.
#[test]
fn l31_state_version_and_tools_are_read_without_a_round_trip() {
    everywhere(|kind| {
        let host = connected(kind, fixture(&[]));
        let pid = Pid::from_raw(host.process_id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        assert_eq!((host.state(), host.version()), (State::Ready, Some(Version::V2025_11_25)));
        assert!(host.tools().get("echo").is_some());
        kill_process(pid, Signal::CONT).unwrap();
        assert_closes(host);
    });
}
