//! The six proofs: whatever happens to a call, it ends once, and nothing of it is left.

use std::time::Duration;

use sans_mcp::{Call, Code, Delivery, Exit, State};
use sans_mcp_tokio::Client;
use serde_json::json;

use crate::support::{assert_closes, assert_idle, fixture, is_alive, on_both, until, until_stats};

#[test]
fn l01_connect_list_call_close() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        assert_eq!(client.state(), State::Ready);
        assert!(client.tools().get("echo").is_some());
        let reply = client.call_tool("echo", json!({ "value": "héllo 漢字 €😀" })).await.unwrap();
        assert_eq!(reply.text(), "héllo 漢字 €😀");
        assert!(!reply.is_error());
        client.list_tools().await.unwrap();
        client.ping().await.unwrap();
        assert_idle(&client);
        assert_closes(client).await;
    });
}

#[test]
fn l08_each_call_gets_its_own_answer_whatever_the_order() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let slow = client.call_tool("echo", json!({ "value": "slow", "delay": 80 }));
        let fast = client.call_tool("echo", json!({ "value": "fast" }));
        let started = std::time::Instant::now();
        let (slow, fast) = tokio::join!(slow, async { (fast.await, started.elapsed()) });
        let (fast, after) = fast;
        assert_eq!(slow.unwrap().text(), "slow");
        assert_eq!(fast.unwrap().text(), "fast");
        assert!(after < Duration::from_millis(80), "the fast one waited for the slow one: {after:?}");
        assert_idle(&client);
        assert_closes(client).await;
    });
}

#[test]
fn l08_a_hundred_calls_with_random_delays() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let mut random = 12_345_u64;
        let mut calls = Vec::new();
        for number in 0..100 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let call = client
                .call_tool("echo", json!({ "value": number.to_string(), "delay": (random >> 33) % 50 }));
            calls.push((number, tokio::spawn(call)));
        }
        for (number, call) in calls {
            assert_eq!(call.await.unwrap().unwrap().text(), number.to_string());
        }
        assert_idle(&client);
        assert_closes(client).await;
    });
}

#[test]
fn l14_a_remote_error_leaves_the_session_healthy_and_a_failed_tool_is_a_result() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let error = client.request("no/such/method", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Code::ERROR);
        assert_eq!(error.remote().unwrap().code, -32601);
        assert_eq!(error.delivery(), Delivery::Sent);
        let reply = client.call_tool("fail", json!({ "message": "the disk is full" })).await.unwrap();
        assert!(reply.is_error());
        assert_eq!(reply.text(), "the disk is full");
        assert_eq!(client.call_tool("echo", json!({ "value": "on" })).await.unwrap().text(), "on");
        assert_idle(&client);
        assert_closes(client).await;
    });
}

#[test]
fn c088_a_timeout_names_method_and_server_and_the_next_ping_succeeds() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let timeout = Duration::from_millis(700);
        let started = std::time::Instant::now();
        let error = client.call_tool("never", json!({})).timeout(timeout).await.unwrap_err();
        let elapsed = started.elapsed();
        assert!(elapsed >= timeout && elapsed < timeout + Duration::from_millis(500), "{elapsed:?}");
        assert_eq!(error.code(), Code::TIMEOUT);
        assert_eq!(error.delivery(), Delivery::Sent);
        let text = error.to_string();
        assert!(text.contains("fixture") && text.contains("tools/call") && text.contains("700 ms"), "{text}");
        client.ping().await.unwrap();
        assert_idle(&client);
        let stats = client.call_tool("stats", json!({})).await.unwrap();
        assert!(stats.text().contains("\"cancelled\":1"), "{}", stats.text());
        assert_closes(client).await;
    });
}

#[test]
fn l12_a_dropped_call_is_cancelled_in_the_server() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let call = tokio::spawn(client.call_tool("never", json!({})));
        until_stats(&client, "\"pending\":1").await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        let stats = until_stats(&client, "\"cancel_hits\":1").await;
        assert!(stats.contains("\"pending\":0"), "{stats}");
        assert_eq!(client.counters().cancelled, 1);
        assert_idle(&client);
        assert_closes(client).await;
    });
}

#[test]
fn l15_an_exit_ends_every_call_at_once_with_code_and_stderr() {
    on_both(|| async {
        let client = Client::connect(fixture(&["--stderr-text", "FATAL: out of paper"])).await.unwrap();
        let pid = client.process_id().unwrap();
        let waiting: Vec<_> = (0..4).map(|_| tokio::spawn(client.call_tool("never", json!({})))).collect();
        until("all four were accepted", || client.counters().pending == 4).await;
        let exit = client.call_tool("exit", json!({ "code": 7 })).await.unwrap_err();
        let mut failures = vec![exit];
        for call in waiting {
            failures.push(call.await.unwrap().unwrap_err());
        }
        for failure in failures {
            assert_eq!(failure.code(), Code::PROCESS_EXIT);
            assert_eq!(failure.exit(), Some(Exit::Code(7)));
            assert_eq!(failure.delivery(), Delivery::Sent);
            assert!(failure.to_string().contains("exit code 7"), "{failure}");
            assert!(failure.report().contains("FATAL: out of paper"), "{}", failure.report());
            assert!(failure.failure().unwrap().elapsed() < Duration::from_secs(2));
        }
        let end = client.closed().await;
        assert_eq!(end.exit, Some(Exit::Code(7)));
        assert!(end.gone(), "{end}");
        assert!(!is_alive(pid));
        assert_idle(&client);
        let late = client.call(Call::without_arguments("echo")).await.unwrap_err();
        assert_eq!((late.code(), late.delivery()), (Code::PROCESS_EXIT, Delivery::NotSent));
    });
}
