//! Calls and their answers (rows L01, L08, L11, L14, L20, L29, L31, L33).

use std::time::{Duration, Instant};

use sans_mcp::{Code, Delivery, State};
use serde_json::json;

use super::support::{
    SLACK, assert_closes, assert_idle, call, called, connected, echo, everywhere, fixture, never, ping,
    until, with,
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
fn l33_a_list_of_many_pages_is_walked_when_connecting() {
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
fn l08_each_call_gets_its_own_answer_whatever_the_order() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let slow = host.call(call("echo", json!({ "value": "slow", "delay": 300 })));
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

fn call_stats() -> sans_mcp::Call {
    sans_mcp::Call::without_arguments("stats")
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
    const TIMEOUT: Duration = Duration::from_millis(500);
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let steps = || call("progress", json!({ "steps": 10, "interval_ms": 200 })).timeout(Some(TIMEOUT));
        let plain = called(&mut host, steps()).unwrap_err();
        assert_eq!(plain.code(), Code::TIMEOUT);
        let began = Instant::now();
        called(&mut host, steps().reset_on_progress()).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(1_800), "{:?}", began.elapsed());
        let capped = steps().reset_on_progress().maximum(Some(Duration::from_millis(900)));
        assert_eq!(called(&mut host, capped).unwrap_err().code(), Code::TIMEOUT);
        assert_closes(host);
    });
}
