//! `script`, on the fixture server. What the interpreter does is tested in core; here it is that it is connected.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::support::{COMMAND, Place, finish, is_alive, run, run_words, signal, spawn_on, start};
use rustix::process::Signal;
use serde_json::{Value, json};

fn events(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

/// A script that is written and read line by line.
struct Conversation {
    child: Child,
    events: BufReader<std::process::ChildStdout>,
}

impl Conversation {
    fn start(words: &[&str], switches: &str) -> Conversation {
        Conversation::with(start(&[&["script", "-"], words].concat(), switches))
    }

    fn with(mut child: Child) -> Conversation {
        let events = BufReader::new(child.stdout.take().expect("it is piped"));
        Conversation { child, events }
    }

    fn say(&mut self, command: Value) {
        writeln!(self.child.stdin.as_mut().expect("it is open"), "{command}").expect("it reads");
    }

    fn event(&mut self) -> Value {
        let mut line = String::new();
        self.events.read_line(&mut line).expect("it is read");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

#[test]
fn l10_a_script_from_a_file_runs_calls_side_by_side() {
    let place = Place::new();
    let file = place.write(
        "script.jsonl",
        r#"{"op":"call","id":"slow","tool":"echo","arguments":{"value":"slow","delay":60}}
{"op":"call","id":"fast","tool":"echo","arguments":{"value":{"n":9007199254740993,"f":1.0}}}
{"op":"wait"}
{"op":"call","id":"late","tool":"never","timeout_ms":50}
{"op":"call","id":"wrong","tool":"fail","arguments":{"message":"m"}}
{"op":"wait"}
{"op":"counters"}
"#,
    );
    let ran = run(&format!("script {file}"), "");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let events = events(&ran.stdout);
    let ids: Vec<_> = events.iter().filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ids, ["fast", "slow", "wrong", "late"]);
    assert!(ran.stdout.contains(r#""text":"{\"n\":9007199254740993,\"f\":1.0}""#), "{}", ran.stdout);
    assert_eq!((&events[3]["ok"], &events[3]["result"]["isError"]), (&json!(true), &json!(true)));
    assert_eq!((&events[4]["ok"], &events[4]["error"]["code"]), (&json!(false), &json!("MCP_TIMEOUT")));
    assert_eq!((&events[5]["pending"], &events[5]["timeouts"]), (&json!(0), &json!(1)));
    assert_eq!((&events[6]["event"], &events[6]["gone"]), (&json!("closed"), &json!(true)));
}

#[test]
fn a_script_on_stdin_is_a_conversation() {
    let mut conversation = Conversation::start(&[], "");
    assert_eq!(conversation.event()["server"]["name"], "fixture-server");
    conversation.say(json!({"op": "call", "id": "a", "tool": "echo", "arguments": {"value": "one"}}));
    assert_eq!(conversation.event()["result"]["content"][0]["text"], "one");
    conversation.say(
        json!({"op": "call", "id": "a", "tool": "progress", "arguments": {"steps": 2}, "progress": true}),
    );
    assert_eq!(conversation.event()["params"]["progress"], 1);
    assert_eq!(conversation.event()["params"]["progress"], 2);
    assert_eq!(conversation.event()["id"], "a");
    conversation.say(json!({"op": "call", "id": "n", "tool": "never"}));
    conversation.say(json!({"op": "cancel", "id": "n"}));
    assert_eq!(conversation.event()["error"]["code"], "MCP_ABORTED");
    conversation.say(json!({"op": "sleep", "ms": 30}));
    conversation.say(json!({"op": "list", "id": "l"}));
    assert_eq!(conversation.event()["result"]["tools"].as_array().map(Vec::len), Some(13));
    conversation.say(json!({"op": "close"}));
    assert_eq!(conversation.event()["event"], "closed");
    assert_eq!(
        conversation.child.wait().expect("it ends").code(),
        Some(0),
        "although its stdin is still open"
    );
}

#[test]
fn bad_lines_are_events_and_tell_in_the_status() {
    let script = "nonsense\n{\"op\":\"call\",\"tool\":\"ecko\",\"id\":\"x\"}\n{\"op\":\"ping\",\"id\":\"p\"}\n{\"op\":\"wait\"}\n";
    let ran = run_words(&["script", "-"], "", script);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(2), ""));
    let events = events(&ran.stdout);
    assert_eq!(names(&events), ["ready", "error", "completed", "completed", "closed"]);
    assert_eq!((&events[2]["id"], &events[2]["error"]["code"]), (&json!("x"), &json!("MCP_UNKNOWN_TOOL")));
    assert_eq!((&events[3]["id"], &events[3]["ok"]), (&json!("p"), &json!(true)));
}

#[test]
fn a_script_that_cannot_be_read_any_more_closes_the_session() {
    let directory = File::open("/").expect("it is there");
    let words = ["script", "-", "--", COMMAND, "fixture-server"];
    let ran = finish(spawn_on(&words, directory.into(), Stdio::piped()), "");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.starts_with("sans-mcp: the script cannot be read any more: "), "{}", ran.stderr);
    assert_eq!(names(&events(&ran.stdout)).last(), Some(&"closed"));
}

#[test]
fn events_that_cannot_be_written_fail_the_script() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("a device that is always full");
    let words = ["script", "-", "--", COMMAND, "fixture-server"];
    let mut child = spawn_on(&words, Stdio::piped(), full.into());
    assert_eq!(child.wait().expect("it ends, although its stdin is open").code(), Some(1));
    let said = finish(child, "").stderr;
    assert!(said.starts_with("sans-mcp: cannot write the result: No space left"), "{said}");
}

#[test]
fn l26_answers_are_given_and_shown() {
    let script = "{\"op\":\"call\",\"id\":\"a\",\"tool\":\"ask\",\"arguments\":{\"method\":\"roots/list\"}}\n{\"op\":\"wait\"}\n";
    let ran = run_words(&["script", "-", "--answer", r#"roots/list={"roots":[]}"#], "", script);
    let events = events(&ran.stdout);
    assert_eq!(names(&events), ["ready", "request", "completed", "closed"]);
    assert_eq!(events[1]["answer"], json!({"roots": []}));
}

#[test]
fn l15_a_server_that_dies_ends_the_script_with_its_status() {
    let script = "{\"op\":\"call\",\"id\":\"a\",\"tool\":\"exit\",\"arguments\":{\"code\":3}}\n{\"op\":\"wait\"}\n{\"op\":\"ping\",\"id\":\"p\"}\n";
    let ran = run_words(&["script", "-"], "--stderr-text why", script);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(6), ""));
    let events = events(&ran.stdout);
    assert_eq!(names(&events), ["ready", "completed", "completed", "closed"]);
    assert_eq!(events[1]["error"]["exit"], json!({"code": 3}));
    assert_eq!(events[2]["error"]["delivery"], "not sent");
    assert_eq!(
        (&events[3]["code"], &events[3]["stderr_tail"]),
        (&json!("MCP_PROCESS_EXIT"), &json!("why\n"))
    );
}

#[test]
fn l06_a_server_that_cannot_start_is_an_event_and_a_status() {
    let ran = crate::support::run_alone("script /dev/null -- /no/such/server");
    assert_eq!(ran.status, Some(3));
    assert_eq!(names(&events(&ran.stdout)), ["closed"]);
    assert_eq!(events(&ran.stdout)[0]["code"], "MCP_NOT_FOUND");
}

#[test]
fn l17_a_signal_closes_the_session_and_completes_what_is_open() {
    let place = Place::new();
    let mut conversation = Conversation::start(&[], &format!("--pids {}", place.file("pids")));
    conversation.event();
    conversation.say(json!({"op": "call", "id": "n", "tool": "never"}));
    conversation.say(json!({"op": "wait"}));
    conversation.say(json!({"op": "counters"}));
    signal(&conversation.child, Signal::INT);
    let mut last = conversation.event();
    while last["event"] != "closed" {
        assert!(last["event"] == "completed" || last["event"] == "counters", "{last}");
        last = conversation.event();
    }
    assert_eq!(conversation.child.wait().expect("it ends").code(), Some(130));
    assert!(!is_alive(place.pids("pids")[0]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_under_nohup_outlives_its_terminal() {
    let mut command = Command::new("nohup");
    command.args([COMMAND, "script", "-", "--", COMMAND, "fixture-server"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut conversation = Conversation::with(command.spawn().expect("it is installed"));
    assert_eq!(conversation.event()["event"], "ready");
    signal(&conversation.child, Signal::HUP);
    conversation.say(json!({"op": "ping"}));
    conversation.say(json!({"op": "wait"}));
    conversation.say(json!({"op": "close"}));
    assert_eq!(conversation.event()["ok"], true);
    assert_eq!(conversation.event()["event"], "closed");
    assert_eq!(conversation.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_reader_that_leaves_ends_the_script() {
    let place = Place::new();
    let mut conversation = Conversation::start(&[], &format!("--pids {}", place.file("pids")));
    conversation.event();
    let Conversation { mut child, events } = conversation;
    drop(events);
    writeln!(
        child.stdin.as_mut().expect("it is open"),
        "{}\n{}",
        json!({"op": "counters"}),
        json!({"op": "list"})
    )
    .expect("it reads");
    let pid = place.pids("pids")[0];
    assert_eq!(child.wait().expect("it ends, although its stdin is open").code(), Some(0));
    assert!(!is_alive(pid));
    drop(finish_quietly(child));
}

/// Collects what is left of a process that was waited for.
fn finish_quietly(mut child: Child) -> Vec<u8> {
    let mut said = Vec::new();
    let _ = std::io::Read::read_to_end(child.stderr.as_mut().expect("it is piped"), &mut said);
    assert_eq!(String::from_utf8_lossy(&said), "");
    said
}

#[test]
fn options_hold_for_scripts_too() {
    let script = "{\"op\":\"call\",\"id\":\"a\",\"tool\":\"never\"}\n{\"op\":\"call\",\"id\":\"b\",\"tool\":\"echo\"}\n{\"op\":\"wait\"}\n";
    let ran = finish(start(&["script", "-", "--timeout", "50ms", "--no-validate"], ""), script);
    let events = events(&ran.stdout);
    assert_eq!(names(&events), ["ready", "completed", "completed", "closed"]);
    assert_eq!(events[1]["error"]["remote"]["code"], -32602, "the server refused, not the client");
    assert_eq!(events[2]["error"]["code"], "MCP_TIMEOUT");
}
