//! Calls and their answers (rows L01, L08, L11, L14, L20, L21, L23, L25, L33, L34).

use std::time::{Duration, Instant};

use sans_mcp::{Call, Code, Delivery, State};
use serde_json::json;

use super::support::{
    SLACK, Scratch, assert_closes, assert_idle, call, called, connected, echo, everywhere, fixture, never,
    ping, scripted, until, with,
};

#[test]
fn l01_connect_list_call_close() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        assert_eq!(host.state(), State::Ready);
        assert!(host.tools().get("echo").is_some());
        let answer = called(&mut host, echo("héllo 漢字 €😀")).unwrap();
        assert_eq!((answer.text().as_str(), answer.is_error()), ("héllo 漢字 €😀", false));
        let list = host.list();
        host.wait(list).unwrap();
        ping(&mut host).unwrap();
        assert_idle(&host);
        assert_closes(host);
    });
}

#[test]
fn l24_l33_a_list_of_many_pages_is_walked_when_connecting() {
    everywhere(|kind| {
        let whole = connected(kind, fixture(&[]));
        let paged = connected(kind, fixture(&["--page", "2"]));
        assert!(whole.tools().len() > 4);
        assert_eq!(paged.tools().len(), whole.tools().len());
        assert_closes(whole);
        assert_closes(paged);
    });
}

#[test]
fn l24_a_bad_tool_does_not_cost_the_good_ones() {
    let good = r#"{"tools":["#;
    let bad = r#"{"tools":[42,{"name":"no schema"},{"name":""},"#;
    everywhere(|kind| {
        let mut server = scripted(r#"take; answer '{"content":[{"type":"text","text":"ok"}]}'; take"#);
        server.args[1] = server.args[1].replace(good, bad);
        let mut host = connected(kind, server);
        let tools = host.tools();
        assert_eq!((tools.len(), tools.set_aside_count()), (1, 3));
        assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
        assert_closes(host);
    });
}

#[test]
fn l08_each_call_gets_its_own_answer_whatever_the_order() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let slow = host.call(call("echo", json!({ "value": "slow", "delay": 2_000 })));
        assert_eq!(called(&mut host, echo("fast")).unwrap().text(), "fast");
        assert_eq!(host.counters().pending, 1, "the fast one waited for the slow one");
        assert_eq!(host.wait(slow).unwrap().text(), "slow");
        assert_closes(host);
    });
}

#[test]
fn l08_a_hundred_calls_with_random_delays() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let mut random = 12_345_u64;
        let mut tickets = Vec::new();
        for number in 0..100 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let delay = (random >> 33) % 50;
            tickets.push(host.call(call("echo", json!({ "value": number, "delay": delay }))));
        }
        for (number, ticket) in tickets.into_iter().enumerate() {
            assert_eq!(host.wait(ticket).unwrap().text(), number.to_string());
        }
        assert_closes(host);
    });
}

#[test]
fn l14_a_remote_error_leaves_the_session_healthy_and_a_failed_tool_is_a_result() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let request = host.request("no/such/method");
        let error = host.wait(request).unwrap_err();
        assert_eq!((error.code(), error.delivery()), (Code::ERROR, Delivery::Sent));
        assert_eq!(error.failure().remote().unwrap().code, -32601);
        let answer = called(&mut host, call("fail", json!({ "message": "the disk is full" }))).unwrap();
        assert_eq!((answer.text().as_str(), answer.is_error()), ("the disk is full", true));
        assert_eq!(called(&mut host, echo("on")).unwrap().text(), "on");
        assert_closes(host);
    });
}

/// C088: for one call, and as the server's own setting.
#[test]
fn c088_a_timeout_names_method_and_server_and_the_next_ping_succeeds() {
    const TIMEOUT: Duration = Duration::from_millis(700);
    everywhere(|kind| {
        let plain = fixture(&[]);
        let set = with(fixture(&[]), |settings| settings.timeouts.call = Some(TIMEOUT));
        for (server, call) in [(plain, never().timeout(Some(TIMEOUT))), (set, never())] {
            let mut host = connected(kind, server);
            let began = Instant::now();
            let error = called(&mut host, call).unwrap_err();
            let took = began.elapsed();
            assert!(took >= TIMEOUT && took < TIMEOUT + SLACK, "{took:?}");
            assert_eq!((error.code(), error.delivery()), (Code::TIMEOUT, Delivery::Sent));
            let text = error.to_string();
            let tells = ["fixture", "tools/call", "700 ms"].iter().all(|word| text.contains(word));
            assert!(tells, "{text}");
            ping(&mut host).unwrap();
            let stats = called(&mut host, call_stats()).unwrap().text();
            assert!(stats.contains("\"cancelled\":1"), "{stats}");
            assert_closes(host);
        }
    });
}

fn call_stats() -> Call {
    Call::without_arguments("stats")
}

#[test]
fn l20_a_call_over_the_limit_is_refused_and_leaves_no_trace() {
    everywhere(|kind| {
        let mut host = connected(kind, with(fixture(&[]), |settings| settings.limits.pending = 3));
        let open: Vec<_> = (0..3).map(|_| host.call(never())).collect();
        let refused = called(&mut host, echo("one too many")).unwrap_err();
        assert_eq!((refused.code(), refused.delivery()), (Code::BUSY, Delivery::NotSent));
        until(&mut host, "the calls have left", |host| host.counters().queued_bytes == 0);
        open.into_iter().for_each(|ticket| host.cancel(ticket));
        let stats = called(&mut host, call_stats()).unwrap().text();
        assert!(stats.contains("\"calls\":4"), "three calls and this one: {stats}");
        assert_closes(host);
    });
}

#[test]
fn c089_progress_extends_a_call_that_asked_for_it_and_no_other() {
    const TIMEOUT: Duration = Duration::from_secs(2);
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let steps = || call("progress", json!({ "steps": 15, "interval_ms": 200 }));
        let plain = steps().timeout(Some(Duration::from_millis(500)));
        assert_eq!(called(&mut host, plain).unwrap_err().code(), Code::TIMEOUT);
        let extended = || steps().timeout(Some(TIMEOUT)).reset_on_progress();
        let began = Instant::now();
        called(&mut host, extended()).unwrap();
        assert!(began.elapsed() > TIMEOUT, "{:?}", began.elapsed());
        let capped = extended().maximum(Some(Duration::from_millis(2_500)));
        assert_eq!(called(&mut host, capped).unwrap_err().code(), Code::TIMEOUT);
        assert_closes(host);
    });
}

#[test]
fn l09_l21_l23_what_is_refused_takes_no_id_no_timer_and_no_byte() {
    everywhere(|kind| {
        let record = Scratch::new();
        let server = fixture(&["--record", record.path()]);
        let mut host = connected(kind, with(server, |settings| settings.limits.parameters = 64 << 10));
        for (ticket, code) in [
            (host.request("resources/list"), Code::UNSUPPORTED),
            (host.request("initialize"), Code::RESERVED),
            (host.call(echo(&"x".repeat(64 << 10))), Code::TOO_LARGE),
            (host.call(call("ecco", json!({ "value": 1 }))), Code::UNKNOWN_TOOL),
            (host.call(call("echo", json!([1]))), Code::INVALID_ARGUMENTS),
            (host.call(call("blob", json!({ "bytes": "many" }))), Code::INVALID_ARGUMENTS),
        ] {
            let refused = host.wait(ticket).unwrap_err();
            assert_eq!((refused.code(), refused.delivery()), (code, Delivery::NotSent), "{refused}");
            assert_idle(&host);
        }
        let before = record.read();
        called(&mut host, call_stats()).unwrap();
        let (messages, read) = (record.messages(), record.read());
        assert_eq!(read.strip_prefix(&before).map(|new| new.lines().count()), Some(1), "{read}");
        let ids: Vec<_> = messages.iter().filter_map(|message| message["id"].as_u64()).collect();
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
        assert_closes(host);
    });
}

#[test]
fn l25_a_result_that_does_not_fit_its_schema_never_reaches_the_host() {
    const GIVES: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    let listed = r#""inputSchema":{"type":"object"}"#;
    everywhere(|kind| {
        let mut server = scripted(
            r#"take; answer '{"content":[],"structuredContent":{"n":7}}'
               take; answer '{"content":[],"structuredContent":{"n":"seven"}}'
               take; answer '{"content":[{"type":"text","text":"ok"}]}'
               take"#,
        );
        server.args[1] = server.args[1].replace(listed, &format!(r#"{listed},"outputSchema":{GIVES}"#));
        let mut host = connected(kind, server);
        let call = || Call::without_arguments("t");
        let answer = called(&mut host, call()).unwrap();
        assert_eq!(answer.raw(), r#"{"content":[],"structuredContent":{"n":7}}"#);
        let error = called(&mut host, call()).unwrap_err();
        assert_eq!((error.code(), error.delivery()), (Code::INVALID_RESULT, Delivery::Sent));
        let error = called(&mut host, call()).unwrap_err();
        assert_eq!(error.code(), Code::INVALID_RESULT, "what was promised is not there");
        assert_closes(host);
    });
}

#[test]
fn l34_a_call_carries_its_meta() {
    everywhere(|kind| {
        let record = Scratch::new();
        let mut host = connected(kind, fixture(&["--record", record.path()]));
        let traced = echo("x").meta("traceparent", r#""00-1-2-01""#).unwrap();
        called(&mut host, traced).unwrap();
        let messages = record.messages();
        let meta = messages.iter().find_map(|message| message["params"].get("_meta"));
        assert_eq!(meta, Some(&json!({ "traceparent": "00-1-2-01" })));
        assert!(echo("x").meta("progressToken", "1").is_err());
        assert_closes(host);
    });
}
