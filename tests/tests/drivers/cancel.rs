//! Calls that were given up (row L12).

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use sans_mcp::{Code, Delivery};

use super::support::{
    Scratch, assert_closes, assert_idle, called, connected, echo, everywhere, fixture, never, ping, until,
    until_stats,
};

#[test]
fn l12_a_cancelled_call_is_settled_at_once_and_cancelled_in_the_server() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let ticket = host.call(never());
        until_stats(&mut host, "\"pending\":1");
        host.cancel(ticket);
        assert_eq!((host.counters().cancelled, host.counters().pending), (1, 0));
        let stats = until_stats(&mut host, "\"cancel_hits\":1");
        assert!(stats.contains("\"pending\":0"), "{stats}");
        assert_closes(host);
    });
}

/// One notice for each call that was given up, by the caller or by its deadline; none for calls that finished, and none for
/// calls of which nothing was sent.
#[test]
fn c093_the_server_is_told_of_each_call_that_was_given_up_and_of_no_other() {
    everywhere(|kind| {
        let record = Scratch::new();
        let mut host = connected(kind, fixture(&["--record", record.path()]));
        let first = host.call(never());
        until(&mut host, "the first call", |_| record.read().contains("\"never\""));
        host.cancel(first);
        let late = called(&mut host, never().timeout(Some(Duration::from_millis(500)))).unwrap_err();
        assert_eq!(late.code(), Code::TIMEOUT);
        let third = host.call(never());
        until(&mut host, "the third call", |_| record.read().matches("\"never\"").count() == 3);
        host.cancel(third);
        called(&mut host, echo("done")).unwrap();
        let notices = |record: &Scratch| {
            let messages = record.messages().into_iter();
            messages.filter(|message| message["method"] == "notifications/cancelled").collect::<Vec<_>>()
        };
        until(&mut host, "three notices", |_| notices(&record).len() == 3);
        let messages = record.messages();
        for notice in notices(&record) {
            let id = &notice["params"]["requestId"];
            let at = messages.iter().position(|message| message["id"] == *id);
            let at = at.expect("it names a call that was written, by value and type");
            assert_eq!(messages[at]["params"]["name"], "never");
            assert!(messages[at + 1..].contains(&notice), "the notice comes after its call");
        }
        assert_closes(host);
        assert_eq!(notices(&record).len(), 3);
    });
}

/// Five thousand calls that time out after 5 ms and five thousand that are cancelled, none of which is ever answered.
#[test]
fn c096_ten_thousand_calls_given_up_leave_nothing_here_and_nothing_there() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let mut begun = 0;
        for _ in 0..50 {
            let call = || never().timeout(Some(Duration::from_millis(5)));
            let timed: Vec<_> = (0..100).map(|_| host.call(call())).collect();
            for ticket in timed {
                let error = host.wait(ticket).unwrap_err();
                assert_eq!(error.code(), Code::TIMEOUT);
                begun += u64::from(error.delivery() != Delivery::NotSent);
            }
            let dropped: Vec<_> = (0..100).map(|_| host.call(never())).collect();
            host.turn(Duration::from_millis(1));
            dropped.into_iter().for_each(|ticket| host.cancel(ticket));
        }
        assert!(begun > 0, "none of them was sent");
        ping(&mut host).unwrap();
        assert_idle(&host);
        let counters = host.counters();
        assert_eq!((counters.timeouts, counters.cancelled), (5_000, 5_000));
        let stats = until_stats(&mut host, "\"pending\":0");
        let count = |name: &str| {
            let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
            stats[name].as_u64().unwrap()
        };
        assert_eq!(count("cancelled"), count("cancel_hits"), "each notice found its call: {stats}");
        assert_closes(host);
    });
}

/// L12, issue 3: ten thousand calls that are all open at one moment and given up at one moment.
#[test]
fn l12_ten_thousand_open_calls_are_given_up_at_once() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let calls: Vec<_> = (0..10_000).map(|_| host.call(never().timeout(None))).collect();
        until_stats(&mut host, "\"pending\":10000");
        calls.into_iter().for_each(|ticket| host.cancel(ticket));
        assert_idle(&host);
        let stats = until_stats(&mut host, "\"pending\":0");
        assert!(stats.contains("\"cancelled\":10000,\"cancel_hits\":10000"), "{stats}");
        assert_closes(host);
    });
}

/// The other half of C096: the server answers after all, and late answers change nothing.
#[test]
fn c096_late_answers_to_calls_that_were_given_up_are_ignored() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let pid = Pid::from_raw(host.process_id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let timeout = Some(Duration::from_secs(1));
        let calls: Vec<_> = (0..2_000).map(|_| host.call(echo("late").timeout(timeout))).collect();
        let mut begun = 0;
        for ticket in calls {
            let error = host.wait(ticket).unwrap_err();
            assert_eq!(error.code(), Code::TIMEOUT);
            begun += u64::from(error.delivery() != Delivery::NotSent);
        }
        assert!(begun > 0 && begun < 2_000, "{begun}: the pipe holds some and not all");
        assert_eq!(host.counters().pending, 0);
        kill_process(pid, Signal::CONT).unwrap();
        assert_eq!(called(&mut host, echo("on time")).unwrap().text(), "on time");
        assert_eq!(host.counters().late, begun);
        assert_idle(&host);
        let stats = until_stats(&mut host, "\"pending\":0");
        assert!(stats.contains(&format!("\"cancelled\":{begun}")), "{stats}");
        assert_closes(host);
    });
}
