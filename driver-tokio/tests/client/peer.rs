//! Requests of the server.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sans_mcp_tokio::{Client, Code, PeerError};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{docs, everywhere};

#[test]
fn l26_a_handler_that_panics_or_gives_no_object_is_answered_with_an_error() {
    everywhere(async || {
        let panics = async |_| -> Result<(), PeerError> { panic!("on purpose") };
        let client = Client::builder(docs()).on_roots(panics).connect().await.unwrap();
        assert_eq!(client.call_tool("ask", ()).await.unwrap().text(), "refused");
        assert_eq!(client.counters().peer_requests, 0);
        client.close().await;

        let no_object = async |_| Ok::<_, PeerError>(1);
        let client = Client::builder(docs()).on_roots(no_object).connect().await.unwrap();
        assert_eq!(client.call_tool("ask", ()).await.unwrap().text(), "refused");
        client.close().await;
    });
}

#[test]
fn l26_a_handler_is_dropped_when_the_session_ends() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    everywhere(async || {
        let (dropped, entered) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let (seen, enter) = (dropped.clone(), entered.clone());
        let waits = move |_| {
            let (guard, enter) = (Dropped(seen.clone()), enter.clone());
            async move {
                let _guard = guard;
                enter.notify_one();
                pending::<Result<(), PeerError>>().await
            }
        };
        let client = Client::builder(docs()).on_roots(waits).connect().await.unwrap();
        let asking = client.call_tool("ask", ()).start();
        entered.notified().await;
        assert_eq!(client.call_tool("search", json!({ "query": "x" })).await.unwrap().text(), "found x");
        client.close().await;
        assert_eq!(asking.await.unwrap_err().code(), Code::CLOSED);
        while !dropped.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    });
}
