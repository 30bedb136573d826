//! Rows L11 and L12: deadlines, cancelling, and what the server is told.

use sans_mcp::error::FailureKind;
use sans_mcp::{Code, Delivery, Output, Time};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::peer::Act;
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::{Scripted, initialize, list};
use serde_json::{Value, json};

use crate::support::{call, code, connected, connected_to, ms, server};

const ZERO: Time = Time::ZERO;

#[test]
fn l11_each_call_has_its_own_deadline_from_the_moment_it_is_accepted() {
    let mut runner = connected(Scripted::silent());
    let calls = [30, 10, 20].map(|time| (time, runner.call(call("{}").timeout(Some(ms(time)))).unwrap()));
    runner.run_for(ms(5));
    let later = runner.call(call("{}").timeout(Some(ms(10)))).unwrap();
    let endless = runner.call(call("{}").timeout(None)).unwrap();
    runner.run_for(ms(20_000_000));
    for (time, token) in calls {
        let done = runner.done(token).unwrap();
        assert_eq!((done.outcome.code(), done.at), (Some(Code::TIMEOUT), ZERO + ms(time)));
        assert_eq!(done.outcome.failure().unwrap().elapsed(), ms(time));
    }
    assert_eq!(runner.done(later).unwrap().at, ZERO + ms(15));
    assert!(runner.outcome(endless).is_none());
}

#[test]
fn l11_the_default_deadline_is_that_of_the_settings() {
    let mut runner = connected(Scripted::silent());
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    assert_eq!(runner.done(token).unwrap().at, ZERO + ms(30_000));
    let mut runner = connected_to(server(|settings| settings.timeouts.call = None), Scripted::silent());
    let token = runner.call(call("{}")).unwrap();
    runner.run_for(ms(10_000_000));
    assert!(runner.outcome(token).is_none());
}

#[test]
fn l11_a_call_that_waits_in_the_queue_meets_its_deadline_there() {
    let mut runner = stalled();
    let waiting = runner.call(call("{}").timeout(Some(ms(40)))).unwrap();
    let begin = runner.now();
    assert_eq!(runner.ended(waiting).delivery(), Some(Delivery::NotSent));
    assert_eq!(runner.now(), begin + ms(40));
    assert_eq!(runner.counters().queued_bytes, 0);
}

/// A session whose server reads nothing any more: its pipe is full, a large call is partly written.
fn stalled() -> Runner {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.argument("stop") == true {
            agenda.act(ms(0), Act::StopReading);
            agenda.act(ms(1_000), Act::Read);
        }
        said.method == "tools/call"
    }));
    runner.call(call(r#"{"stop":true}"#).timeout(None)).unwrap();
    runner.settle();
    runner.call(call(&format!(r#"{{"a":"{}"}}"#, "a".repeat(100_000))).timeout(None)).unwrap();
    runner.settle();
    runner
}

/// A server that sends progress of a call every 80 ms.
fn progressing() -> Scripted {
    Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            let token = said.params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
            for step in 1..=20_u64 {
                let params = json!({ "progressToken": token, "progress": step });
                let line = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                agenda.write(ms(80 * step), format!("{line}\n").into_bytes());
            }
        }
        said.method == "tools/call"
    })
}

#[test]
fn l11_progress_extends_a_call_only_if_asked_and_never_past_the_hard_maximum() {
    let mut runner = connected(progressing());
    let plain = runner.call(call("{}").progress().timeout(Some(ms(100)))).unwrap();
    let reset = call("{}").reset_on_progress().timeout(Some(ms(100)));
    let bounded = runner.call(reset.clone().maximum(Some(ms(450)))).unwrap();
    let default = runner.call(reset.maximum(None)).unwrap();
    runner.run_for(ms(5_000));
    assert_eq!(runner.done(plain).unwrap().at, ZERO + ms(100));
    assert_eq!(runner.done(bounded).unwrap().at, ZERO + ms(450));
    // The last progress comes at 1600 ms.
    assert_eq!(runner.done(default).unwrap().at, ZERO + ms(1_700));
}

#[test]
fn l11_the_hard_maximum_of_the_settings_holds_too() {
    let settings = server(|settings| settings.timeouts.maximum = Some(ms(250)));
    let mut runner = connected_to(settings, progressing());
    let token = runner.call(call("{}").reset_on_progress().timeout(Some(ms(100)))).unwrap();
    runner.ended(token);
    assert_eq!(runner.done(token).unwrap().at, ZERO + ms(250));
}

/// The cancel notices that the server got.
fn notices(runner: &Runner) -> Vec<Value> {
    let lines = runner.wire().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["method"] == "notifications/cancelled")
        .map(|line| line["params"].clone())
        .collect()
}

#[test]
fn l12_timeout_and_cancel_settle_at_once_and_then_tell_the_server() {
    let mut runner = connected(Scripted::silent());
    let timed = runner.call(call("{}").timeout(Some(ms(10)))).unwrap();
    let cancelled = runner.call(call("{}")).unwrap();
    runner.settle();
    assert!(runner.cancel(cancelled, &"é".repeat(500)));
    runner.settle();
    assert_eq!(runner.done(cancelled).unwrap().at, ZERO);
    let FailureKind::Cancelled(reason) = runner.outcome(cancelled).unwrap().failure().unwrap().kind() else {
        panic!()
    };
    assert_eq!(**reason, *"é".repeat(128));
    runner.ended(timed);
    runner.settle();
    let ids = [cancelled, timed].map(|token| runner.handle(token).unwrap().number());
    let told = notices(&runner);
    assert_eq!(told.iter().map(|params| params["requestId"].as_u64().unwrap()).collect::<Vec<_>>(), ids);
    assert!(told.iter().all(|params| params["reason"].as_str().unwrap().len() <= 256));
    assert_eq!([cancelled, timed].map(|token| code(&runner, token)), ["MCP_ABORTED", "MCP_TIMEOUT"]);
    assert!(!runner.cancel(cancelled, "again") && !runner.cancel(timed, ""));
    runner.settle();
    assert_eq!(notices(&runner).len(), 2);
}

#[test]
fn l12_a_call_of_which_no_byte_left_vanishes_from_the_queue() {
    let mut runner = stalled();
    let waiting = runner.call(call(r#"{"waits":1}"#)).unwrap();
    let timed = runner.call(call(r#"{"waits":2}"#).timeout(Some(ms(5)))).unwrap();
    let last = runner.call(call(r#"{"waits":3}"#)).unwrap();
    runner.settle();
    runner.cancel(waiting, "");
    runner.ended(timed);
    // The server reads again.
    runner.run_for(ms(2_000));
    assert!(notices(&runner).is_empty());
    let lines: Vec<&str> = runner.wire().filter(|line| line.contains("waits")).collect();
    assert!(lines.len() == 1 && lines.iter().all(|line| line.contains(r#""waits":3"#)), "{lines:?}");
    assert!(runner.outcome(last).is_none());
}

#[test]
fn l12_a_call_that_was_begun_is_finished_on_the_wire_and_its_notice_follows_it() {
    let mut runner = stalled();
    let partial = 3;
    assert!(runner.cancel(partial, ""));
    runner.settle();
    assert_eq!(runner.outcome(partial).and_then(Outcome::delivery), Some(Delivery::Partial));
    runner.run_for(ms(2_000));
    let id = runner.handle(partial).unwrap().number();
    let lines: Vec<Value> = runner.wire().map(|line| serde_json::from_str(line).unwrap()).collect();
    let request = lines.iter().position(|line| line["id"] == id).unwrap();
    let notice = lines.iter().position(|line| line["params"]["requestId"] == id).unwrap();
    assert!(request < notice);
}

#[test]
fn l12_a_call_that_shares_a_write_and_was_not_begun_leaves_it_again() {
    let mut session =
        sans_mcp::Session::<u8>::new(server(|settings| settings.list_on_connect = false)).unwrap();
    session.connect(ZERO, 0).unwrap();
    drain(&mut session, ZERO);
    let shaken = initialize("2025-11-25", "{}");
    session.handle_stdout(ZERO, format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{shaken}}}\n").as_bytes());
    drain(&mut session, ZERO);
    let handles = [1, 2, 3].map(|token| session.ping(ZERO, None, token).unwrap());
    let whole = match session.poll_output() {
        Output::Write(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(whole.lines().count(), 3);
    session.handle_written(ZERO, 10);
    for handle in &handles[..2] {
        session.cancel(ZERO, *handle, "");
    }
    let mut outcomes = Vec::new();
    let rest = loop {
        match session.poll_output() {
            Output::Complete(done) => outcomes.push(done.outcome.unwrap_err().delivery()),
            Output::Write(bytes) => break String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(outcomes, [Delivery::Partial, Delivery::NotSent]);
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(rest, format!("{}\n{}\n", &lines[0][10..], lines[2]));
}

#[test]
fn l12_initialize_is_never_cancelled() {
    let silent = || Scripted::on(|said, _| said.method == "initialize");
    let settings = || server(|settings| settings.timeouts.connect = Some(ms(300)));
    let mut runner = Runner::new(settings(), silent(), LinkOptions::default());
    let token = runner.connected();
    assert_eq!((code(&runner, token), runner.now()), ("MCP_CONNECT_TIMEOUT", ZERO + ms(300)));
    runner.run_until(Runner::is_closed);
    assert_eq!(runner.wire().count(), 1);
    // Nor when everybody gives up.
    let mut runner = Runner::new(settings(), silent(), LinkOptions::default());
    let token = runner.connect();
    runner.settle();
    assert!(runner.cancel(token, "enough"));
    runner.run_until(Runner::is_closed);
    assert_eq!((code(&runner, token), runner.wire().count()), ("MCP_ABORTED", 1));
    assert!(!runner.link().leaves_something());
}

#[test]
fn l12_a_notice_that_cannot_be_written_revives_nothing() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.act(ms(1), Act::CloseInput);
        }
        said.method == "tools/call"
    }));
    let timed = runner.call(call("{}").timeout(Some(ms(10)))).unwrap();
    let other = runner.call(call("{}").timeout(Some(ms(50)))).unwrap();
    runner.run_for(ms(100));
    assert_eq!([timed, other].map(|token| code(&runner, token)), ["MCP_TIMEOUT"; 2]);
    assert_eq!(runner.done(other).unwrap().at, ZERO + ms(50));
    assert_eq!((runner.counters().pending, notices(&runner).len()), (0, 0));
    assert!(runner.closed().gone());
}

#[test]
fn l11_a_time_that_goes_backwards_is_lifted_to_the_latest_one() {
    let mut session =
        sans_mcp::Session::<u8>::new(server(|settings| settings.timeouts.call = Some(ms(100)))).unwrap();
    let now = ZERO + ms(500);
    session.connect(now, 0).unwrap();
    drain(&mut session, now);
    let shaken = initialize("2025-11-25", r#"{"tools":{}}"#);
    for answer in [shaken, list(&["t"])]
        .iter()
        .zip(2..)
        .map(|(result, id)| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    {
        session.handle_stdout(now, format!("{answer}\n").as_bytes());
        drain(&mut session, now);
    }
    session.list_tools(ZERO, 1).unwrap();
    session.call(ZERO, call("{}"), 2).unwrap();
    assert_eq!(drain(&mut session, ZERO), Some(now + ms(100)));
    let counters = session.counters();
    // The listing, its page and the call.
    assert_eq!((counters.timeouts, counters.pending), (0, 3));
}

/// Does what a driver does about writes until nothing is left, and gives the wait.
fn drain(session: &mut sans_mcp::Session<u8>, now: Time) -> Option<Time> {
    loop {
        match session.poll_output() {
            Output::Spawn => session.handle_spawned(now, 1),
            Output::Write(bytes) => {
                let count = bytes.len();
                session.handle_written(now, count);
            }
            Output::Wait { until, .. } => return until,
            _ => {}
        }
    }
}

/// A host that could not pump in time: its machine was suspended, or it had other things to do.
#[test]
fn l11_a_late_host_does_not_fail_a_call_that_was_answered() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" && said.argument("answer") == true {
            agenda.write(ms(10), format!("{}\n", said.text("ok")).into_bytes());
        }
        said.method == "tools/call"
    }));
    let answered = runner.call(call(r#"{"answer":true}"#).timeout(Some(ms(500)))).unwrap();
    let silent = runner.call(call("{}").timeout(Some(ms(500)))).unwrap();
    runner.stall(ms(3_600_000));
    assert!(runner.outcome(answered).unwrap().answer().is_some(), "{}", runner.trace());
    assert_eq!(runner.outcome(silent).unwrap().code(), Some(Code::TIMEOUT));
}
