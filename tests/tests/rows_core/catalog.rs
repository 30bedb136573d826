//! Rows L24, L25 and L34: tools, arguments, results, `_meta`.

use sans_mcp::{Call, Code, Refusal, Request, ToolResult};
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::{Scripted, list};
use serde_json::{Value, json};

use crate::support::{call, code, connected, connected_to, ms, server};

fn names(runner: &Runner) -> Vec<String> {
    runner.session().catalog().tools().map(|tool| tool.name().to_owned()).collect()
}

fn page(name: &str, cursor: &str) -> String {
    format!(r#"{{"tools":[{{"name":"{name}","inputSchema":{{"type":"object"}}}}],"nextCursor":{cursor}}}"#)
}

#[test]
fn l24_a_list_is_walked_page_by_page_with_the_cursor_as_it_came() {
    let runner = connected(Scripted::default().listing([
        page("a", r#""\u0041 é""#),
        page("b", "\"2\""),
        list(&["c"]),
    ]));
    assert_eq!(names(&runner), ["a", "b", "c"]);
    let cursors: Vec<&str> = runner
        .wire()
        .filter(|line| line.contains("tools/list"))
        .filter_map(|line| line.split_once(r#""cursor":"#))
        .map(|(_, rest)| rest)
        .collect();
    assert_eq!(cursors, [r#""\u0041 é"}}"#, r#""2"}}"#]);
    assert_eq!(runner.session().catalog().incomplete(), None);
}

#[test]
fn l24_a_repeated_cursor_and_the_page_cap_end_the_walk_and_keep_what_came() {
    let runner =
        connected(Scripted::default().listing([page("a", "\"1\""), page("b", "\"2\""), page("c", "\"1\"")]));
    assert_eq!(names(&runner), ["a", "b", "c"]);
    assert_eq!(runner.session().catalog().incomplete(), Some(sans_mcp::error::WalkFault::RepeatedCursor(3)));
    assert!(runner.trace().told("its tool list is not complete: page 3 repeats an earlier cursor"));

    let mut count = 0;
    let endless = Scripted::on(move |said, agenda| {
        if said.method == "tools/list" {
            count += 1;
            agenda.say(&said.result(&page(&format!("tool{count}"), &format!("\"{count}\""))));
        }
        said.method == "tools/list"
    });
    let runner = connected_to(server(|settings| settings.limits.pages = 5), endless);
    assert_eq!((names(&runner).len(), runner.sent("tools/list")), (5, 5));
    assert_eq!(runner.session().catalog().incomplete(), Some(sans_mcp::error::WalkFault::TooManyPages(5)));
}

/// The pages of a walk that was accepted are no new requests of the host.
#[test]
fn l24_a_walk_goes_on_when_as_much_is_open_as_may_be() {
    let pages = [list(&["t"]), page("t", "\"2\""), list(&["u"])];
    let mut runner =
        connected_to(server(|settings| settings.limits.pending = 3), Scripted::silent().listing(pages));
    for _ in 0..2 {
        runner.call(call("{}").timeout(None)).unwrap();
    }
    let walk = runner.list().unwrap();
    assert!(matches!(runner.ended(walk), Outcome::Listed), "{}", runner.trace());
    assert_eq!(names(&runner), ["t", "u"]);
}

#[test]
fn l24_each_bad_tool_is_set_aside_with_its_reason_and_the_rest_survives() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(80), "}".repeat(80));
    let tools = format!(
        r#"{{"tools":[7,{{"inputSchema":{{}}}},{{"name":"","inputSchema":{{}}}},{{"name":"bare"}},{{"name":"odd","inputSchema":[]}},{{"name":"deep","inputSchema":{deep}}},{{"name":"t","inputSchema":{{}}}},{{"name":"t","inputSchema":{{}}}},{{"name":"long","description":"{}","inputSchema":{{}}}},{{"name":"last","inputSchema":{{}}}}]}}"#,
        "d".repeat(20_000)
    );
    let runner =
        connected_to(server(|settings| settings.limits.tools = 3), Scripted::default().listing([tools]));
    assert_eq!(names(&runner), ["t", "long", "last"]);
    let aside: Vec<String> = runner
        .session()
        .catalog()
        .set_aside()
        .iter()
        .map(|tool| format!("{}: {}", tool.name, tool.reason))
        .collect();
    assert_eq!(
        aside,
        [
            ": it is no object",
            ": it has no name",
            ": its name is empty, too long, or has characters that cannot be seen",
            "bare: it has no input schema",
            "odd: its input schema is no object",
            "deep: a schema of it is nested too deep",
            "t: a tool of this name came before it",
        ]
    );
    assert_eq!(runner.trace().count("was set aside"), 7);
    let description = runner.session().catalog().get("long").unwrap().description().unwrap();
    let kept = description.strip_suffix(sans_mcp::Tool::CUT).unwrap();
    assert!(kept.len() <= sans_mcp::Limits::DESCRIPTION, "{}", kept.len());
    let full = connected_to(server(|settings| settings.limits.tools = 1), Scripted::default());
    assert_eq!((names(&full).len(), full.session().catalog().set_aside_count()), (1, 1));
}

const ADD: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}]}"#;

fn adding(result: &'static str) -> Scripted {
    Scripted::on(move |said, agenda| {
        if said.method == "tools/call" {
            agenda.say(&said.result(result));
        }
        said.method == "tools/call"
    })
    .listing([ADD])
}

#[test]
fn l25_only_discovered_tools_are_called_and_arguments_fit_their_schema() {
    let mut runner = connected(adding(r#"{"content":[],"structuredContent":{"sum":3}}"#));
    let lines = runner.wire().count();
    let refused = runner.call(Call::without_arguments("T")).unwrap_err();
    assert_eq!(refused, Refusal::UnknownTool { name: "T".to_owned(), near: vec!["t".to_owned()] });
    for arguments in ["{}", r#"{"a":"1"}"#, r#"{"a":1.5}"#] {
        let refused = runner.call(call(arguments)).unwrap_err();
        assert_eq!(refused.code(), Code::INVALID_ARGUMENTS, "{arguments}");
        assert!(refused.to_string().contains("tool `t`") && refused.to_string().contains('a'), "{refused}");
    }
    runner.settle();
    assert_eq!(runner.wire().count(), lines);
    let fine = runner.call(call(r#"{"a":1}"#)).unwrap();
    assert!(runner.ended(fine).answer().is_some());
}

#[test]
fn l25_a_structured_result_fits_the_output_schema_or_the_call_fails() {
    let outcome = |result, check| {
        let mut runner = connected_to(server(|settings| settings.check_results = check), adding(result));
        let token = runner.call(call(r#"{"a":1}"#)).unwrap();
        runner.settle();
        code(&runner, token)
    };
    let wrong = r#"{"content":[],"structuredContent":{"sum":"3"}}"#;
    assert_eq!(outcome(wrong, true), "MCP_INVALID_RESULT");
    assert_eq!(outcome(r#"{"content":[]}"#, true), "MCP_INVALID_RESULT");
    assert_eq!(outcome(r#"{"content":[],"isError":true}"#, true), "-");
    assert_eq!(outcome(wrong, false), "-");
}

#[test]
fn l25_argument_checks_can_be_turned_off_and_cost_is_bounded() {
    let off = server(|settings| settings.check_arguments = false);
    let mut runner = connected_to(off, adding(r#"{"content":[],"structuredContent":{"sum":3}}"#));
    assert!(runner.call(call("{}")).is_ok());
    // A schema whose evaluation doubles at each of thirty levels is not evaluated, and the tool is called all the same.
    let levels: Vec<String> = (0..30)
        .map(|n| {
            format!(
                r##""l{n}":{{"allOf":[{{"$ref":"#/$defs/l{}"}},{{"$ref":"#/$defs/l{}"}}]}}"##,
                n + 1,
                n + 1
            )
        })
        .collect();
    let bomb = format!(
        r##"{{"tools":[{{"name":"t","inputSchema":{{"$ref":"#/$defs/l0","$defs":{{{},"l30":{{"type":"object"}}}}}}}}]}}"##,
        levels.join(",")
    );
    let mut runner = connected(Scripted::default().listing([bomb]));
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some());
}

#[test]
fn l25_an_unknown_name_on_a_stale_catalog_walks_once_within_its_own_deadline() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let mut lists = 0;
    let mut runner = connected(Scripted::on(move |said, agenda| match said.method.as_str() {
        "tools/call" => {
            if said.params["name"] == "t" {
                agenda.say(changed);
            }
            false
        }
        "tools/list" => {
            lists += 1;
            let names: &[&str] = if lists == 1 { &["t"] } else { &["t", "new"] };
            agenda.write(ms(20), format!("{}\n", said.result(&list(names))).into_bytes());
            true
        }
        _ => false,
    }));
    assert!(matches!(runner.call(Call::without_arguments("new")), Err(Refusal::UnknownTool { .. })));
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    assert!(runner.session().catalog_is_stale());
    let new = [0, 1].map(|_| runner.call(Call::new("new", "{}")).unwrap());
    let none = runner.call(Call::without_arguments("none")).unwrap();
    let late = runner.call(Call::without_arguments("new").timeout(Some(ms(10)))).unwrap();
    runner.run_for(ms(100));
    assert!(new.iter().all(|token| runner.outcome(*token).and_then(Outcome::answer).is_some()));
    assert_eq!([none, late].map(|token| code(&runner, token)), ["MCP_UNKNOWN_TOOL", "MCP_TIMEOUT"]);
    assert_eq!(runner.sent("tools/list"), 2);
    assert!(!runner.session().catalog_is_stale());
}

/// The token that progress is told by is known only when the call goes out.
#[test]
fn l21_a_call_that_waited_for_the_list_fails_if_its_parameters_have_grown_too_large() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let peer = Scripted::on(move |said, agenda| {
        if said.params["name"] == "t" {
            agenda.say(changed);
        }
        false
    });
    let mut runner = connected_to(
        server(|settings| {
            settings.limits.parameters = 1_024;
            settings.limits.send_queue = 4_096;
        }),
        peer.listing([list(&["t"]), list(&["t", "later"])]),
    );
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    let around = r#"{"name":"later","arguments":{"a":""}}"#.len();
    let fits = Call::new("later", format!(r#"{{"a":"{}"}}"#, "a".repeat(1_024 - around)));
    let token = runner.call(fits.clone().progress()).unwrap();
    assert_eq!(runner.ended(token).code(), Some(Code::INVALID_ARGUMENTS));
    let token = runner.call(fits).unwrap();
    assert!(runner.ended(token).answer().is_some());
    assert_eq!((runner.sent("tools/call"), runner.counters().queued_bytes), (2, 0));
}

#[test]
fn l34_a_call_carries_meta_and_reserved_keys_are_refused() {
    let mut runner = connected(Scripted::default());
    let traced =
        call("{}").meta("traceparent", r#""00-01-02-03""#).unwrap().meta("example.com/n", "1.0").unwrap();
    let token = runner.call(traced.progress()).unwrap();
    runner.ended(token);
    let line = runner.wire().last().unwrap();
    let sent: Value = serde_json::from_str(line).unwrap();
    let id = runner.handle(token).unwrap().number();
    assert_eq!(
        sent["params"]["_meta"],
        json!({ "traceparent": "00-01-02-03", "example.com/n": 1.0, "progressToken": id })
    );
    assert!(line.contains(r#""example.com/n":1.0"#));
    for key in ["progressToken", "modelcontextprotocol.io/x", "api.mcp.dev/x", "", "a b"] {
        assert!(matches!(call("{}").meta(key, "1"), Err(Refusal::ReservedKey(_))), "{key}");
    }
    let smuggled = Request::new("resources/list").params(r#"{"_meta":{"progressToken":1}}"#);
    assert_eq!(runner.request(smuggled), Err(Refusal::ReservedKey("progressToken".to_owned())));
    assert!(ToolResult::parse(runner.outcome(token).unwrap().answer().unwrap()).is_ok());
}
