//! Calls from their making to their end.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sans_mcp_tokio::{Client, Code, Delivery};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{current_thread, docs, everywhere, gauges};

#[test]
fn l12_dropping_a_call_cancels_it_and_one_that_never_began_leaves_no_trace() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        drop(client.call_tool("never", ()));
        assert_eq!(client.counters().cancelled, 0);
        let begun = timeout(Duration::from_millis(20), client.call_tool("never", ())).await;
        assert!(begun.is_err());
        assert_eq!((client.counters().cancelled, client.counters().pending), (1, 0));
        let counted = client.call_tool("count", ()).await.unwrap();
        assert_eq!(counted.text(), "2 calls, 1 cancelled");
        client.close().await;
    });
}

#[test]
fn l12_a_burst_of_calls_that_is_dropped_before_it_was_written_never_reaches_the_server() {
    current_thread().block_on(async {
        let client = Client::connect(docs()).await.unwrap();
        // The I/O task has no turn between these lines.
        let calls = (0..1_000).map(|_| client.call_tool("never", ()).start()).collect::<Vec<_>>();
        assert_eq!(client.counters().pending, 1_000);
        drop(calls);
        assert_eq!(gauges(&client.counters()), [0; 5]);
        assert_eq!(client.call_tool("count", ()).await.unwrap().text(), "1 calls, 0 cancelled");
        client.close().await;
    });
}

#[test]
fn l11_time_is_tokios_and_can_be_paused() {
    current_thread().block_on(async {
        let client = Client::connect(docs()).await.unwrap();
        tokio::time::pause();
        let (started, before) = (Instant::now(), tokio::time::Instant::now());
        let hour = Duration::from_secs(3_600);
        let error = client.call_tool("never", ()).timeout(hour).await.unwrap_err();
        assert_eq!((error.code(), error.delivery()), (Code::TIMEOUT, Delivery::Sent));
        assert!(before.elapsed() >= hour && started.elapsed() < Duration::from_secs(10));
        tokio::time::resume();
        client.close().await;
    });
}

#[test]
fn l13_progress_is_told_in_order_and_before_the_result() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let call = client.call_tool("search", json!({ "query": "x" }));
        let call = call.on_progress(move |progress| tell.lock().unwrap().push(progress.progress().unwrap()));
        assert_eq!(call.await.unwrap().text(), "found x");
        assert_eq!(*told.lock().unwrap(), [1.0, 2.0]);
        client.close().await;
    });
}

#[test]
fn l34_a_reserved_key_is_refused_when_the_call_is_awaited() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let call = client.call_tool("search", ()).meta("progressToken", "1").timeout(Duration::from_secs(1));
        let error = call.await.unwrap_err();
        assert_eq!((error.code(), error.delivery()), (Code::RESERVED, Delivery::NotSent));
        client.close().await;
    });
}

#[test]
fn a_request_gives_its_raw_result_and_a_method_that_was_not_offered_is_refused() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        assert_eq!(&*client.request("ping", ()).await.unwrap(), "{}");
        assert_eq!(client.request("prompts/list", ()).await.unwrap_err().code(), Code::UNSUPPORTED);
        assert_eq!(client.notify("tools/call\n", ()).unwrap_err().code(), Code::INVALID_ARGUMENTS);
        client.close().await;
    });
}
