//! What happens in a script, on both drivers.

use crate::both::{Ran, same, same_after_signal, same_for};

/// The names of the events, and the ids of those that have one.
fn outline(ran: &Ran) -> Vec<String> {
    let member = |event: &serde_json::Value, name: &str| event[name].as_str().map(str::to_owned);
    ran.events
        .iter()
        .map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).expect("every event is JSON");
            let code = member(&event["error"], "code").or_else(|| member(&event, "code"));
            [member(&event, "event"), member(&event, "id"), code]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn calls_run_side_by_side() {
    let ran = same(
        &[],
        &[],
        r#"{"op":"call","id":"slow","tool":"echo","arguments":{"value":"slow","delay":700}}
{"op":"call","id":"fast","tool":"echo","arguments":{"value":{"n":9007199254740993,"f":1.0}}}
{"op":"wait"}
{"op":"call","id":"bad","tool":"fail","arguments":{"message":"m"}}
{"op":"wait","id":"bad"}
{"op":"ping","id":"p"}
{"op":"wait"}
{"op":"counters"}
"#,
    );
    let expected = [
        "ready",
        "completed fast",
        "completed slow",
        "completed bad",
        "completed p",
        "counters",
        "closed CLIENT_CLOSED",
    ];
    assert_eq!((outline(&ran), ran.status), (expected.map(str::to_owned).to_vec(), Some(0)));
}

#[test]
fn l12_a_cancelled_call_completes_and_its_late_answer_is_told_of() {
    let ran = same(
        &[],
        &[],
        r#"{"op":"call","id":"n","tool":"never"}
{"op":"call","id":"e","tool":"echo","arguments":{"value":1}}
{"op":"wait","id":"e"}
{"op":"cancel","id":"n","reason":"enough"}
{"op":"wait"}
{"op":"cancel","id":"n"}
{"op":"cancel","id":"m"}
{"op":"call","id":"s","tool":"stats"}
{"op":"wait"}
"#,
    );
    let expected =
        ["ready", "completed e", "completed n MCP_ABORTED", "error", "completed s", "closed CLIENT_CLOSED"];
    assert_eq!((outline(&ran), ran.status), (expected.map(str::to_owned).to_vec(), Some(2)));
}

#[test]
fn l11_timeouts_fire_in_their_order() {
    let ran = same(
        &["--timeout", "4500ms"],
        &[],
        r#"{"op":"call","id":"own","tool":"never","timeout_ms":3000}
{"op":"call","id":"short","tool":"never","timeout_ms":1500}
{"op":"call","id":"usual","tool":"never"}
{"op":"call","id":"ever","tool":"echo","arguments":{"value":1,"delay":6500},"timeout_ms":null}
{"op":"wait"}
"#,
    );
    let expected = [
        "ready",
        "completed short MCP_TIMEOUT",
        "completed own MCP_TIMEOUT",
        "completed usual MCP_TIMEOUT",
        "completed ever",
        "closed CLIENT_CLOSED",
    ];
    assert_eq!((outline(&ran), ran.status), (expected.map(str::to_owned).to_vec(), Some(0)));
}

#[test]
fn l26_requests_of_the_server_are_answered_or_not() {
    let ran = same(
        &["--answer", r#"roots/list={"roots":[{"uri":"file:///srv"}]}"#],
        &[],
        r#"{"op":"call","id":"known","tool":"ask","arguments":{"method":"roots/list"}}
{"op":"wait"}
{"op":"call","id":"not","tool":"ask","arguments":{"method":"sampling/createMessage"}}
{"op":"wait"}
{"op":"call","id":"ping","tool":"ask","arguments":{"method":"ping"}}
{"op":"wait"}
"#,
    );
    let expected = [
        "ready",
        "request",
        "completed known",
        "diagnostic",
        "completed not",
        "completed ping",
        "closed CLIENT_CLOSED",
    ];
    assert_eq!((outline(&ran), ran.status), (expected.map(str::to_owned).to_vec(), Some(0)));
}

#[test]
fn progress_is_told_step_by_step() {
    let ran = same(
        &[],
        &[],
        r#"{"op":"call","id":"a","tool":"progress","arguments":{"steps":20},"progress":true}
{"op":"wait"}
{"op":"call","id":"b","tool":"progress","arguments":{"steps":4,"interval_ms":250},"progress":true,"reset_on_progress":true,"timeout_ms":800}
{"op":"wait"}
{"op":"call","id":"c","tool":"progress","arguments":{"steps":3}}
{"op":"wait"}
"#,
    );
    let told = |id: &str| outline(&ran).iter().filter(|line| **line == format!("progress {id}")).count();
    assert_eq!((told("a"), told("b"), told("c"), ran.status), (20, 4, 0, Some(0)));
}

#[test]
fn a_list_that_changes_is_fetched_anew() {
    let ran = same(
        &[],
        &["--page", "5"],
        r#"{"op":"call","id":"c","tool":"change_tools"}
{"op":"wait"}
{"op":"list","id":"l"}
{"op":"wait"}
{"op":"call","id":"n","tool":"notify","arguments":{"method":"notifications/message","params":{"level":"info","data":"x"},"count":5}}
{"op":"wait"}
"#,
    );
    assert!(ran.events.iter().any(|line| line.contains("notifications/tools/list_changed")), "{ran:#?}");
    assert!(ran.events.iter().any(|line| line.contains(r#""id":"l","ok":true"#)), "{ran:#?}");
    let told = ran.events.iter().filter(|line| line.contains("notifications/message")).count();
    assert_eq!((told, ran.status), (5, Some(0)));
}

#[test]
fn l15_a_server_that_exits_ends_every_call() {
    let ran = same(
        &[],
        &["--stderr-text", "why"],
        r#"{"op":"call","id":"n","tool":"never"}
{"op":"call","id":"x","tool":"exit","arguments":{"code":3}}
{"op":"wait"}
{"op":"ping","id":"p"}
"#,
    );
    let lines = outline(&ran);
    assert_eq!((lines.len(), ran.status), (5, Some(6)), "{ran:#?}");
    assert_eq!(ran.events.iter().filter(|line| line.contains(r#""exit":{"code":3}"#)).count(), 3, "{ran:#?}");
}

#[test]
fn a_close_ends_what_is_open_and_the_script() {
    let ran = same(
        &[],
        &["--ignore-eof"],
        r#"{"op":"call","id":"n","tool":"never"}
{"op":"close"}
{"op":"ping","id":"p"}
{"op":"wait"}
"#,
    );
    let expected =
        ["ready", "completed n CLIENT_CLOSED", "completed p CLIENT_CLOSED", "closed CLIENT_CLOSED"];
    let mut lines = outline(&ran);
    lines.sort_by_key(|line| expected.iter().position(|known| known == line));
    assert_eq!((lines, ran.status), (expected.map(str::to_owned).to_vec(), Some(0)));
}

#[test]
fn a_shutdown_lets_what_is_open_finish() {
    let ran = same(
        &[],
        &[],
        r#"{"op":"call","id":"e","tool":"echo","arguments":{"value":1,"delay":200}}
{"op":"shutdown","grace_ms":10000}
{"op":"ping","id":"p"}
"#,
    );
    assert!(ran.events.iter().any(|line| line.contains(r#""id":"e","ok":true"#)), "{ran:#?}");
    assert_eq!(ran.status, Some(0));
}

#[test]
fn bad_lines_and_bad_arguments_are_told() {
    let ran = same(
        &[],
        &[],
        "nonsense\n\n{\"op\":\"dance\"}\n{\"op\":\"call\",\"tool\":\"ecko\",\"id\":\"x\"}\n\
         {\"op\":\"call\",\"tool\":\"echo\",\"arguments\":{\"delay\":\"soon\"},\"id\":\"y\"}\n\
         {\"op\":\"request\",\"method\":\"initialize\",\"id\":\"z\"}\n{\"op\":\"sleep\",\"ms\":20}\n\
         {\"op\":\"notify\",\"method\":\"notifications/mine\",\"params\":{\"a\":1}}\n{\"op\":\"ping\"}\n{\"op\":\"wait\"}",
    );
    assert_eq!((outline(&ran).first().map(String::as_str), ran.status), (Some("ready"), Some(2)));
    let codes = |code: &str| ran.events.iter().filter(|line| line.contains(code)).count();
    assert_eq!(
        (codes(r#""event":"error""#), codes("MCP_UNKNOWN_TOOL"), codes("MCP_RESERVED")),
        (2, 1, 1),
        "{ran:#?}"
    );
}

#[test]
fn what_is_odd_is_told() {
    for mode in ["bad-utf8", "both", "neither", "dup-id", "id-string", "non-object", "log-line"] {
        let ran = same(
            // Only the answer with another id leaves its call open until then.
            &["--timeout", if mode == "id-string" { "2s" } else { "30s" }],
            &["--mode", mode],
            r#"{"op":"call","id":"a","tool":"echo","arguments":{"value":"one"}}
{"op":"wait"}
{"op":"call","id":"b","tool":"echo","arguments":{"value":"two"}}
{"op":"wait"}
{"op":"call","id":"s","tool":"stats"}
{"op":"wait"}
"#,
        );
        assert!(
            outline(&ran).iter().any(|line| line == "diagnostic" || line.starts_with("completed a MCP_")),
            "{mode}: {ran:#?}"
        );
    }
}

#[test]
fn l06_a_server_that_cannot_start_or_does_not_answer_is_told() {
    let ran = same_for(&["-", "--", "/no/such/server"], "");
    assert_eq!((outline(&ran), ran.status), (vec!["closed MCP_NOT_FOUND".to_owned()], Some(3)));
    let ran = same(&["--connect-timeout", "200ms"], &["--start-delay", "20000"], "");
    assert_eq!(ran.status, Some(3), "{ran:#?}");
    let ran = same(&[], &["--exit-at-start", "4"], "");
    assert_eq!(ran.status, Some(3), "{ran:#?}");
}

#[test]
fn options_that_cannot_be_used_start_nothing() {
    for words in [&["-", "--", "bash", "-c", "x"][..], &["/no/such/file", "--", "server"]] {
        let ran = same_for(words, "");
        assert_eq!((ran.events.len(), ran.status), (0, Some(2)), "{ran:#?}");
        assert!(ran.stderr.starts_with("sans-mcp: "), "{}", ran.stderr);
    }
}

#[test]
fn a_long_script_loses_no_command() {
    let mut script = String::new();
    for number in 0..3_000 {
        script.push_str(&format!(
            "{{\"op\":\"call\",\"id\":\"{number}\",\"tool\":\"echo\",\"arguments\":{{\"value\":{number}}}}}\n"
        ));
    }
    script.push_str("{\"op\":\"wait\"}\n");
    let ran = same(&[], &[], &script);
    assert_eq!((ran.events.len(), ran.status), (3_002, Some(0)));
    assert_eq!(ran.events.iter().filter(|line| line.contains(r#""ok":true"#)).count(), 3_000);
}

#[test]
fn l17_a_signal_closes_the_session() {
    let commands = r#"{"op":"call","id":"n","tool":"never"}
{"op":"call","id":"e","tool":"echo","arguments":{"value":1}}
"#;
    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && hang_up_is_ignored() {
            println!("skipped: SIGHUP is ignored here, and so by what is started");
            continue;
        }
        let ran = same_after_signal(commands, 2, signal);
        assert_eq!(ran.status, Some(status), "{ran:#?}");
        assert_eq!(outline(&ran).last().map(String::as_str), Some("closed CLIENT_CLOSED"), "{ran:#?}");
    }
}

/// Whether this process outlives its terminal, as under `nohup`: what it starts does too.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1)
}
