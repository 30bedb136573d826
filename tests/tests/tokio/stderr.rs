//! Standard error is always drained, kept as a tail, and never a failure by itself (rows L22, S03).

use std::time::{Duration, Instant};

use sans_mcp::{Secret, Server, StderrMode};
use sans_mcp_tokio::{Client, Event};
use serde_json::json;

use crate::support::{assert_closes, fixture, on_both, script, until};

async fn survives_two_megabytes(server: Server) {
    let client = Client::connect(server).await.unwrap();
    let reply = client.call_tool("echo", json!({ "value": "through" })).await.unwrap();
    assert_eq!(reply.text(), "through");
    // A server that buffers may answer before it has written all of it.
    until("all of it was read", || client.counters().stderr_bytes >= 2 << 20).await;
    assert!(client.counters().stderr_truncated);
    assert!(client.stderr().as_str().len() <= 64 << 10);
    assert_closes(client).await;
}

#[test]
fn s02_two_megabytes_on_stderr_before_the_answer() {
    on_both(|| survives_two_megabytes(fixture(&["--stderr-bytes", "2097152"])));
}

#[test]
fn s03_the_python_server_blocks_when_nobody_reads_and_does_not_hang_this_client() {
    let Some(server) = script("python3", &["--stderr-bytes", "2097152"]) else { return };
    on_both(|| survives_two_megabytes(server.clone()));
}

#[test]
fn s03_the_node_server_buffers_when_nobody_reads_and_does_not_hang_this_client() {
    let Some(server) = script("node", &["--stderr-bytes", "2097152"]) else { return };
    on_both(|| survives_two_megabytes(server.clone()));
}

/// C107: a server that writes to stderr before each answer, half of it without newlines.
#[test]
fn l22_a_chatty_server_is_not_held_up() {
    on_both(|| async {
        let noise = "head -c 131072 /dev/zero | tr '\\0' e >&2; yes line | head -c 131072 >&2; ";
        let answer = |result: &str| {
            let id = r#"$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')"#;
            format!(r#"id={id}; printf '{{"jsonrpc":"2.0","id":%s,"result":{result}}}\n' "$id""#)
        };
        let initialize = answer(
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}"#,
        );
        let list = answer(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#);
        let call = answer(r#"{"content":[{"type":"text","text":"ok"}]}"#);
        let text = format!(
            "head -c 1048576 /dev/zero >&2; while read -r line; do case \"$line\" in \
             *initialize\\\"*) {noise}{initialize};; *tools/list*) {noise}{list};; *tools/call*) {noise}{call};; esac; done"
        );
        let server = Server::new("chatty", "/bin/sh").args(["-c", &text]).allow_shell();
        let started = Instant::now();
        let client = Client::connect(server).await.unwrap();
        for _ in 0..20 {
            assert_eq!(client.call_tool("t", json!({})).await.unwrap().text(), "ok");
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_closes(client).await;
    });
}

/// C109: what is on stderr is there for who asks, and changes no state.
#[test]
fn l22_stderr_is_offered_and_never_a_failure() {
    on_both(|| async {
        let script =
            format!("echo \"ERROR fatal: $PASSWORD is wrong\" >&2; exec {}", env!("CARGO_BIN_EXE_fixture"));
        let server = Server::new("loud", "/bin/sh").args(["-c", &script]).allow_shell();
        let server = server.stderr(StderrMode::Events).secret("PASSWORD", Secret::new("hunter2"));
        let mut builder = Client::builder(server);
        let mut events = builder.events();
        let client = builder.connect().await.unwrap();
        let mut seen = String::new();
        while !seen.contains("is wrong") {
            if let Event::Stderr(piece) = events.next().await.unwrap() {
                seen.push_str(&String::from_utf8_lossy(&piece));
            }
        }
        assert!(client.stderr().as_str().contains("ERROR fatal: [secret] is wrong"), "{}", client.stderr());
        assert!(!seen.contains("hunter2"), "{seen}");
        assert_eq!(client.call_tool("echo", json!({ "value": "fine" })).await.unwrap().text(), "fine");
        assert_closes(client).await;
    });
}
