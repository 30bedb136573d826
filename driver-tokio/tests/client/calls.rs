//! Calls from their making to their end.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sans_mcp_tokio::{CallError, Client, Code, Delivery, Exit, State, Tree};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{current_thread, docs, everywhere, exists, gauges};

#[test]
fn l01_connects_lists_calls_and_closes() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        assert_eq!(client.state(), State::Ready);
        assert_eq!(client.server_info().unwrap().name, "docs");
        assert_eq!(client.list_tools().await.unwrap().len(), 5);
        let reply = client.call_tool("search", json!({ "query": "deadline" })).await.unwrap();
        assert_eq!((reply.text().as_ref(), reply.is_error()), ("found deadline", false));
        client.ping().await.unwrap();
        let process = client.process_id().unwrap();
        let end = client.close().await;
        assert_eq!((end.exit, end.tree, client.state()), (Some(Exit::Code(0)), Tree::Gone, State::Closed));
        assert!(!exists(process));
    });
}

#[test]
fn l08_each_of_many_calls_gets_its_own_answer() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let calls = (0..64).map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let query = format!("no. {number}");
                let reply = client.call_tool("search", json!({ "query": query })).await.unwrap();
                assert_eq!(reply.text(), format!("found {query}"));
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        assert_eq!(gauges(&client.counters()), [0; 5]);
        assert!(client.close().await.gone());
    });
}

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
fn l15_an_exit_ends_every_call_with_its_code() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let calls = ["never", "never", "leave"].map(|tool| client.call_tool(tool, ()).start());
        for call in calls {
            let error = call.await.unwrap_err();
            assert_eq!((error.code(), error.exit()), (Code::PROCESS_EXIT, Some(Exit::Code(7))));
        }
        assert!(client.closed().await.gone());
    });
}

#[test]
fn l09_a_refused_call_never_existed() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let before = client.counters();
        let error = client.call_tool("serach", ()).await.unwrap_err();
        assert!(matches!(&error, CallError::Refused { .. }));
        assert!(error.to_string().contains("did you mean `search`?"), "{error}");
        let error = client.call_tool("search", [1]).await.unwrap_err();
        assert_eq!(error.code(), Code::INVALID_ARGUMENTS);
        assert_eq!(gauges(&client.counters()), gauges(&before));
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
