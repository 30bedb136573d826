//! `list`, `call`, `ping` and `check`, on the fixture server.

use std::io::Read;
use std::time::{Duration, Instant};

use crate::support::{
    COMMAND, Place, Ran, finish, is_alive, run, run_alone, run_words, signal, spawn, start, until,
};
use rustix::process::Signal;
use serde_json::Value;

fn json(text: &str) -> Value {
    assert_eq!(text.matches('\n').count(), 1, "one line: {text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Fine, with this on stdout and nothing on stderr.
fn assert_prints(ran: Ran, stdout: &str) {
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), stdout, ""));
}

/// This status, nothing on stdout, and this on stderr.
fn assert_fails(ran: Ran, status: i32, stderr: &str) {
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(stderr), "{stderr:?} is not in {:?}", ran.stderr);
}

#[test]
fn list_prints_a_line_for_each_tool() {
    let ran = run("list", "");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 13, "{lines:?}");
    assert_eq!(
        lines[0],
        "echo(value: any, delay?: integer)  Gives the value back, after a delay in milliseconds"
    );
    assert_eq!(
        lines[1],
        "wordcount(path: string) -> object  Counts characters, CJK characters and bytes of a file"
    );
}

/// A server in POSIX shell: it lists two tools of the same name and leaves at the end of its input.
const SHELL_SERVER: &str = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":""}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{}}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

#[test]
fn l03_l24_a_shell_can_be_allowed_and_tools_set_aside_are_noted() {
    let ran = finish(spawn(&["list", "--allow-shell", "--", "sh", "-c", SHELL_SERVER]), "");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "a()\n"));
    assert_eq!(
        ran.stderr,
        "sans-mcp: server `sh`: tool `a` was set aside: a tool of this name came before it\n"
    );
}

#[test]
fn l24_list_joins_all_pages_as_raw_json() {
    let ran = run("list --json", "--page 3");
    assert_eq!(json(&ran.stdout)["tools"].as_array().map(Vec::len), Some(13));
    assert_prints(run("list --json", ""), &ran.stdout);
}

#[test]
fn call_prints_the_text_and_nothing_else() {
    assert_prints(run("call echo value=hello", ""), "hello\n");
    assert_prints(run("call echo value=12 delay=5", ""), "12\n");
    assert_prints(
        run_words(&["call", "echo", r#"{"value":{"n":9007199254740993,"f":1.0}}"#], "", ""),
        "{\"n\":9007199254740993,\"f\":1.0}\n",
    );
}

#[test]
fn call_takes_arguments_from_a_file_and_from_stdin() {
    let place = Place::new();
    let file = place.write("arguments.json", "{\n \"value\": [1.0]\n}\n");
    assert_prints(run(&format!("call echo @{file}"), ""), "[1.0]\n");
    assert_prints(run_words(&["call", "echo", "-"], "", "{\"value\":\"é\"}"), "é\n");
}

#[test]
fn l20_json_is_the_whole_result_unchanged() {
    let place = Place::new();
    let file = place.write("text", "一二a\n");
    assert_prints(
        run(&format!("call wordcount path={file} --json"), ""),
        "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"characters\\\":4,\\\"cjk\\\":2,\\\"bytes\\\":8}\"}],\"structuredContent\":{\"characters\":4,\"cjk\":2,\"bytes\":8},\"isError\":false}\n",
    );
}

#[test]
fn l14_a_tool_that_failed_is_a_result_with_a_status_of_its_own() {
    let ran = run("call fail message=broken", "");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(1), "broken\n", ""));
    let ran = run_words(&["call", "fail", "message=broken"], "--stderr-text the-reason", "");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), "broken\n"));
    assert!(ran.stderr.contains("    the-reason"), "{}", ran.stderr);
}

#[test]
fn l14_an_error_of_the_server_has_another_status() {
    assert_fails(
        run("call echo --no-validate", ""),
        4,
        "server error -32602: argument `value` must be given",
    );
}

#[test]
fn l25_an_unknown_tool_or_argument_is_refused_and_never_called() {
    let place = Place::new();
    let switches = format!("--record {}", place.file("record"));
    for (line, message) in [
        ("call ecko value=1", "no tool `ecko`; did you mean `echo`?"),
        ("call echo dely=1", "tool `echo` has no argument `dely`; did you mean `delay`?"),
        ("call echo value=1 delay=soon", "argument `delay` must be an integer, such as 3, not `soon`"),
        ("call echo delay=1", "\"value\" is a required property"),
        ("call echo {\"delay\":\"x\"}", "arguments do not fit the schema of tool `echo`"),
    ] {
        assert_fails(run(line, &switches), 2, message);
    }
    let record = place.read("record");
    assert!(record.contains("tools/list") && !record.contains("tools/call"), "{record}");
}

#[test]
fn l02_usage_errors_say_what_to_change_and_start_nothing() {
    let place = Place::new();
    let switches = format!("--pids {}", place.file("pids"));
    for (line, message) in [
        ("list --timeout 5", "it has no unit: write 5ms, 5s or 5m"),
        ("list --timeout 0", "choose from 1ms to 527040m"),
        ("list --timeout 1h", "write a whole number and ms, s or m after it"),
        ("list --max-line 10", "it has no unit: write 10k or 10m"),
        ("list --max-line 0", "choose from 1k to 1024m"),
        ("list --max-line 9999m", "choose from 1k to 1024m"),
        ("list -e =", "write NAME=VALUE, or the NAME of a variable of yours"),
        ("list -e NO_SUCH_VARIABLE", "you have no variable `NO_SUCH_VARIABLE` to pass on"),
        ("list -e A=1 -e A=1", "-e `A` is given twice"),
        ("list -e PATH -e PATH=/bin", "-e `PATH` is given twice"),
        ("call ask --answer roots/list={} --answer roots/list={}", "--answer `roots/list` is given twice"),
        ("script - --answer roots/list={} --answer roots/list={}", "--answer `roots/list` is given twice"),
        ("list --stderr maybe", "possible values: tail, inherit, none"),
        ("list --nonsense", "unexpected argument '--nonsense'"),
        ("call echo value=1 --max-total 5s", "--reset-on-progress"),
        ("call echo {\"value\":", "the arguments are not JSON at byte 9"),
        ("call echo [1]", "the arguments must be a JSON object"),
        ("call echo docs-server", "`docs-server` is no argument: write NAME=VALUE"),
        ("call echo value=1 value=2", "argument `value` is given twice"),
        ("call echo @/no/such/file", "cannot read the arguments from `/no/such/file`"),
        ("call echo --answer roots/list=[]", "the answer must be a JSON object"),
        ("script /no/such/file", "cannot read the script `/no/such/file`"),
        ("script /", "cannot read the script `/`: is a directory"),
    ] {
        assert_fails(run(line, &switches), 2, message);
    }
    assert_eq!(place.read("pids"), "");
    for (line, example) in [
        ("list", "list -- docs-server"),
        ("list docs-server", "list -- docs-server"),
        ("ping --bogus -- srv", "ping -- docs-server"),
        ("call", "call TOOL NAME=VALUE -- docs-server"),
        ("script x", "script FILE -- docs-server"),
        ("--bogus", "list -- docs-server"),
    ] {
        let ran = run_alone(line);
        assert!(!ran.stderr.contains("as a value"), "a tip that leads the wrong way: {}", ran.stderr);
        assert_fails(ran, 2, &format!("The server's command comes last, after `--`: sans-mcp {example}"));
    }
    assert_fails(run_alone("--json list"), 2, "'list --json' exists");
    for line in ["demo --bogus", "call echo --max-total 5s -- srv"] {
        let ran = run_alone(line);
        assert!(!ran.stderr.contains("comes last"), "that is not what is wrong: {}", ran.stderr);
        assert_fails(ran, 2, "error: ");
    }
    assert_fails(run_alone("list -- bash -c true"), 2, "(here: --allow-shell)");
}

#[test]
fn l06_failures_to_start_and_to_connect_are_told_apart() {
    assert_fails(run_alone("list -- /no/such/server"), 3, "there is no such file: check the path");
    assert_fails(run_alone("ping -- no-such-server-anywhere"), 3, "not found in PATH");
    let place = Place::new();
    let script = place.write("server", "#!/bin/sh\n");
    assert_fails(run_alone(&format!("list -- {script}")), 3, "not permitted to execute it");
    assert_fails(
        run("list --cwd /no/such/directory", ""),
        3,
        "check its path (here: --cwd /no/such/directory)",
    );
    let question = "is it an MCP server on stdin and stdout, and do its arguments select that?";
    let ran = run("list", "--exit-at-start 4 --stderr-text why");
    assert!(!ran.stderr.contains(question), "its stderr says more: {}", ran.stderr);
    assert_fails(ran, 3, "exit code 4");
    assert_fails(run("list", "--exit-at-start 4"), 3, question);
    assert_fails(
        run_alone("call add -- a=1 -- docs-server"),
        3,
        "is it an argument of the tool? those go before `--`",
    );
    assert_fails(
        run("list --connect-timeout 100ms", "--mode init-never"),
        3,
        "slow to start (here: --connect-timeout)",
    );
    assert_fails(run("list", "--protocol 1999-12-31"), 3, "server speaks version `1999-12-31`");
}

#[test]
fn l11_l15_w05_timeout_death_and_violation_have_a_status_each() {
    assert_fails(
        run("call never --timeout 100ms", ""),
        5,
        "no answer within 100 ms (here: --timeout)\n  MCP_TIMEOUT, sent",
    );
    let ran = run("call exit code=3", "--stderr-text last-words");
    assert_fails(ran, 6, "server exited (exit code 3)\n  MCP_PROCESS_EXIT, sent");
    assert_fails(run("call echo value=1 --strict", "--mode log-line"), 7, "conduct is strict");
    assert_fails(run("call echo value=1", "--mode both"), 7, "both a result and an error");
    assert_fails(run("call blob bytes=100000 --max-line 64k", ""), 7, "raise the limit (here: --max-line)");
    assert_fails(
        run("call echo value=1 --timeout 200ms", "--mode id-string"),
        5,
        "is not the id that was sent (here: --id-matching decimal)",
    );
    assert_prints(run("call echo value=1 --id-matching decimal", "--mode id-string"), "1\n");
}

#[test]
fn w05_what_is_odd_goes_to_stderr_and_leaves_stdout_pure() {
    let ran = run("call echo value=pure", "--noisy");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "pure\n"));
    assert!(
        ran.stderr.contains("a line on its output is no message: fixture-server: listening on stdin"),
        "{}",
        ran.stderr
    );
}

#[test]
fn l22_stderr_of_the_server_is_shown_as_asked() {
    let said = "--stderr-text from-the-server";
    assert_prints(run("call echo value=1", said), "1\n");
    assert_prints(run("call echo value=1 --stderr none", said), "1\n");
    let ran = run("call echo value=1 --stderr inherit", said);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "1\n", "from-the-server\n"));
    assert_fails(run("call exit", said), 6, "  its stderr:\n    from-the-server\n");
    let ran = run("call exit --stderr none", said);
    assert!(ran.status == Some(6) && !ran.stderr.contains("from-the-server"), "{}", ran.stderr);
}

#[test]
fn l04_the_server_sees_the_variables_it_was_given() {
    assert_eq!(json(&run("call environment", "").stdout)["OF_THE_CALLER"], Value::Null);
    let ran = run("call environment -e GIVEN=a=b -e OF_THE_CALLER", "");
    let variables = json(&ran.stdout);
    assert_eq!((&variables["GIVEN"], &variables["CARGO_MANIFEST_DIR"]), (&Value::from("a=b"), &Value::Null));
    assert_eq!(variables["OF_THE_CALLER"], "its value", "passed on by its name");
}

#[test]
fn l26_a_call_answers_what_the_server_asks() {
    let ran = run("call ask method=roots/list --answer roots/list={\"roots\":[]}", "");
    assert_eq!(json(&ran.stdout)["result"], serde_json::json!({"roots": []}));
    let refusal = "--answer sampling/createMessage={\"error\":{\"code\":-1,\"message\":\"no\"}}";
    let ran = run(&format!("call ask method=sampling/createMessage {refusal}"), "");
    assert_eq!(json(&ran.stdout)["error"], serde_json::json!({"code": -1, "message": "no"}));
    let ran = run("call ask method=roots/list", "");
    assert_eq!(json(&ran.stdout)["error"]["code"], -32601, "what was not declared is not answered");
}

#[test]
fn progress_can_extend_the_timeout() {
    let call = "call progress steps=6 interval_ms=100 --timeout 400ms";
    assert_eq!(run(call, "").status, Some(5));
    assert_prints(run(&format!("{call} --reset-on-progress"), ""), "6 steps\n");
    let ran = run(&format!("{call} --reset-on-progress --max-total 450ms"), "");
    assert_fails(ran, 5, "no answer within 450 ms (here: --max-total)");
}

#[test]
fn ping_tells_version_and_name() {
    let ran = run("ping", "");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    assert!(
        ran.stdout.starts_with("fixture-server 0.1.0, protocol 2025-11-25, round trip "),
        "{}",
        ran.stdout
    );
    let told = json(&run("ping --json", "--protocol 2025-03-26").stdout);
    assert_eq!((&told["version"], &told["server"]["name"]), (&"2025-03-26".into(), &"fixture-server".into()));
    assert!(told["ms"].is_f64());
}

#[test]
fn a_server_without_a_version_is_told_without_a_gap() {
    let words = ["check", "--allow-shell", "--timeout", "50ms", "--", "sh", "-c", SHELL_SERVER];
    let ran = finish(spawn(&words), "");
    assert!(ran.stdout.contains(" ms  s, protocol 2025-06-18\n"), "{}", ran.stdout);
}

#[test]
fn check_reports_every_step() {
    let ran = run("check", "");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let steps: Vec<Vec<_>> =
        ran.stdout.lines().map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(
        steps,
        [
            ["connect", "ok"],
            ["list", "ok"],
            ["ping", "ok"],
            ["close", "ok"],
            ["gone", "ok"],
            ["works,", "no"]
        ]
    );
}

#[test]
fn check_names_problems_and_what_to_do() {
    let ran = run("check --json", "--noisy --ignore-eof");
    let told = json(&ran.stdout);
    assert_eq!((ran.status, &told["ok"]), (Some(0), &Value::from(true)), "{told}");
    let problems = told["problems"].to_string();
    assert!(
        problems.contains("lines of its output that are no messages: ")
            && problems.contains("print them on stderr")
    );
    assert!(problems.contains("ended by signal 15: let it exit at the end of stdin"), "{problems}");
}

#[test]
fn check_fails_with_the_status_of_the_first_step_that_failed() {
    let ran = run("check", "--exit-at-start 4");
    assert_eq!(ran.status, Some(3), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("connect  FAILED") && ran.stdout.contains("does not work: 1 of 3 steps failed")
    );
    let ran = run_alone("check --json -- /no/such/server");
    assert_eq!((ran.status, &json(&ran.stdout)["ok"]), (Some(3), &Value::from(false)));
}

#[test]
fn an_interrupted_check_reports_the_steps_that_were_done() {
    let place = Place::new();
    let tells_of_ping =
        format!("*'\"ping\"'*) echo > {}; continue ;;\n    *) continue", place.file("pinged"));
    let server = SHELL_SERVER.replace("*) continue", &tells_of_ping);
    for words in [&["check"][..], &["check", "--json"]] {
        let child = spawn(&[words, &["--allow-shell", "--", "sh", "-c", &server]].concat());
        until("it is pinged", || !place.read("pinged").is_empty());
        place.write("pinged", "");
        signal(&child, Signal::INT);
        let ran = finish(child, "");
        assert_eq!(ran.status, Some(130), "{}", ran.stderr);
        if words.len() > 1 {
            let told = json(&ran.stdout);
            assert_eq!((&told["ok"], told["steps"].as_array().map(Vec::len)), (&Value::from(false), Some(2)));
        } else {
            let steps: Vec<_> = ran.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(steps, ["connect", "list", "problem:", "interrupted"], "{}", ran.stdout);
        }
    }
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let mut child = start(&["call", "blob", "bytes=3000000"], "");
    let mut first = [0; 10];
    child.stdout.take().expect("it is piped").read_exact(&mut first).expect("it prints");
    assert_eq!(&first, b"xxxxxxxxxx");
    let ran = finish(child, "");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn l17_a_signal_closes_the_server_before_the_command_ends() {
    for (sent, status) in [(Signal::HUP, 129), (Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let switches = format!("--record {} --pids {}", place.file("record"), place.file("pids"));
        let child = start(&["call", "never"], &switches);
        until("the call is under way", || place.read("record").contains("tools/call"));
        signal(&child, sent);
        let ran = finish(child, "");
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{}", ran.stderr);
        let pids = place.pids("pids");
        assert!(pids.len() == 1 && !is_alive(pids[0]), "{pids:?}");
        assert!(place.read("record").contains("notifications/cancelled"), "the call was cancelled first");
    }
}

#[test]
fn l17_a_signal_while_connecting_leaves_nothing() {
    let place = Place::new();
    let switches =
        format!("--mode init-never --record {} --pids {}", place.file("record"), place.file("pids"));
    let child = start(&["list"], &switches);
    until("it is asked to initialize", || place.read("record").contains("initialize"));
    signal(&child, Signal::INT);
    assert_eq!(finish(child, "").status, Some(130));
    assert!(!is_alive(place.pids("pids")[0]));
}

#[test]
fn l17_a_second_signal_kills_at_once() {
    let place = Place::new();
    let switches = format!("--mode stubborn --record {} --pids {}", place.file("record"), place.file("pids"));
    let mut child = start(&["call", "never"], &switches);
    until("the call is under way", || place.read("record").contains("tools/call"));
    signal(&child, Signal::INT);
    let mut said = [0; 8];
    child.stderr.as_mut().expect("it is piped").read_exact(&mut said).expect("it says that it closes");
    let began = Instant::now();
    signal(&child, Signal::INT);
    assert_eq!(finish(child, "").status, Some(130));
    assert!(
        began.elapsed() < Duration::from_millis(1_900),
        "a polite close takes four seconds: {:?}",
        began.elapsed()
    );
    assert!(!is_alive(place.pids("pids")[0]));
}

#[test]
fn help_tells_every_status() {
    let ran = run_alone("--help");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let readme = include_str!("../../../README.md");
    let told = ran.stdout.lines().skip_while(|line| *line != "Exit status:").skip(1);
    let told: Vec<(&str, &str)> = told.filter_map(|line| line.trim_start().split_once("  ")).collect();
    assert_eq!(told.len(), 11, "{}", ran.stdout);
    for (status, meaning) in told {
        assert!(
            readme.contains(&format!("| {status} | {meaning} |")),
            "{status}: {meaning} is not in the README"
        );
    }
    assert!(!ran.stdout.contains("fixture-server"), "{}", ran.stdout);
    assert!(run_alone("call --help").stdout.contains("Exit status:"));
    assert_eq!(run_alone("fixture-server --help").status, Some(0), "{COMMAND}");
}
