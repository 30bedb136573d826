//! Requests and notifications of the server while calls go on (rows L26, L27, L32).

use std::time::{Duration, Instant};

use sans_mcp::error::PeerFault;
use sans_mcp::{Call, Cause, FailureKind, Limits};
use serde_json::{Value, json};

use super::outcome::{Answering, Seen};
use super::support::{
    Mark, assert_closes, assert_idle, call, called, connected, echo, everywhere, fixture, never, scripted,
    until, with,
};
use crate::host::Host;

/// What the host replied to a request of the server.
fn asked(host: &mut Host, method: &str) -> Value {
    let answer = called(host, call("ask", json!({ "method": method, "params": {} }))).unwrap();
    serde_json::from_str(&answer.text()).unwrap()
}

/// The reply goes out while the call that caused the request is open, and other calls do not wait for it.
#[test]
fn c067_the_host_answers_while_the_call_is_pending() {
    let after = Duration::from_secs(1);
    let answers = [
        Answering { method: "elicitation/create", after, with: Ok(r#"{"action":"decline"}"#) },
        Answering { method: "sampling/createMessage", after, with: Err(-1) },
        Answering { method: "roots/list", after, with: Ok(r#"{"roots":[]}"#) },
    ];
    everywhere(|kind| {
        let mut host = Host::new(kind, fixture(&[]), &answers).unwrap();
        host.connect().unwrap();
        for answer in &answers {
            let began = Instant::now();
            let arguments = json!({ "method": answer.method, "params": {} });
            let slow = host.call(call("ask", arguments));
            called(&mut host, echo("meanwhile")).unwrap();
            assert_eq!(host.counters().pending, 1, "the echo waited for the host");
            let reply: Value = serde_json::from_str(&host.wait(slow).unwrap().text()).unwrap();
            match answer.with {
                Ok(result) => assert_eq!(reply["result"].to_string(), result),
                Err(code) => assert_eq!(reply["error"]["code"], code),
            }
            assert!(began.elapsed() >= after);
        }
        assert_idle(&host);
        assert_closes(host);
    });
}

#[test]
fn c067_what_nobody_answers_is_refused_at_once_and_the_call_completes() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        for method in ["elicitation/create", "sampling/createMessage", "roots/list", "no/such"] {
            assert_eq!(asked(&mut host, method)["error"]["code"], -32601, "{method}");
        }
        assert_eq!(asked(&mut host, "ping")["result"], json!({}));
        assert_closes(host);
    });
}

/// A host that is late is answered for, and its late answer harms nobody.
#[test]
fn l26_a_host_that_does_not_answer_in_time_is_answered_for() {
    let late =
        Answering { method: "roots/list", after: Duration::from_millis(1_500), with: Ok(r#"{"roots":[]}"#) };
    everywhere(|kind| {
        let mut server = fixture(&[]);
        server.settings.timeouts.peer_request = Some(Duration::from_millis(100));
        let mut host = Host::new(kind, server, &[late]).unwrap();
        host.connect().unwrap();
        let reply = asked(&mut host, "roots/list");
        assert_eq!(reply["error"]["code"], -32603, "{reply}");
        host.turn(late.after);
        assert_eq!(called(&mut host, echo("on")).unwrap().text(), "on");
        assert_idle(&host);
        assert_closes(host);
    });
}

/// Who is told that the list changed lists the tools itself, also while a call is pending.
#[test]
fn c055_who_is_told_of_a_change_may_call_back() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let before = host.tools().len();
        let pending = host.call(never());
        for round in 1..=2 {
            called(&mut host, call("change_tools", json!({}))).unwrap();
            until(&mut host, "the news", |host| {
                host.seen().contains(&Seen::Notification("notifications/tools/list_changed"))
            });
            assert!(host.tools_are_stale());
            let list = host.list();
            host.wait(list).unwrap();
            assert_eq!((host.tools().len(), host.tools_are_stale()), (before + round, false));
        }
        assert_eq!(host.counters().pending, 1, "the call is open all the time");
        host.cancel(pending);
        assert_closes(host);
    });
}

/// A thousand bytes of id in each request, so that eight thousand of them are too much.
#[test]
fn l26_who_asks_and_does_not_read_the_replies_is_at_fault() {
    let flood = r#"take; id=$(head -c 1000 /dev/zero | tr '\0' x); exec yes '{"jsonrpc":"2.0","id":"'$id'","method":"ping"}'"#;
    everywhere(|kind| {
        let (server, mark) = Mark::on(scripted(flood));
        let mut host = connected(kind, server);
        let error = called(&mut host, Call::without_arguments("t").timeout(None)).unwrap_err();
        let fault = PeerFault::UnreadReplies { limit: Limits::REPLIES };
        assert_eq!(*error.failure().kind(), FailureKind::Ended(Cause::Peer(fault)));
        assert!(host.closed().gone());
        mark.assert_none();
        assert_idle(&host);
    });
}

/// Ten megabytes come where one a second is allowed: the rest is dropped and counted, or the session ends, as was set.
#[test]
fn l27_a_flood_of_notifications_is_bounded_by_its_bytes() {
    const EACH: usize = 100 << 10;
    const ALLOWED: usize = 1 << 20;
    let params = json!({ "level": "info", "data": "d".repeat(EACH) });
    let flood = || {
        let arguments = json!({ "method": "notifications/message", "params": params, "count": 100 });
        call("notify", arguments).timeout(None)
    };
    everywhere(|kind| {
        let server = |ends| {
            with(fixture(&[]), |settings| {
                settings.limits.notification_bytes_per_second = ALLOWED;
                settings.limits.end_on_notification_flood = ends;
            })
        };
        let mut host = connected(kind, server(false));
        let began = Instant::now();
        assert_eq!(called(&mut host, flood()).unwrap().text(), "100 sent");
        let seconds = began.elapsed().as_secs() + 2;
        let counters = host.counters();
        assert_eq!(counters.notifications + counters.dropped_notifications, 100);
        let most = (ALLOWED / EACH) as u64 * seconds;
        assert!((1..=most).contains(&counters.notifications), "{} of {most}", counters.notifications);
        assert_closes(host);

        let mut host = connected(kind, server(true));
        let error = called(&mut host, flood()).unwrap_err();
        let cause = Cause::Peer(PeerFault::NotificationFlood);
        assert_eq!(*error.failure().kind(), FailureKind::Ended(cause));
        assert!(host.closed().gone());
    });
}
