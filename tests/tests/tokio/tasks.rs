//! What only this driver has: futures that are dropped, tasks that are aborted, clones of a client, and handlers.

use std::time::{Duration, Instant};

use sans_mcp::{Call, Code, Exit};
use sans_mcp_tokio::{Client, Event, PeerError, Process};
use serde_json::json;

use crate::drivers::support::{
    SLACK, Scratch, close_bound, everywhere, fixture, is_alive, pipe_size, scripted,
};

/// Runs a test on both flavours of runtime, and fails instead of hanging.
fn on_both(test: impl AsyncFn()) {
    everywhere(|kind| {
        let bounded = async { tokio::time::timeout(Duration::from_secs(60), test()).await };
        kind.runtime().block_on(bounded).expect("it ends in time");
    });
}

/// Waits for a fact that no future tells.
async fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let began = Instant::now();
    while !fact() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} did not come");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[test]
fn the_switch_leaves_the_pipe_of_the_output_as_it_is() {
    on_both(async || {
        let client =
            Client::builder(fixture(&[])).over(Process::default().keep_pipe_size()).connect().await.unwrap();
        let long = "x".repeat(200_000);
        assert_eq!(client.call_tool("echo", json!({ "value": long })).await.unwrap().text(), long);
        assert_eq!(pipe_size(client.process_id()), 64 << 10);
        client.close().await;
    });
}

#[test]
fn c093_a_dropped_future_and_an_aborted_task_are_cancelled_in_the_server() {
    on_both(async || {
        let record = Scratch::new();
        let client = Client::connect(fixture(&["--record", record.path()])).await.unwrap();
        let dropped = client.call_tool("never", json!({})).start();
        until("the first call", || record.read().contains("\"never\"")).await;
        drop(dropped);
        let late = client.call_tool("never", json!({})).timeout(Duration::from_millis(500)).await;
        assert_eq!(late.unwrap_err().code(), Code::TIMEOUT);
        let task = tokio::spawn(client.call_tool("never", json!({})));
        until("the third call", || record.read().matches("\"never\"").count() == 3).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        client.call_tool("echo", json!({ "value": "done" })).await.unwrap();
        let cancelled = || {
            let messages = record.messages().into_iter();
            let notices = messages.filter(|message| message["method"] == "notifications/cancelled");
            notices.map(|notice| notice["params"]["requestId"].clone()).collect::<Vec<_>>()
        };
        until("three notices", || cancelled().len() == 3).await;
        let messages = record.messages().into_iter();
        let calls = messages.filter(|message| message["params"]["name"] == "never");
        let calls: Vec<_> = calls.map(|call| call["id"].clone()).collect();
        assert_eq!(cancelled(), calls);
        assert_eq!(client.counters().pending, 0);
        client.close().await;
    });
}

#[test]
fn c096_five_thousand_dropped_futures_and_as_many_that_time_out_leave_nothing() {
    on_both(async || {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let mut timed = Vec::new();
        for _ in 0..5_000 {
            let call = client.call_tool("never", json!({})).timeout(Duration::from_millis(5));
            timed.push(tokio::spawn(call));
            drop(client.call_tool("never", json!({})).start());
        }
        for call in timed {
            assert_eq!(call.await.unwrap().unwrap_err().code(), Code::TIMEOUT);
        }
        client.ping().await.unwrap();
        let counters = client.counters();
        assert_eq!((counters.pending, counters.timers, counters.queued_bytes), (0, 0, 0));
        assert_eq!((counters.timeouts, counters.cancelled), (5_000, 5_000));
        let stats = client.call_tool("stats", json!({})).await.unwrap();
        assert!(stats.text().contains("\"pending\":0"), "{}", stats.text());
        client.close().await;
    });
}

/// Extra clones, and a task that waits for an answer, keep neither the server nor the close waiting.
#[test]
fn c123_clones_of_the_client_do_not_keep_the_input_open() {
    on_both(async || {
        let client = Client::connect(scripted("trap 'exit 99' TERM; while take; do :; done; exit 0")).await;
        let client = client.unwrap();
        let clones = [client.clone(), client.clone()];
        let pending = tokio::spawn(clones[0].call(Call::without_arguments("t")));
        until("the call", || client.counters().pending == 1).await;
        let began = Instant::now();
        let end = client.close().await;
        assert!(began.elapsed() < SLACK, "{:?}", began.elapsed());
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(0)), true));
        assert_eq!(pending.await.unwrap().unwrap_err().code(), Code::CLOSED);
    });
}

#[test]
fn c125_three_tasks_that_close_at_once_get_one_end() {
    on_both(async || {
        let client = Client::builder(fixture(&["--mode", "init-never"])).build().unwrap();
        let task = |client: &Client| {
            let client = client.clone();
            tokio::spawn(async move { client.start().await })
        };
        let connecting = [task(&client), task(&client)];
        until("the process", || client.process_id().is_some()).await;
        let pid = client.process_id().unwrap();
        let began = Instant::now();
        let closing = [(); 3].map(|()| {
            let client = client.clone();
            tokio::spawn(async move { client.close().await })
        });
        let mut ends = Vec::new();
        for close in closing {
            ends.push(close.await.unwrap());
        }
        ends.push(client.close().await);
        assert!(began.elapsed() < close_bound(), "{:?}", began.elapsed());
        assert!(ends.iter().all(|end| std::sync::Arc::ptr_eq(end, &ends[0])), "{ends:?}");
        assert!(ends[0].gone() && !is_alive(pid), "{}", ends[0]);
        for connecting in connecting {
            assert_eq!(connecting.await.unwrap().unwrap_err().code(), Code::CLOSED);
        }
    });
}

#[test]
fn l26_a_handler_that_panics_is_answered_with_an_internal_error() {
    on_both(async || {
        let builder = Client::builder(fixture(&[]));
        let builder = builder.on_roots(async |_| -> Result<(), PeerError> { panic!("a bug of the host") });
        let client = builder.connect().await.unwrap();
        let asked = json!({ "method": "roots/list", "params": {} });
        let answer = client.call_tool("ask", asked).await.unwrap();
        assert!(answer.text().contains("-32603"), "{}", answer.text());
        assert_eq!(client.call_tool("echo", json!({ "value": "alive" })).await.unwrap().text(), "alive");
        client.close().await;
    });
}

/// The listener is a task beside the call that is open, also on a single thread.
#[test]
fn c055_a_task_that_is_told_of_a_change_lists_the_tools_itself() {
    on_both(async || {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let before = client.tools().len();
        let (mut events, caller) = (client.events(), client.clone());
        let listener = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if matches!(event, Event::Notification(_)) {
                    return caller.list_tools().await.unwrap().len();
                }
            }
            0
        });
        let pending = client.call_tool("never", json!({})).start();
        client.call_tool("change_tools", json!({})).await.unwrap();
        assert_eq!(listener.await.unwrap(), before + 1);
        assert_eq!(client.counters().pending, 1);
        drop(pending);
        client.close().await;
    });
}
