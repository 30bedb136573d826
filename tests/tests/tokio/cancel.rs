//! Dropped futures, timeouts and progress (rows L11, L12; C089, C093, C096).

use std::time::Duration;

use sans_mcp::Code;
use sans_mcp_tokio::Client;
use serde_json::json;

use crate::support::{Scratch, assert_closes, assert_idle, fixture, on_both, until, until_stats};

/// C093: one notice for each call that was given up, none for calls that finished.
#[test]
fn l12_the_server_is_told_of_each_call_that_was_given_up_and_of_no_other() {
    on_both(|| async {
        let record = Scratch::new("cancelled");
        let client = Client::connect(fixture(&["--record", record.path()])).await.unwrap();
        let dropped = client.call_tool("never", json!({}));
        assert!(tokio::time::timeout(Duration::from_millis(50), dropped).await.is_err());
        let late = client.call_tool("never", json!({})).timeout(Duration::from_millis(20)).await;
        assert_eq!(late.unwrap_err().code(), Code::TIMEOUT);
        let task = tokio::spawn(client.call_tool("never", json!({})));
        until("it was sent", || record.read().matches("\"never\"").count() == 3).await;
        task.abort();
        client.call_tool("echo", json!({ "value": "done" })).await.unwrap();
        let notices =
            || record.messages().iter().filter(|m| m["method"] == "notifications/cancelled").count();
        until("three notices", || notices() == 3).await;
        let messages = record.messages();
        for notice in messages.iter().filter(|m| m["method"] == "notifications/cancelled") {
            let id = &notice["params"]["requestId"];
            let call = messages.iter().find(|m| m["id"] == *id).expect("it names a call that was written");
            assert_eq!(call["params"]["name"], "never");
        }
        assert_idle(&client);
        assert_closes(client).await;
    });
}

/// C096: ten thousand calls given up leave nothing waiting here and nothing running there.
#[test]
fn l12_a_storm_of_given_up_calls_leaves_nothing() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let mut timed = Vec::new();
        for _ in 0..5_000 {
            let call = client.call_tool("never", json!({})).timeout(Duration::from_millis(5));
            timed.push(tokio::spawn(call));
        }
        for call in timed {
            let error = call.await.unwrap().unwrap_err();
            assert!([Code::TIMEOUT, Code::BUSY].contains(&error.code()), "{error}");
        }
        for _ in 0..5_000 {
            let mut call = client.call_tool("never", json!({}));
            let _ = poll_once(&mut call).await;
        }
        client.ping().await.unwrap();
        assert_idle(&client);
        until_stats(&client, "\"pending\":0").await;
        assert_closes(client).await;
    });
}

/// Polls a future once, which accepts the call.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_ready()))
        .await
}

/// C089: progress extends a call that asked for it, without anybody listening, and no other.
#[test]
fn l11_progress_extends_a_call_that_asked_for_it() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let steps = json!({ "steps": 10, "interval_ms": 200 });
        let timeout = Duration::from_millis(500);
        let plain = client.call_tool("progress", &steps).timeout(timeout).await;
        assert_eq!(plain.unwrap_err().code(), Code::TIMEOUT);
        client.call_tool("progress", &steps).timeout(timeout).reset_on_progress().await.unwrap();
        let capped = client.call_tool("progress", &steps).timeout(timeout).reset_on_progress();
        let capped = capped.maximum(Some(Duration::from_millis(900))).await;
        assert_eq!(capped.unwrap_err().code(), Code::TIMEOUT);
        assert_idle(&client);
        assert_closes(client).await;
    });
}
