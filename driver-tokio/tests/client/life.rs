//! Starting and leaving.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sans_mcp_tokio::{Client, Code, ConnectError, Delivery, Exit, Server, State, Tree};
use serde_json::json;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::support::{current_thread, deaf, docs, everywhere, exists, multi_thread};

#[test]
fn l05_concurrent_starts_share_one_process_and_a_closed_client_stays_closed() {
    everywhere(async || {
        let client = Client::builder(docs()).build().unwrap();
        assert_eq!((client.state(), client.process_id()), (State::New, None));
        let (first, second) = tokio::join!(client.start(), client.start());
        first.and(second).unwrap();
        let process = client.process_id();
        client.start().await.unwrap();
        assert_eq!(client.process_id(), process);
        client.close().await;
        assert_eq!(client.start().await.unwrap_err().code(), Code::CLOSED);
        let refused = client.call_tool("search", ()).await.unwrap_err();
        assert_eq!((refused.code(), refused.delivery()), (Code::CLOSED, Delivery::NotSent));
    });
}

#[test]
fn l05_a_failed_handshake_leaves_no_process() {
    everywhere(async || {
        let mut server = deaf();
        server.settings.timeouts.connect = Some(Duration::from_millis(50));
        let client = Client::builder(server).build().unwrap();
        let failed = client.start().await.unwrap_err();
        assert_eq!(failed.code(), Code::CONNECT_TIMEOUT);
        let ConnectError::Failed { end, .. } = failed else { panic!("it is a failure") };
        assert_eq!((end.exit, end.tree), (Some(Exit::Signal(9)), Tree::Gone));
    });
}

#[test]
fn l06_errors_of_configuration_and_start_are_told_apart() {
    everywhere(async || {
        let bad = Client::connect(Server::new("", "docs-server")).await.unwrap_err();
        assert!(matches!(bad, ConnectError::Config(_)));
        let missing = Client::connect(Server::new("docs", "no-such-program")).await.unwrap_err();
        assert_eq!(missing.code(), Code::NOT_FOUND);
    });
}

#[test]
fn l17_close_is_shared_and_kills_what_does_not_leave() {
    everywhere(async || {
        let mut server = docs().arg("stubborn");
        server.settings.timeouts.end_of_input = Duration::from_millis(50);
        server.settings.timeouts.terminate = Duration::from_millis(50);
        let client = Client::connect(server).await.unwrap();
        let open = client.call_tool("never", ()).start();
        let (first, second) = tokio::join!(client.close(), client.close());
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!((first.exit, first.tree), (Some(Exit::Signal(9)), Tree::Gone));
        assert_eq!(open.await.unwrap_err().code(), Code::CLOSED);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn l17_close_ends_what_left_the_process_group() {
    everywhere(async || {
        // The number is printed in the new session, and before the server answers anything.
        let script = "echo $(setsid sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1' &) >&2; exec \"$0\"";
        let server = Server::new("docs", "/bin/sh").allow_shell().args(["-c", script, &docs().command]);
        let client = Client::connect(server).await.unwrap();
        let end = client.close().await;
        assert!(end.gone(), "{end}");
        let escaped: u32 = end.stderr.as_str().trim().parse().unwrap();
        assert!(!is_running(escaped));
    });
}

#[test]
fn l17_shutdown_lets_accepted_calls_finish() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let accepted = client.call_tool("search", json!({ "query": "last" })).start();
        let end = client.shutdown(Duration::from_secs(5)).await;
        assert_eq!(accepted.await.unwrap().text(), "found last");
        assert_eq!((end.exit, end.gone()), (Some(Exit::Code(0)), true));
    });
}

#[test]
fn l17_closing_a_client_that_was_never_started_needs_no_runtime() {
    let client = Client::builder(docs()).build().unwrap();
    let close = pin!(client.close()).poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(end) = close else { panic!("there is nothing to wait for") };
    assert_eq!((end.exit, end.tree), (None, Tree::Gone));
}

#[test]
fn l18_dropping_the_last_handle_leaves_no_process() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let process = client.process_id().unwrap();
        let clone = client.clone();
        drop(client);
        assert!(exists(process));
        drop(clone);
        assert!(!exists(process));
    });
}

#[test]
fn l18_dropping_a_client_after_its_runtime_leaves_no_process() {
    for runtime in [current_thread(), multi_thread()] {
        let client = runtime.block_on(Client::connect(docs())).unwrap();
        let process = client.process_id().unwrap();
        let call = client.call_tool("never", ()).start();
        drop(runtime);
        assert!(!exists(process));
        // Whoever still waits, on another runtime, is told.
        let error = current_thread().block_on(call).unwrap_err();
        assert_eq!(error.code(), Code::CLOSED);
        assert!(current_thread().block_on(client.close()).gone());
    }
}

#[test]
fn l18_dropping_a_connect_leaves_no_process() {
    everywhere(async || {
        let client = Client::builder(deaf()).build().unwrap();
        let connecting = timeout(Duration::from_millis(50), client.start()).await;
        assert!(connecting.is_err());
        assert!(client.closed().await.gone());
    });
}

#[test]
fn l18_a_runtime_that_cannot_drive_it_is_told_at_once_and_leaves_no_process() {
    let without_io = Builder::new_current_thread().enable_time().build().unwrap();
    let failed = without_io.block_on(Client::connect(docs())).unwrap_err();
    let ConnectError::Failed { end, .. } = failed else { panic!("it is a failure") };
    assert!(end.gone());
}

/// Whether there is such a process, and not only its status that somebody has yet to take.
#[cfg(target_os = "linux")]
fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|fields| !fields.is_empty() && !fields.starts_with(['Z', 'X']))
}
