//! Starting and leaving.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sans_mcp_tokio::{Client, Code, ConnectError, Tree};
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::support::{current_thread, deaf, docs, everywhere, exists, multi_thread};

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
