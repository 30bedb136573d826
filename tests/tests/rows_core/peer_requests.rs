//! Rows L26 and L27: what the server asks and tells.

use sans_mcp::error::{Cause, PeerFault};
use sans_mcp::{PeerReply, Refusal, State, Time};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::peer::Act;
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::Scripted;
use serde_json::{Value, json};

use crate::support::{call, connected, connected_to, ms, server};

/// A server that says these lines when tool `t` is called, and then answers.
fn saying(lines: &[&str]) -> Scripted {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    Scripted::on(move |said, agenda| {
        if said.method == "tools/call" {
            for line in &lines {
                agenda.say(&line.replace("<ID>", &said.id.to_string()));
            }
        }
        false
    })
}

/// The replies that the server got.
fn replies(runner: &Runner) -> Vec<Value> {
    let lines = runner.wire().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("method").is_none()).collect()
}

fn asks(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"n":1}}}}"#)
}

#[test]
fn l26_ping_is_always_answered_and_what_was_not_declared_is_refused() {
    let mut runner = connected(saying(&[
        &asks("\"p\"", "ping"),
        &asks("5", "roots/list"),
        &asks("6", "sampling/createMessage"),
        &asks("7", "elicitation/create"),
        &asks("-8", "vendor/x"),
    ]));
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some());
    runner.settle();
    let replies = replies(&runner);
    assert_eq!(replies[0], json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    assert_eq!(
        replies.iter().skip(1).map(|reply| reply["id"].clone()).collect::<Vec<_>>(),
        [json!(5), json!(6), json!(7), json!(-8)]
    );
    assert!(replies.iter().skip(1).all(|reply| reply["error"]["code"] == -32601));
    assert!(runner.take_request().is_none());
    let counters = runner.counters();
    assert_eq!((counters.pings, counters.refused_requests), (1, 4));
}

#[test]
fn l26_ping_is_answered_before_the_handshake_is_over() {
    let peer = Scripted::on(|said, agenda| {
        if said.method == "initialize" {
            agenda.say(&asks("\"early\"", "ping"));
        }
        said.method == "initialize"
    });
    let mut runner = Runner::new(server(|_| {}), peer, LinkOptions::default());
    runner.connect();
    runner.settle();
    assert_eq!(runner.session().state(), State::Connecting);
    assert_eq!(replies(&runner), [json!({ "jsonrpc": "2.0", "id": "early", "result": {} })]);
}

fn declaring(tune: impl FnOnce(&mut sans_mcp::Settings)) -> sans_mcp::Server {
    server(|settings| {
        settings.capabilities.roots = true;
        settings.capabilities.sampling = true;
        settings.capabilities.elicitation = true;
        tune(settings);
    })
}

#[test]
fn l26_declared_requests_reach_the_host_while_its_own_calls_go_on() {
    let peer = Scripted::on(|said, agenda| {
        if said.argument("ask") == true {
            agenda.say(&asks("\"r\"", "roots/list"));
            agenda.say(&asks("\"s\"", "sampling/createMessage"));
        }
        said.argument("ask") == true
    });
    let mut runner = connected_to(declaring(|_| {}), peer);
    let asking = runner.call(call(r#"{"ask":true}"#)).unwrap();
    runner.settle();
    let other = runner.call(call("{}")).unwrap();
    assert!(runner.ended(other).answer().is_some());
    assert!(runner.outcome(asking).is_none());
    let roots = runner.take_request().unwrap();
    assert_eq!((roots.method, roots.params.as_deref()), ("roots/list", Some(r#"{"n":1}"#)));
    let refused = runner.respond(roots.handle, PeerReply::Result("[]")).unwrap_err();
    assert_eq!(refused.refusal, Refusal::NotAnObject);
    runner.respond(refused.value, PeerReply::Result("{\"roots\":\n[]}")).unwrap();
    let sampling = runner.take_request().unwrap();
    runner.respond(sampling.handle, PeerReply::Error { code: -1, message: "the user said no" }).unwrap();
    runner.settle();
    assert_eq!(
        replies(&runner),
        [
            json!({ "jsonrpc": "2.0", "id": "r", "result": { "roots": [] } }),
            json!({ "jsonrpc": "2.0", "id": "s", "error": { "code": -1, "message": "the user said no" } }),
        ]
    );
    assert_eq!(runner.counters().peer_requests, 0);
}

#[test]
fn l26_a_request_that_the_host_does_not_answer_in_time_or_has_no_room_for_gets_an_error() {
    let configuration = declaring(|settings| {
        settings.timeouts.peer_request = Some(ms(200));
        settings.limits.peer_requests = 2;
    });
    let lines = [asks("1", "roots/list"), asks("2", "roots/list"), asks("3", "roots/list")];
    let mut runner = connected_to(configuration, saying(&lines.each_ref().map(String::as_str)));
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    assert_eq!((replies(&runner).len(), runner.counters().peer_requests), (1, 2));
    assert_eq!(
        (replies(&runner)[0]["id"].clone(), replies(&runner)[0]["error"]["code"].clone()),
        (json!(3), json!(-32603))
    );
    let late = runner.take_request().unwrap();
    let number = late.handle.number();
    runner.run_for(ms(300));
    let codes: Vec<Value> = replies(&runner).iter().map(|reply| reply["error"]["code"].clone()).collect();
    assert_eq!((codes, runner.counters().peer_requests), (vec![json!(-32603); 3], 0));
    assert!(runner.cancelled_requests().contains(&number));
    let refused = runner.respond(late.handle, PeerReply::Result("{}")).unwrap_err();
    assert_eq!(refused.refusal, Refusal::NotOpen);
    runner.settle();
    assert_eq!(replies(&runner).len(), 3);
}

#[test]
fn l26_a_request_that_the_server_cancels_is_told_and_not_answered() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"r"}}"#;
    let peer = Scripted::on(move |said, agenda| {
        if said.method == "tools/call" {
            agenda.say(&asks("\"r\"", "roots/list"));
            agenda.write(ms(10), format!("{cancel}\n").into_bytes());
        }
        false
    });
    let mut runner = connected_to(declaring(|_| {}), peer);
    runner.call(call("{}")).unwrap();
    runner.settle();
    let request = runner.take_request().unwrap();
    runner.run_for(ms(20));
    assert_eq!(runner.cancelled_requests(), [request.handle.number()]);
    assert_eq!(
        runner.respond(request.handle, PeerReply::Result("{}")).unwrap_err().refusal,
        Refusal::NotOpen
    );
    runner.settle();
    assert!(replies(&runner).is_empty());
}

#[test]
fn l26_an_answer_that_nobody_will_read_is_refused_and_holds_up_no_shutdown() {
    let peer = Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.say(&asks("\"r\"", "roots/list"));
            agenda.act(ms(0), Act::CloseInput);
        }
        said.method == "tools/call"
    });
    let mut runner = connected_to(declaring(|_| {}), peer);
    runner.call(call("{}").timeout(Some(ms(50)))).unwrap();
    runner.settle();
    // The notice of this one finds the input closed.
    runner.run_for(ms(60));
    let request = runner.take_request().unwrap();
    let refused = runner.respond(request.handle, PeerReply::Result("{}")).unwrap_err();
    assert_eq!(refused.refusal, Refusal::StdinClosed);
    assert_eq!(runner.counters().reply_bytes, 0);
    let begin = runner.now();
    runner.shutdown(ms(60_000));
    runner.run_until(Runner::is_closed);
    assert_eq!(runner.now(), begin);
}

#[test]
fn l26_a_server_that_asks_and_does_not_read_ends_the_session() {
    let peer = Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.act(ms(0), Act::StopReading);
            let pings = format!("{}\n", asks("1", "ping")).into_bytes();
            agenda.write(ms(1), sans_mcp_tests::peer::Bytes::repeated(pings, 10_000));
        }
        said.method == "tools/call"
    });
    let mut runner = connected_to(server(|settings| settings.limits.replies = 20_000), peer);
    let token = runner.call(call("{}")).unwrap();
    assert_eq!(runner.ended(token).code(), Some(sans_mcp::Code::PROTOCOL));
    assert_eq!(runner.closed().cause, Cause::Peer(PeerFault::UnreadReplies { limit: 20_000 }));
}

#[test]
fn l26_a_server_that_reads_is_not_ended_for_asking_much_in_one_go() {
    for separator in ["\n", " "] {
        let peer = Scripted::on(move |said, agenda| {
            if said.method == "tools/call" {
                let pings = format!("{}{separator}", asks("1", "ping")).into_bytes();
                agenda.write(ms(0), sans_mcp_tests::peer::Bytes::repeated(pings, 5_000));
                agenda.write(ms(0), "\n");
                agenda.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#, said.id));
            }
            said.method == "tools/call"
        });
        let mut runner = connected_to(server(|settings| settings.limits.replies = 2_000), peer);
        let token = runner.call(call("{}")).unwrap();
        assert!(runner.ended(token).answer().is_some(), "{}", runner.trace());
        runner.settle();
        assert_eq!((runner.counters().pings, replies(&runner).len()), (5_000, 5_000));
    }
}

#[test]
fn l26_the_reserve_of_replies_is_kept_to_the_byte() {
    let pong = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".len();
    for (limit, pings, lives) in [(40 * pong, 40, true), (40 * pong, 41, false), (40 * pong - 1, 40, false)] {
        let peer = Scripted::on(move |said, agenda| {
            if said.method == "tools/call" {
                agenda.act(ms(0), Act::StopReading);
                // The pipe is full before the first reply.
                let pings = format!("{}\n", asks("1", "ping")).repeat(pings);
                agenda.write(ms(5), pings.into_bytes());
            }
            said.method == "tools/call"
        });
        let mut runner = connected_to(server(|settings| settings.limits.replies = limit), peer);
        runner.call(call("{}")).unwrap();
        runner.settle();
        runner.call(call(&format!(r#"{{"a":"{}"}}"#, "a".repeat(100_000)))).unwrap();
        runner.run_for(ms(10));
        assert_eq!(runner.session().state() == State::Ready, lives, "{pings} pings and a limit of {limit}");
        assert_eq!(runner.counters().reply_bytes, if lives { limit } else { 0 });
    }
}

fn progress(token: &str, n: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{n}}}}}"#
    )
}

#[test]
fn l27_progress_reaches_the_call_of_its_token_and_no_other() {
    let mut other = None;
    let peer = Scripted::on(move |said, agenda| {
        if said.method != "tools/call" {
            return false;
        }
        let first = other.get_or_insert_with(|| said.id.clone());
        if said.argument("last") == true {
            agenda.say(&progress(&first.to_string(), 1));
            agenda.say(&progress(&said.id.to_string(), 2));
            agenda.say(&progress(&first.to_string(), 3));
            agenda.say(&progress("\"4\"", 4));
            agenda.say(&progress("99", 5));
        }
        true
    });
    let mut runner = connected(peer);
    let first = runner.call(call("{}").progress()).unwrap();
    let quiet = runner.call(call(r#"{"last":true}"#)).unwrap();
    runner.settle();
    let told: Vec<String> = runner
        .trace()
        .host
        .into_iter()
        .map(|(_, line)| line)
        .filter(|line| line.starts_with("progress"))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|line| line.starts_with(&format!("progress {first} "))));
    assert!(told[0].contains(r#""progress":1"#) && told[1].contains(r#""progress":3"#));
    assert!(runner.outcome(first).is_none() && runner.outcome(quiet).is_none());
    assert_eq!((runner.counters().notifications, runner.counters().ignored_notifications), (3, 2));
}

#[test]
fn l27_a_notification_never_settles_a_call_even_with_its_id() {
    let mut runner = connected(saying(&[
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":<ID>}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":<ID>,"progress":1},"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","method":"x","result":{"content":[]}}"#,
    ]));
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some_and(|answer| answer.contains("ok")));
}

#[test]
fn l27_list_changes_mark_the_catalog_stale_and_others_are_counted_and_not_acted_on() {
    let mut runner = connected(
        saying(&[
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#,
        ])
        .offering(r#"{"tools":{}}"#),
    );
    assert!(!runner.session().catalog_is_stale());
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    assert!(runner.session().catalog_is_stale());
    assert_eq!((runner.counters().notifications, runner.counters().ignored_notifications), (1, 2));
    assert_eq!(runner.trace().count("notification notifications/tools/list_changed"), 1);
    assert_eq!(runner.trace().count("notification notifications/prompts"), 0);
    // The list is not fetched for that alone.
    assert_eq!(runner.sent("tools/list"), 1);
}

#[test]
fn l27_a_flood_is_bounded_by_rate_and_bytes_and_can_be_made_to_end_the_session() {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    let flood = || saying(&[note; 50]);
    let limited = |ends| {
        server(move |settings| {
            settings.limits.notifications_per_second = 20;
            settings.limits.end_on_notification_flood = ends;
        })
    };
    let mut runner = connected_to(limited(false), flood());
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some());
    assert_eq!((runner.counters().notifications, runner.counters().dropped_notifications), (20, 30));
    runner.run_for(ms(1_000));
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    assert_eq!((runner.counters().notifications, runner.counters().dropped_notifications), (40, 60));

    let bytes = server(|settings| settings.limits.notification_bytes_per_second = 1_024);
    let mut runner = connected_to(bytes, flood());
    let token = runner.call(call("{}")).unwrap();
    runner.ended(token);
    let each = "notifications/message".len() + r#"{"data":"x"}"#.len();
    assert_eq!(runner.counters().notifications, (1_024 / each) as u64);

    let mut runner = connected_to(limited(true), flood());
    let token = runner.call(call("{}")).unwrap();
    assert_eq!(runner.ended(token).code(), Some(sans_mcp::Code::PROTOCOL));
    assert_eq!(runner.closed().cause, Cause::Peer(PeerFault::NotificationFlood));
}

#[test]
fn l27_progress_of_a_call_that_ended_meanwhile_is_no_wait() {
    let mut session =
        sans_mcp::Session::<u8>::new(server(|settings| settings.list_on_connect = false)).unwrap();
    let drain = |session: &mut sans_mcp::Session<u8>| loop {
        match session.poll_output() {
            sans_mcp::Output::Spawn => session.handle_spawned(Time::ZERO, 1),
            sans_mcp::Output::Write(bytes) => {
                let count = bytes.len();
                session.handle_written(Time::ZERO, count);
            }
            sans_mcp::Output::Wait { until, .. } => break until,
            _ => {}
        }
    };
    session.connect(Time::ZERO, 0).unwrap();
    drain(&mut session);
    let answer = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}}\n",
        sans_mcp_tests::scripted::initialize("2025-11-25", "{}")
    );
    session.handle_stdout(Time::ZERO, answer.as_bytes());
    drain(&mut session);
    let request = sans_mcp::Request::new("vendor/x").progress().timeout(Some(ms(1_000)));
    let handle = session.request(Time::ZERO, request, 1).unwrap();
    let idle = drain(&mut session);
    // Noise is told when the next message comes, so the progress waits behind it.
    let lines = format!("{{\n{}\n", progress(&handle.to_string(), 1));
    session.handle_stdout(Time::ZERO, lines.as_bytes());
    assert!(matches!(session.poll_output(), sans_mcp::Output::Diagnostic(_)));
    assert_eq!(idle, Some(Time::ZERO + ms(1_000)));
    session.cancel(Time::ZERO, handle, "");
    let next = session.poll_output();
    assert!(matches!(next, sans_mcp::Output::Complete(_)), "{next:?}");
}

#[test]
fn l27_an_outcome_is_untouched_by_what_the_server_tells() {
    let mut runner = connected(saying(&[
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}"#,
    ]));
    let token = runner.call(call("{}")).unwrap();
    assert!(matches!(runner.ended(token), Outcome::Answer(_)));
    assert_eq!(runner.trace().count("notification notifications/message"), 1);
}
