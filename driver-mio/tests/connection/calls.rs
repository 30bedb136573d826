//! Calls and their outcomes.

use std::time::Duration;

use sans_mcp_mio::{Call, Code, Delivery, Exit, FailureKind, State};

#[cfg(feature = "schema")]
use crate::support::scripted;
use crate::support::{Host, Seen, echo, fixture, slow_echo};

#[test]
fn a_session_from_connect_to_close() {
    let mut host = Host::connected(fixture(&[]));
    let session = host.connections[0].session();
    assert_eq!(session.state(), State::Ready);
    assert!(session.catalog().get("echo").is_some());

    assert_eq!(host.text("echo", r#"{"value":"héllo 漢字 €😀"}"#), "héllo 漢字 €😀");
    let now = host.now();
    host.connections[0].list_tools(now, 1).expect("accepted");
    assert_eq!(host.outcome(1).expect("listed"), "listed");
    host.connections[0].ping(now, Some(Duration::from_secs(5)), 2).expect("accepted");
    assert_eq!(host.outcome(2).expect("answered"), "{}");

    let end = host.close(0);
    assert!(end.gone());
    assert_eq!((end.cause.code(), end.exit), (Code::CLOSED, Some(Exit::Code(0))));
    assert_eq!(host.connections[0].process_id(), None);
}

#[test]
fn three_connections_in_one_poll_keep_their_calls_apart() {
    const CALLS: u32 = 60;
    let mut host = Host::new([fixture(&[]), fixture(&["--noisy"]), fixture(&["--split-pause", "1"])]);
    (0..3).for_each(|index| host.connect(index));
    for key in 0..CALLS {
        for index in 0..3 {
            host.call(index, slow_echo(&format!("{index} {key}"), (CALLS - key) % 7), key);
        }
    }
    for key in 0..CALLS {
        for index in 0..3 {
            assert_eq!(host.outcome_of(index, key).expect("answered"), format!("{index} {key}"));
        }
    }
    (0..3).for_each(|index| assert!(host.close(index).gone()));
    assert_eq!(host.foreign, 0);
}

#[test]
fn l12_cancelled_calls_are_settled_at_once_and_leave_nothing_in_the_server() {
    const CALLS: u32 = 500;
    let mut host = Host::connected(fixture(&[]));
    let now = host.now();
    let never = || Call::without_arguments("never");
    let handles: Vec<_> =
        (0..CALLS).map(|key| host.connections[0].call(now, never(), key).expect("accepted")).collect();
    host.pump();
    for handle in handles {
        assert!(host.connections[0].cancel(now, handle, "not needed"));
    }
    host.pump();
    for key in 0..CALLS {
        let position =
            host.seen.iter().position(|(_, seen)| matches!(seen, Seen::Done(done, _) if *done == key));
        let Some(Seen::Done(_, outcome)) = position.map(|at| host.seen.remove(at).1) else {
            panic!("{key} is open")
        };
        let failure = outcome.expect_err("cancelled");
        assert_eq!(*failure.kind(), FailureKind::Cancelled("not needed".into()));
        assert_eq!(failure.delivery(), Delivery::Sent);
    }
    assert_eq!(host.connections[0].session().counters().pending, 0);
    let stats = host.text("stats", "{}");
    assert!(stats.starts_with(r#"{"pending":0,"#), "{stats}");
}

#[test]
fn l11_a_deadline_passes_on_time() {
    let timeout = Duration::from_millis(120);
    let mut host = Host::connected(fixture(&[]));
    host.call(0, Call::without_arguments("never").timeout(Some(timeout)), 1);
    let failure = host.outcome(1).expect_err("no answer");
    assert_eq!((failure.code(), failure.delivery()), (Code::TIMEOUT, Delivery::Sent));
    assert!(failure.elapsed() >= timeout && failure.elapsed() < timeout * 5, "{:?}", failure.elapsed());
    assert_eq!(host.text("echo", r#"{"value":"still here"}"#), "still here");
}

#[test]
fn a_shutdown_lets_accepted_calls_finish() {
    let mut host = Host::connected(fixture(&[]));
    host.call(0, slow_echo("last", 50), 1);
    let now = host.now();
    host.connections[0].shutdown(now, Duration::from_secs(10));
    let refused = host.connections[0].call(now, echo("late"), 2).expect_err("draining");
    assert_eq!((refused.value, refused.refusal.code()), (2, Code::CLOSED));
    assert_eq!(host.outcome(1).expect("answered"), "last");
    let end = host.end(0);
    assert_eq!((end.gone(), end.exit), (true, Some(Exit::Code(0))));
}

#[cfg(feature = "schema")]
#[test]
fn l25_a_result_that_does_not_fit_its_schema_never_reaches_the_host() {
    let server = scripted(
        r#"answer '{"content":[],"structuredContent":{"n":7}}'
           answer '{"content":[],"structuredContent":{"n":"seven"}}'
           read -r end"#,
    );
    let mut host = Host::connected(server);
    host.call(0, Call::without_arguments("count"), 1);
    assert_eq!(host.outcome(1).expect("fits"), r#"{"content":[],"structuredContent":{"n":7}}"#);
    host.call(0, Call::without_arguments("count"), 2);
    assert_eq!(host.outcome(2).expect_err("does not fit").code(), Code::INVALID_RESULT);
    assert!(host.close(0).gone());
}
