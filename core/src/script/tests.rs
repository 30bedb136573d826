//! Scripts against a bare session: no process, no clock.

mod backlog;
mod driving;
mod stage;

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::config::{Server, Settings};
use crate::process::{Exit, Tree};
use stage::Stage;

const CALL_A: &str = "{\"op\":\"call\",\"id\":\"a\",\"tool\":\"plain\"}\n";
const CALL_B: &str = "{\"op\":\"call\",\"id\":\"b\",\"tool\":\"plain\"}\n";

#[test]
fn a_script_connects_by_itself_and_its_commands_wait_for_that() {
    let mut stage = Stage::new(CALL_A);
    stage.run();
    assert_eq!(stage.sent.len(), 1, "only initialize: {:?}", stage.sent);
    stage.shake_hands();
    let ready = stage.only_event();
    assert_eq!(
        ready,
        json!({"event": "ready", "server": {"name": "stage", "version": "1", "title": "A stage"}, "version": "2025-11-25",
            "instructions": "be kind", "tools": ["echo", "plain"], "ms": 0.0})
    );
    assert_eq!(stage.request("tools/call")["params"]["name"], "plain");
}

#[test]
fn what_happens_before_the_connection_is_made_is_told_before_ready() {
    let mut stage = Stage::new("");
    stage.run();
    stage.say_raw("starting up");
    stage.shake_hands();
    let events = stage.events();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["diagnostic", "ready"]);
}

#[test]
fn operations_run_side_by_side_and_each_gets_its_own_raw_result() {
    let mut stage = Stage::connected(&format!("{CALL_A}{CALL_B}"));
    stage.events();
    let (first, second) =
        (stage.request("tools/call")["id"].clone(), stage.request("tools/call")["id"].clone());
    stage.now = Time::from_micros(1_500);
    stage.session.handle_stdout(
        stage.now,
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{second},\"result\":{{\"n\" : 9007199254740993,\r\"f\":1.0}}}}\n"
        )
        .as_bytes(),
    );
    stage.script.advance(&mut stage.session, stage.now);
    let Output::Complete(done) = stage.session.poll_output() else { panic!("the answer comes first") };
    stage.script.handle_output(Output::Complete(done));
    assert_eq!(
        stage.script.poll_event().unwrap(),
        r#"{"event":"completed","id":"b","ok":true,"result":{"n" : 9007199254740993, "f":1.0},"ms":1.500}"#
    );
    stage.run();
    stage.say(json!({"jsonrpc": "2.0", "id": first, "result": {"isError": true}}));
    let done = stage.only_event();
    assert_eq!(
        (&done["id"], &done["ok"], &done["result"]),
        (&json!("a"), &json!(true), &json!({"isError": true}))
    );
}

#[test]
fn l14_a_remote_error_keeps_its_parts() {
    let mut stage = Stage::connected(CALL_A);
    stage.events();
    let id = stage.request("tools/call")["id"].clone();
    stage.say_raw(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no","data":[1.0]}}}}"#
    ));
    let done = stage.only_event();
    assert_eq!((&done["ok"], &done["error"]["code"]), (&json!(false), &json!("MCP_ERROR")));
    assert_eq!(done["error"]["delivery"], "sent");
    assert_eq!(done["error"]["remote"], json!({"code": -32000, "message": "no", "data": [1.0]}));
}

#[test]
fn l25_a_result_that_does_not_fit_the_schema_fails_where_that_is_checked() {
    let mut stage = Stage::connected("{\"op\":\"call\",\"id\":\"a\",\"tool\":\"echo\"}\n");
    stage.events();
    let id = stage.request("tools/call")["id"].clone();
    stage.say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": [], "structuredContent": {"m": 1}}}));
    let done = stage.only_event();
    if cfg!(feature = "schema") {
        assert_eq!(done["error"]["code"], "MCP_INVALID_RESULT", "{done}");
        assert!(
            done["error"]["message"].as_str().unwrap().contains("\"n\" is a required property"),
            "{done}"
        );
    } else {
        assert_eq!(done["ok"], true, "{done}");
    }
}

#[test]
fn a_refused_command_completes_and_leaves_no_trace() {
    let mut stage = Stage::connected("{\"op\":\"call\",\"id\":\"a\",\"tool\":\"plan\"}\n");
    let done = stage.events().pop().unwrap();
    assert_eq!((&done["event"], &done["id"], &done["ok"]), (&json!("completed"), &json!("a"), &json!(false)));
    assert_eq!(done["error"]["code"], "MCP_UNKNOWN_TOOL");
    assert_eq!(done["error"]["delivery"], "not sent");
    assert!(done["error"]["message"].as_str().unwrap().contains("did you mean `plain`"));
    stage.feed("{\"op\":\"request\",\"id\":\"a\",\"method\":\"resources/list\"}\n");
    assert_eq!(stage.only_event()["error"]["code"], "MCP_UNSUPPORTED");
    for method in ["tools/call", "initialize"] {
        stage.feed(&format!("{{\"op\":\"request\",\"method\":\"{method}\"}}\n"));
        assert_eq!(stage.only_event()["error"]["code"], "MCP_RESERVED");
    }
    for command in [r#""op":"request","method":"ping""#, r#""op":"call","tool":"plain""#] {
        stage.feed(&format!("{{{command},\"meta\":{{\"mcp.dev/x\":1}}}}\n"));
        let done = stage.only_event();
        assert_eq!((&done["id"], &done["error"]["code"]), (&Value::Null, &json!("MCP_RESERVED")));
    }
    assert_eq!(stage.sent.len(), 0);
}

#[test]
fn a_line_is_one_json_text_and_its_bytes_are_counted_from_its_beginning() {
    let mut stage = Stage::connected(
        "  {\"op\":\"ping\"} x\n{\"op\":\"counters\"}\x0c\n \x0c\r\n {\"op\":\"counters\"}\t\r\n",
    );
    let events = stage.events();
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!(events[1]["message"], "not JSON at byte 17: check its quotes, commas and brackets");
    assert_eq!(events[2]["message"], "not JSON at byte 18: check its quotes, commas and brackets");
    assert_eq!(events[3]["event"], "counters");
}

#[test]
fn bad_lines_are_events_and_not_the_end() {
    let mut stage =
        Stage::connected(&format!("nonsense\n\n{CALL_A}{CALL_A}{{\"op\":\"cancel\",\"id\":\"x\"}}\n"));
    stage.feed("{\"op\":\"notify\",\"method\":\"notifications/initialized\"}\n");
    let events = stage.events();
    let told: Vec<_> =
        events[1..].iter().map(|event| (event["line"].clone(), event["message"].clone())).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], (json!(1), json!("not JSON at byte 2: check its quotes, commas and brackets")));
    assert_eq!(told[1], (json!(4), json!("an operation `a` is open: choose another id, or wait for it")));
    assert_eq!(told[2], (json!(5), json!("there was no operation `x`: write the id that it was given")));
    assert_eq!(told[3].0, json!(6));
    assert_eq!(stage.script.bad_lines(), 4);
    assert_eq!(stage.request("tools/call")["params"]["name"], "plain");
    assert_eq!(stage.sent.len(), 0, "the second call of the same id was not sent");
}

#[test]
fn an_id_can_be_used_again_once_its_operation_ended() {
    let mut stage = Stage::connected(&format!("{CALL_A}{{\"op\":\"wait\",\"id\":\"a\"}}\n{CALL_A}"));
    let id = stage.request("tools/call")["id"].clone();
    assert_eq!(stage.sent.len(), 0, "the second call waits");
    stage.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    assert_ne!(stage.request("tools/call")["id"], id);
}

#[test]
fn wait_blocks_until_one_or_all_have_ended() {
    let counters = "{\"op\":\"counters\"}\n";
    let mut stage = Stage::connected(&format!(
        "{CALL_A}{CALL_B}{{\"op\":\"wait\",\"id\":\"b\"}}\n{counters}{{\"op\":\"wait\"}}\n{counters}"
    ));
    stage.events();
    let (a, b) = (stage.request("tools/call")["id"].clone(), stage.request("tools/call")["id"].clone());
    stage.say(json!({"jsonrpc": "2.0", "id": b, "result": {}}));
    let events = stage.events();
    assert_eq!((&events[0]["id"], &events[1]["pending"]), (&json!("b"), &json!(1)));
    stage.say(json!({"jsonrpc": "2.0", "id": a, "result": {}}));
    let events = stage.events();
    assert_eq!((&events[0]["id"], &events[1]["pending"]), (&json!("a"), &json!(0)));
    assert_eq!(events[1]["latency"]["tools/call"].as_array().unwrap().len(), 17);
    // Nothing is open under an id that was never used: nothing to wait for.
    stage.feed(&format!("{{\"op\":\"wait\",\"id\":\"z\"}}\n{counters}"));
    assert_eq!(stage.only_event()["event"], "counters");
}

#[test]
fn sleep_blocks_for_its_time() {
    let mut stage = Stage::connected("{\"op\":\"sleep\",\"ms\":20}\n{\"op\":\"ping\",\"id\":\"p\"}\n");
    assert_eq!(stage.script.next_timeout(), Some(Time::ZERO + Duration::from_millis(20)));
    stage.wait(19);
    assert_eq!(stage.sent.len(), 0);
    stage.wait(1);
    assert_eq!(stage.script.next_timeout(), None);
    let id = stage.request("ping")["id"].clone();
    stage.events();
    stage.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    assert_eq!(
        stage.only_event(),
        json!({"event": "completed", "id": "p", "ok": true, "result": {}, "ms": 0.0})
    );
}

#[test]
fn l11_l12_timeout_and_cancel_complete_the_operation() {
    let mut stage = Stage::connected(
        "{\"op\":\"call\",\"id\":\"t\",\"tool\":\"plain\",\"timeout_ms\":5}\n{\"op\":\"call\",\"id\":\"c\",\"tool\":\"plain\"}\n{\"op\":\"cancel\",\"id\":\"c\",\"reason\":\"enough\"}\n",
    );
    let events = stage.events();
    assert_eq!((&events[1]["id"], &events[1]["error"]["code"]), (&json!("c"), &json!("MCP_ABORTED")));
    assert_eq!(
        events[1]["error"]["message"],
        "server `stage`: `tools/call` of `plain` failed: cancelled: enough"
    );
    stage.wait(5);
    let done = stage.only_event();
    assert_eq!((&done["id"], &done["error"]["code"]), (&json!("t"), &json!("MCP_TIMEOUT")));
    assert_eq!((&done["error"]["delivery"], &done["ms"]), (&json!("sent"), &json!(5.0)));
}

#[test]
fn l12_a_cancel_that_is_late_is_no_error() {
    let cancel = |id: &str| format!("{{\"op\":\"cancel\",\"id\":\"{id}\"}}\n");
    let mut stage =
        Stage::connected(&format!("{CALL_A}{{\"op\":\"call\",\"id\":\"r\",\"tool\":\"none\"}}\n"));
    let id = stage.request("tools/call")["id"].clone();
    stage.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    stage.events();
    stage.feed(&format!("{}{}", cancel("a"), cancel("r")));
    assert_eq!(stage.events(), Vec::<Value>::new(), "both have completed, one because it was refused");
    assert_eq!((stage.sent.len(), stage.script.bad_lines()), (0, 0));
    stage.feed(&cancel("z"));
    assert_eq!(stage.only_event()["event"], "error");
}

#[test]
fn progress_and_notifications_pass_through() {
    let mut stage = Stage::connected("{\"op\":\"call\",\"id\":\"a\",\"tool\":\"plain\",\"progress\":true}\n");
    stage.events();
    let call = stage.request("tools/call");
    let token = &call["params"]["_meta"]["progressToken"];
    stage.say_raw(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1.0}}}}"#
    ));
    assert_eq!(
        stage.only_event(),
        json!({"event": "progress", "id": "a", "params": {"progressToken": token, "progress": 1.0}})
    );
    stage.say_raw(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#);
    assert_eq!(
        stage.only_event(),
        json!({"event": "notification", "method": "notifications/message", "params": {"level": "info"}})
    );
    stage.say_raw("not a message");
    let event = stage.only_event();
    assert_eq!((&event["event"], &event["count"]), (&json!("diagnostic"), &json!(1)));
}

#[test]
fn l26_requests_of_the_server_get_the_configured_answer() {
    let mut answers = Answers::default();
    answers.set("roots/list", r#"{"roots":[]}"#).unwrap();
    answers.set("sampling/createMessage", r#"{"error":{"code":-1,"message":"no"}}"#).unwrap();
    let mut stage = Stage::with("", Settings::default(), answers);
    stage.shake_hands();
    stage.events();
    stage.say(json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list", "params": {"x": 1}}));
    assert_eq!(
        stage.only_event(),
        json!({"event": "request", "method": "roots/list", "params": {"x": 1}, "answer": {"roots": []}})
    );
    assert_eq!(
        stage.sent.pop_front().unwrap(),
        json!({"jsonrpc": "2.0", "id": "q", "result": {"roots": []}})
    );
    stage.say(json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}}));
    assert_eq!(stage.only_event()["answer"], json!({"error": {"code": -1, "message": "no"}}));
    assert_eq!(stage.sent.pop_front().unwrap()["error"], json!({"code": -1, "message": "no"}));
}

#[test]
fn list_gives_the_joined_raw_list() {
    let mut stage = Stage::connected("{\"op\":\"list\",\"id\":\"l\"}\n");
    stage.events();
    let id = stage.request("tools/list")["id"].clone();
    stage.say_raw(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"x","inputSchema":{{"minimum":1.0}}}}]}}}}"#
    ));
    let done = stage.only_event();
    assert_eq!(done["result"], json!({"tools": [{"name": "x", "inputSchema": {"minimum": 1.0}}]}));
}

#[test]
fn the_end_of_input_closes_and_what_is_open_completes_first() {
    let mut stage = Stage::connected(CALL_A.trim_end());
    stage.script.handle_end();
    stage.run();
    let events = stage.events();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["ready", "completed", "closed"]);
    assert_eq!(events[1]["error"]["code"], "CLIENT_CLOSED");
    assert_eq!(
        events[2],
        json!({"event": "closed", "code": "CLIENT_CLOSED", "cause": "closed by the host", "gone": true,
            "exit": {"code": 0}})
    );
    assert!(stage.script.is_over() && !stage.script.wants_input());
}

#[test]
fn the_end_of_input_lets_waiting_commands_finish() {
    let mut stage = Stage::connected(&format!("{CALL_A}{{\"op\":\"wait\"}}\n"));
    stage.script.handle_end();
    stage.run();
    let id = stage.request("tools/call")["id"].clone();
    stage.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    let events = stage.events();
    assert_eq!(events[1]["ok"], true, "{events:?}");
    assert_eq!(events[2]["event"], "closed");
}

#[test]
fn l15_an_exit_completes_everything_and_the_rest_of_the_script_is_refused() {
    let mut stage = Stage::connected(&format!(
        "{CALL_A}{{\"op\":\"wait\"}}\n{{\"op\":\"sleep\",\"ms\":60000}}\n{CALL_B}"
    ));
    stage.events();
    stage.session.handle_stderr(stage.now, b"out of disk\n");
    stage.session.handle_eof(stage.now);
    stage.session.handle_exit(stage.now, Exit::Code(3));
    stage.run();
    let events = stage.events();
    assert_eq!(events.len(), 3, "{events:?}");
    let error = &events[0]["error"];
    assert_eq!((&error["code"], &error["exit"]), (&json!("MCP_PROCESS_EXIT"), &json!({"code": 3})));
    assert_eq!(error["stderr_tail"], "out of disk\n");
    assert_eq!((&events[1]["id"], &events[1]["ok"]), (&json!("b"), &json!(false)));
    assert_eq!((&events[2]["event"], &events[2]["exit"]), (&json!("closed"), &json!({"code": 3})));
    assert_eq!(events[2]["stderr_tail"], "out of disk\n");
}

#[test]
fn l06_a_server_that_cannot_start_ends_the_script() {
    let mut stage = Stage::new(CALL_A);
    stage.script.advance(&mut stage.session, stage.now);
    while !matches!(stage.session.poll_output(), Output::Spawn) {}
    let failure = crate::process::StartFailure::NotFound { searched_path: true };
    stage.session.handle_spawn_failed(stage.now, failure);
    stage.run();
    let events = stage.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!((&events[0]["event"], &events[0]["ok"]), (&json!("completed"), &json!(false)));
    assert_eq!((&events[1]["event"], &events[1]["code"]), (&json!("closed"), &json!("MCP_NOT_FOUND")));
    assert!(stage.script.is_over());
}

#[test]
fn a_script_for_a_session_that_is_over_is_refused_line_by_line() {
    let mut stage = Stage::new(CALL_A);
    stage.session.close(Time::ZERO);
    stage.run();
    let events = stage.events();
    assert_eq!(
        (&events[0]["error"]["code"], &events[1]["event"]),
        (&json!("CLIENT_CLOSED"), &json!("closed"))
    );
}

#[test]
fn shutdown_lets_open_operations_finish_and_refuses_new_ones() {
    let mut stage = Stage::connected(&format!("{CALL_A}{{\"op\":\"shutdown\",\"grace_ms\":100}}\n{CALL_B}"));
    let events = stage.events();
    assert_eq!((&events[1]["id"], &events[1]["error"]["code"]), (&json!("b"), &json!("CLIENT_CLOSED")));
    let id = stage.request("tools/call")["id"].clone();
    stage.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    let events = stage.events();
    assert_eq!((&events[0]["id"], &events[0]["ok"]), (&json!("a"), &json!(true)));
    assert_eq!(events[1]["event"], "closed");
}

#[test]
fn the_end_of_input_leaves_a_shutdown_its_grace() {
    let script = format!("{CALL_A}{{\"op\":\"shutdown\",\"grace_ms\":100}}\n");
    let started = || {
        let mut stage = Stage::connected(&script);
        stage.script.handle_end();
        stage.run();
        stage.wait(99);
        assert_eq!(stage.events().len(), 1, "only `ready`");
        stage
    };
    let mut answered = started();
    let id = answered.request("tools/call")["id"].clone();
    answered.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    let events = answered.events();
    assert_eq!((&events[0]["ok"], &events[1]["event"]), (&json!(true), &json!("closed")));
    assert!(answered.script.is_over());

    let mut silent = started();
    silent.wait(1);
    let events = silent.events();
    assert_eq!(
        (&events[0]["error"]["code"], &events[1]["event"]),
        (&json!("CLIENT_CLOSED"), &json!("closed"))
    );
}

#[test]
fn any_split_of_a_script_gives_the_same_events() {
    let script = format!(
        "{CALL_A}\nbad\n{{\"op\":\"cancel\",\"id\":\"a\"}}\n{{\"op\":\"wait\"}}\n{{\"op\":\"counters\"}}"
    );
    let run = |chunk: usize| {
        let mut stage = Stage::connected("");
        for piece in script.as_bytes().chunks(chunk) {
            stage.script.handle_input(piece);
            stage.interpret();
        }
        stage.script.handle_end();
        stage.run();
        stage.events()
    };
    let whole = run(script.len());
    assert_eq!(whole.len(), 5, "{whole:?}");
    for chunk in [1, 2, 7, 64] {
        assert_eq!(run(chunk), whole);
    }
}
