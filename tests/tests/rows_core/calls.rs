//! Rows L07 to L10, L13 and L14: ids, answers and settlement.

use sans_mcp::{Call, Code, Exit, Limits, Refusal, Request, Time, ToolResult};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::random::Random;
use sans_mcp_tests::runner::Runner;
use sans_mcp_tests::scripted::Scripted;
use serde_json::Value;

use crate::support::{call, code, connected, connected_to, ms, server};

#[test]
fn l07_ids_are_integers_that_only_grow_whatever_is_asked_in_whatever_order() {
    let mut runner = connected(Scripted::default());
    let mut random = Random::new(7);
    for _ in 0..60 {
        let token = match random.below(4) {
            0 => runner.ping(None).unwrap(),
            1 => runner.list().unwrap(),
            2 => runner.request(Request::new("resources/list")).unwrap(),
            _ => runner.call(call("{}")).unwrap(),
        };
        if random.one_in(3) {
            runner.cancel(token, "");
        }
        if random.one_in(2) {
            runner.settle();
        }
    }
    runner.settle();
    let ids: Vec<u64> = runner
        .wire()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line.get("id").is_some())
        .map(|line| line["id"].as_u64().unwrap())
        .collect();
    assert!(ids.len() > 30 && ids.is_sorted_by(|one, two| one < two), "{ids:?}");
}

#[test]
fn l07_an_answer_matches_by_exact_id_and_type() {
    for spelling in [r#""ID""#, "ID.0", "IDe0", r#"" ID""#, "0ID", "[ID]"] {
        let spelling = spelling.to_owned();
        let mut runner = connected(Scripted::on(move |said, agenda| {
            if said.method != "tools/call" {
                return false;
            }
            let id = spelling.replace("ID", &said.id.to_string());
            agenda.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#));
            agenda.write(ms(20), format!("{}\n", said.text("mine")).into_bytes());
            true
        }));
        let token = runner.call(call("{}")).unwrap();
        let text = ToolResult::parse(runner.ended(token).answer().unwrap()).unwrap().text().into_owned();
        assert_eq!((text.as_str(), runner.now()), ("mine", Time::ZERO + ms(20)));
    }
}

#[test]
fn l08_a_hundred_answers_in_any_order_reach_their_own_calls() {
    let mut random = Random::new(8);
    let mut runner = connected_to(
        server(|_| {}),
        Scripted::on(move |said, agenda| {
            if said.method != "tools/call" {
                return false;
            }
            let line = said.text(&said.argument("n").to_string());
            agenda.write(ms(1 + random.below(500) as u64), format!("{line}\n").into_bytes());
            true
        }),
    );
    let calls: Vec<u64> = (0..100).map(|n| runner.call(call(&format!(r#"{{"n":{n}}}"#))).unwrap()).collect();
    runner.run_for(ms(600));
    for (n, token) in calls.iter().enumerate() {
        let text =
            ToolResult::parse(runner.outcome(*token).unwrap().answer().unwrap()).unwrap().text().into_owned();
        assert_eq!(text, n.to_string());
    }
    let order: Vec<Time> = calls.iter().map(|token| runner.done(*token).unwrap().at).collect();
    assert!(!order.is_sorted());
    let counters = runner.counters();
    assert_eq!((counters.pending, counters.queued_bytes), (0, 0));
}

#[test]
fn l09_a_call_is_registered_before_its_first_byte_can_leave() {
    let mut runner = connected(Scripted::default());
    let lines = runner.wire().count();
    let token = runner.call(call("{}")).unwrap();
    assert_eq!((runner.counters().pending, runner.wire().count()), (1, lines));
    assert!(runner.counters().queued_bytes > 0);
    runner.ended(token);
    assert_eq!((runner.counters().pending, runner.wire().count()), (0, lines + 1));
}

/// What a refused call must leave as it is.
fn footprint(runner: &Runner) -> (usize, usize, usize, Time) {
    let counters = runner.counters();
    (counters.pending, counters.queued_bytes, runner.wire().count(), runner.now())
}

#[test]
fn l09_a_refused_call_has_no_side_effect() {
    let limited = server(|settings| {
        settings.limits.pending = 1;
        settings.limits.parameters = 2_048;
    });
    let mut runner = connected_to(limited, Scripted::silent());
    let open = runner.call(call("{}")).unwrap();
    runner.settle();
    let before = footprint(&runner);
    assert_eq!(runner.call(call("{}")).unwrap_err().code(), Code::BUSY);
    runner.settle();
    assert_eq!(footprint(&runner), before);

    runner.cancel(open, "");
    runner.settle();
    let before = footprint(&runner);
    for (refused, expected) in [
        (runner.call(call("{")), Code::INVALID_ARGUMENTS),
        (runner.call(call("[]")), Code::INVALID_ARGUMENTS),
        (runner.call(call(&format!(r#"{{"a":"{}"}}"#, "a".repeat(2_100)))), Code::TOO_LARGE),
        (runner.call(Call::without_arguments("none")), Code::UNKNOWN_TOOL),
        (runner.request(Request::new("initialize")), Code::RESERVED),
        (runner.request(Request::new("tools/call")), Code::RESERVED),
        (runner.request(Request::new("")), Code::INVALID_ARGUMENTS),
        (runner.request(Request::new("a\nb")), Code::INVALID_ARGUMENTS),
        (runner.request(Request::new("tasks/list")), Code::UNSUPPORTED),
    ] {
        assert_eq!(refused.unwrap_err().code(), expected);
        runner.settle();
        assert_eq!(footprint(&runner), before, "{expected}");
    }
    assert_eq!(runner.counters().refused, 10);
    // No id was used.
    let next = runner.call(call("{}")).unwrap();
    assert_eq!(runner.handle(next).unwrap().number(), runner.handle(open).unwrap().number() + 1);
    runner.closed();
    assert!(matches!(runner.call(call("{}")), Err(Refusal::Closed(_))));
}

/// What can end a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ender {
    Answer,
    Error,
    Malformed,
    Timeout,
    Cancel,
    Exit,
    Close,
}

impl Ender {
    const ALL: [Ender; 7] = [
        Ender::Answer,
        Ender::Error,
        Ender::Malformed,
        Ender::Timeout,
        Ender::Cancel,
        Ender::Exit,
        Ender::Close,
    ];

    const fn code(self) -> &'static str {
        match self {
            Ender::Answer => "-",
            Ender::Error => "MCP_ERROR",
            Ender::Malformed => "MCP_INVALID_RESPONSE",
            Ender::Timeout => "MCP_TIMEOUT",
            Ender::Cancel => "MCP_ABORTED",
            Ender::Exit => "MCP_PROCESS_EXIT",
            Ender::Close => "CLIENT_CLOSED",
        }
    }

    /// When it comes: the first at 10 ms, the second at 20 ms.
    const fn after(is_first: bool) -> u64 {
        if is_first { 10 } else { 20 }
    }
}

#[test]
fn l10_each_call_is_settled_once_by_whichever_comes_first() {
    for first in Ender::ALL {
        for second in Ender::ALL {
            let order = [first, second];
            let mut runner = connected(Scripted::on(move |said, agenda| {
                if said.method != "tools/call" {
                    return false;
                }
                for (at, ender) in order.into_iter().enumerate() {
                    let after = ms(Ender::after(at == 0));
                    let line = match ender {
                        Ender::Answer => said.text("ok"),
                        Ender::Error => said.error(-1, "no"),
                        Ender::Malformed => format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, said.id),
                        Ender::Exit => {
                            agenda.exit(after, Exit::Code(3));
                            continue;
                        }
                        Ender::Timeout | Ender::Cancel | Ender::Close => continue,
                    };
                    agenda.write(after, format!("{line}\n").into_bytes());
                }
                true
            }));
            let timeout =
                order.iter().position(|ender| *ender == Ender::Timeout).map(|at| ms(Ender::after(at == 0)));
            let token = runner.call(call("{}").timeout(timeout)).unwrap();
            for (at, ender) in order.into_iter().enumerate() {
                runner.run_for(ms(Ender::after(at == 0)) - runner.now().since(Time::ZERO));
                match ender {
                    Ender::Cancel => assert_eq!(runner.cancel(token, ""), at == 0, "{order:?}"),
                    Ender::Close => runner.close(),
                    _ => {}
                }
                runner.settle();
            }
            runner.run_for(ms(200));
            assert_eq!(code(&runner, token), first.code(), "{order:?}");
            let ends = runner.trace().count(&format!("complete {token} as"));
            assert_eq!(ends, 1, "{order:?}");
            assert!(runner.outcome(token).is_some());
            assert_eq!(runner.counters().pending, 0, "{order:?}");
        }
    }
}

#[test]
fn l13_late_duplicate_stale_and_unknown_answers_are_counted_apart_and_change_nothing() {
    let mut first = None;
    let mut runner = connected(Scripted::on(move |said, agenda| {
        if said.method != "tools/call" {
            return false;
        }
        let old = first.get_or_insert_with(|| said.clone());
        match said.argument("do").as_str() {
            Some("never") => {}
            Some("late") => agenda.say(&old.text("late")),
            Some("unknown") => agenda.say(r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#),
            Some("twice") => {
                agenda.say(&said.text("one"));
                agenda.say(&said.text("two"));
                return true;
            }
            _ => {}
        }
        if said.argument("do") != "never" {
            agenda.say(&said.text("ok"));
        }
        true
    }));
    let does = |what: &str| call(&format!(r#"{{"do":"{what}"}}"#));
    let counts = |runner: &Runner| {
        let counters = runner.counters();
        (counters.late, counters.duplicate, counters.stale, counters.unknown)
    };
    let abandoned = runner.call(does("never").timeout(Some(ms(10)))).unwrap();
    runner.ended(abandoned);
    for (what, expected) in
        [("late", (1, 0, 0, 0)), ("unknown", (1, 0, 0, 1)), ("twice", (1, 1, 0, 1)), ("late", (2, 1, 0, 1))]
    {
        let token = runner.call(does(what)).unwrap();
        let ok = runner.ended(token).answer().is_some();
        runner.settle();
        assert_eq!((ok, counts(&runner)), (true, expected), "{what}");
    }
    assert_eq!(code(&runner, abandoned), "MCP_TIMEOUT");
    // Memory of how they ended is bounded: older ones are stale.
    for _ in 0..Limits::SETTLED_IDS {
        let token = runner.ping(None).unwrap();
        runner.ended(token);
    }
    let token = runner.call(does("late")).unwrap();
    runner.ended(token);
    assert_eq!(counts(&runner), (2, 1, 1, 1));
}

#[test]
fn l14_a_remote_error_keeps_its_parts_bounded_and_other_calls_go_on() {
    let message = "m\\n".repeat(10_000);
    let mut runner = connected(Scripted::on(move |said, agenda| {
        if said.method != "tools/call" {
            return false;
        }
        let id = &said.id;
        agenda.say(&match said.argument("do").as_str() {
            Some("small") => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"bad","data":{{"n":9007199254740993}}}}}}"#
            ),
            Some("large") => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":7,"message":"{message}","data":"{}"}}}}"#,
                "d".repeat(100_000)
            ),
            Some("odd") => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":"x"}}}}"#),
            _ => said.result(r#"{"content":[{"type":"text","text":"disk full"}],"isError":true}"#),
        });
        true
    }));
    let before = runner.counters().answered;
    let tokens = ["small", "large", "odd", "tool"]
        .map(|what| runner.call(call(&format!(r#"{{"do":"{what}"}}"#))).unwrap());
    let [small, large, odd, tool] = tokens;
    runner.settle();
    let remote = |token| runner.outcome(token).unwrap().failure().unwrap().remote().unwrap();
    assert_eq!((remote(small).code, remote(small).message.as_str()), (-32602, "bad"));
    assert_eq!(
        (remote(small).data.as_deref(), remote(small).truncated),
        (Some(r#"{"n":9007199254740993}"#), false)
    );
    assert_eq!(
        (remote(large).code, remote(large).message.len(), remote(large).truncated),
        (7, Limits::REMOTE_MESSAGE, true)
    );
    assert_eq!(remote(large).data, None);
    assert_eq!((remote(odd).code, remote(odd).data.as_deref()), (-32603, Some(r#"{"code":"x"}"#)));
    // A tool that ran and failed is a result.
    let result = ToolResult::parse(runner.outcome(tool).unwrap().answer().unwrap()).unwrap();
    assert_eq!((result.is_error(), &*result.text()), (true, "disk full"));
    let counters = runner.counters();
    assert_eq!((counters.remote_errors, counters.answered - before), (3, 1));
}

#[test]
fn l08_answers_in_any_pieces_reach_their_calls_while_writing_blocks() {
    let mut runner = Runner::new(
        server(|_| {}),
        Scripted::on(|said, agenda| {
            if said.method == "tools/call" {
                agenda.write(ms(3), format!("{}\n", said.text(&said.argument("n").to_string())).into_bytes());
            }
            said.method == "tools/call"
        }),
        LinkOptions::rough(88),
    );
    runner.connected();
    let calls: Vec<u64> = (0..40).map(|n| runner.call(call(&format!(r#"{{"n":{n}}}"#))).unwrap()).collect();
    runner.run_for(ms(2_000));
    for (n, token) in calls.into_iter().enumerate() {
        let wanted = format!(r#""text":"{n}""#);
        assert!(runner.outcome(token).unwrap().answer().unwrap().contains(&wanted), "{n}");
    }
}
