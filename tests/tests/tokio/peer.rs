//! Requests of the server while calls go on (row L26; C067, C055).

use std::time::{Duration, Instant};

use sans_mcp_tokio::{Client, Event, PeerError};
use serde_json::json;

use crate::support::{assert_closes, assert_idle, fixture, on_both};

async fn asked(client: &Client, method: &str) -> String {
    let call = client.call_tool("ask", json!({ "method": method, "params": {} }));
    call.await.unwrap().text().into_owned()
}

#[test]
fn l26_a_handler_answers_while_the_call_is_pending() {
    on_both(|| async {
        let client = Client::builder(fixture(&[]))
            .on_elicitation(async |_| {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok(json!({ "action": "decline" }))
            })
            .on_sampling(async |_| Err::<(), _>(PeerError::rejected()))
            .connect()
            .await
            .unwrap();
        let started = Instant::now();
        let (slow, fast) = tokio::join!(asked(&client, "elicitation/create"), async {
            client.call_tool("echo", json!({ "value": "meanwhile" })).await.unwrap();
            started.elapsed()
        });
        assert!(slow.contains(r#""action":"decline""#), "{slow}");
        assert!(fast < Duration::from_millis(300), "the call waited for the handler: {fast:?}");
        let rejected = asked(&client, "sampling/createMessage").await;
        assert!(rejected.contains("-1") && rejected.contains("rejected"), "{rejected}");
        assert_idle(&client);
        assert_closes(client).await;
    });
}

#[test]
fn l26_without_a_handler_the_answer_is_method_not_found() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        for method in ["elicitation/create", "sampling/createMessage", "roots/list", "no/such"] {
            let answer = asked(&client, method).await;
            assert!(answer.contains("-32601"), "{method}: {answer}");
        }
        assert!(asked(&client, "ping").await.contains(r#""result":{}"#));
        assert_closes(client).await;
    });
}

#[test]
fn l26_a_handler_that_panics_is_answered_with_an_internal_error() {
    on_both(|| async {
        let builder = Client::builder(fixture(&[]));
        let builder = builder.on_roots(async |_| -> Result<(), PeerError> { panic!("a bug of the host") });
        let client = builder.connect().await.unwrap();
        let answer = asked(&client, "roots/list").await;
        assert!(answer.contains("-32603"), "{answer}");
        assert_eq!(client.call_tool("echo", json!({ "value": "alive" })).await.unwrap().text(), "alive");
        assert_closes(client).await;
    });
}

/// C055: a handler of list changes that lists the tools itself, also while a call is pending, on a single thread.
#[test]
fn l32_a_listener_may_call_back() {
    on_both(|| async {
        let client = Client::connect(fixture(&[])).await.unwrap();
        let mut events = client.events();
        let before = client.tools().len();
        let pending = tokio::spawn(client.call_tool("echo", json!({ "value": "late", "delay": 300 })));
        client.call_tool("change_tools", json!({})).await.unwrap();
        loop {
            match events.next().await.unwrap() {
                Event::Notification(note) if note.method() == "notifications/tools/list_changed" => break,
                _ => {}
            }
        }
        assert!(client.tools_are_stale());
        assert_eq!(client.list_tools().await.unwrap().len(), before + 1);
        assert!(!client.tools_are_stale());
        assert_eq!(pending.await.unwrap().unwrap().text(), "late");
        assert_closes(client).await;
    });
}
