//! The client with a real process, on both runtime flavours. What spans drivers is tested in the crate `tests`.

use std::future::{Future, pending};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sans_mcp::Output;
use sans_mcp_tokio::{
    CallError, Client, Code, ConnectError, Connection, Counters, Delivery, Event, Exit, PeerError, Server,
    State, Tree,
};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tokio::time::timeout;

fn docs() -> Server {
    Server::new("docs", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server"))
}

/// Ignores the end of its input and every request.
fn deaf() -> Server {
    Server::new("deaf", "sleep").arg("600")
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs a test on both flavours and inside a local set, and fails instead of hanging.
fn everywhere<F: Future<Output = ()>>(test: impl Fn() -> F) {
    let bounded = async || timeout(Duration::from_secs(20), test()).await;
    current_thread().block_on(bounded()).unwrap();
    multi_thread().block_on(bounded()).unwrap();
    LocalSet::new().block_on(&current_thread(), bounded()).unwrap();
}

fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

fn gauges(counters: &Counters) -> (usize, usize, usize, usize) {
    (counters.pending, counters.queued_bytes, counters.reply_bytes, counters.peer_requests)
}

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
        assert!(!runs(process));
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
        assert_eq!(gauges(&client.counters()), (0, 0, 0, 0));
        assert!(client.close().await.gone());
    });
}

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
        assert_eq!(gauges(&client.counters()), (0, 0, 0, 0));
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
fn l17_close_is_shared_and_kills_what_does_not_leave() {
    everywhere(async || {
        let mut server = docs().arg("stubborn");
        server.settings.timeouts.end_of_input = Some(Duration::from_millis(50));
        server.settings.timeouts.terminate = Some(Duration::from_millis(50));
        let client = Client::connect(server).await.unwrap();
        let open = client.call_tool("never", ()).start();
        let (first, second) = tokio::join!(client.close(), client.close());
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!((first.exit, first.tree), (Some(Exit::Signal(9)), Tree::Gone));
        assert_eq!(open.await.unwrap_err().code(), Code::CLOSED);
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
    let mut close = Box::pin(client.close());
    let end = std::task::Poll::is_ready(
        &close.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())),
    );
    assert!(end);
}

#[test]
fn l18_dropping_the_last_handle_leaves_no_process() {
    everywhere(async || {
        let client = Client::connect(docs()).await.unwrap();
        let process = client.process_id().unwrap();
        let clone = client.clone();
        drop(client);
        assert!(runs(process));
        drop(clone);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    });
}

#[test]
fn l18_dropping_a_client_after_its_runtime_leaves_no_process() {
    for runtime in [current_thread(), multi_thread()] {
        let client = runtime.block_on(Client::connect(docs())).unwrap();
        let process = client.process_id().unwrap();
        let call = client.call_tool("never", ()).start();
        drop(runtime);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
        // Whoever still waits, on another runtime, is told.
        let error = current_thread().block_on(call).unwrap_err();
        assert_eq!(error.code(), Code::CLOSED);
        assert!(current_thread().block_on(client.close()).gone());
    }
}

#[test]
fn l18_dropping_a_connect_leaves_no_process() {
    everywhere(async || {
        let mut server = deaf();
        server.settings.timeouts.end_of_input = Some(Duration::from_millis(50));
        let client = Client::builder(server).build().unwrap();
        let connecting = timeout(Duration::from_millis(50), client.start()).await;
        assert!(connecting.is_err());
        assert!(client.closed().await.gone());
    });
}

#[test]
fn l26_a_handler_answers_while_calls_go_on() {
    everywhere(async || {
        let roots = async |_| Ok::<_, PeerError>(json!({ "roots": [] }));
        let client = Client::builder(docs()).on_roots(roots).connect().await.unwrap();
        assert_eq!(client.call_tool("ask", ()).await.unwrap().text(), "answered");
        client.close().await;
    });
}

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
        let (dropped, entered) = (Arc::new(AtomicBool::new(false)), Arc::new(tokio::sync::Notify::new()));
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

#[test]
fn l32_events_tell_the_life_of_a_session_and_end_with_it() {
    everywhere(async || {
        let mut builder = Client::builder(docs());
        let mut events = builder.events();
        let client = builder.connect().await.unwrap();
        client.close().await;
        let mut states = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                Event::State(state) => states.push(state),
                Event::Closed(end) => assert!(end.gone()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(states, [State::Connecting, State::Ready, State::Closing, State::Closed]);
        assert!(matches!(client.events().next().await, Some(Event::Closed(_))));
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
fn a_connection_hands_out_every_output_and_loses_none_when_it_is_not_awaited() {
    everywhere(async || {
        let mut connection = Connection::<&str>::new(docs()).unwrap();
        let now = connection.now();
        connection.session_mut().connect(now, "connect").unwrap();
        let mut states = Vec::new();
        let connected = connection.next(|output| match output {
            Output::State(state) => {
                states.push(state);
                None
            }
            Output::Complete(done) => Some(done.outcome.map(|_| done.token).unwrap()),
            _ => None,
        });
        assert_eq!(connected.await, Some("connect"));
        assert_eq!(states, [State::Connecting, State::Ready]);

        let now = connection.now();
        for token in ["first", "second"] {
            connection.session_mut().ping(now, None, token).unwrap();
        }
        for expected in ["first", "second"] {
            let completed = async {
                loop {
                    // Dropped again and again while it waits.
                    let next = connection.next(|output| match output {
                        Output::Complete(done) => Some(done.token),
                        _ => None,
                    });
                    if let Ok(token) = timeout(Duration::from_micros(10), next).await {
                        return token;
                    }
                }
            };
            assert_eq!(completed.await, Some(expected));
        }

        let now = connection.now();
        connection.session_mut().close(now);
        let end = connection.next(|output| match output {
            Output::Closed(end) => Some(end.clone()),
            _ => None,
        });
        assert!(end.await.unwrap().gone());
        assert_eq!(connection.next(|_| None::<()>).await, None);
    });
}
