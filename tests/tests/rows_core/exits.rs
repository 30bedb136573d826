//! Rows L15 and L16: what an exit ends, and how far calls had got.

use sans_mcp::error::FailureKind;
use sans_mcp::{Code, Delivery, Exit, Refusal, Time};
use sans_mcp_tests::peer::{Act, Child};
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::Scripted;

use crate::support::{call, code, connected, ms};

#[test]
fn l15_an_exit_ends_every_pending_call_at_once_with_code_and_tail() {
    for (exit, text) in [(Exit::Code(3), "exit code 3"), (Exit::Signal(11), "signal 11")] {
        let mut runner = connected(Scripted::on(move |said, agenda| {
            if said.method == "tools/call" && said.argument("last") == true {
                agenda.complain("Segmentation fault\n");
                agenda.exit(ms(40), exit);
            }
            said.method == "tools/call"
        }));
        let calls: Vec<u64> =
            (0..20).map(|n| runner.call(call(&format!(r#"{{"last":{}}}"#, n == 19))).unwrap()).collect();
        runner.run_until(Runner::is_closed);
        for token in calls {
            let done = runner.done(token).unwrap();
            let failure = done.outcome.failure().unwrap();
            assert_eq!((failure.code(), failure.exit()), (Code::PROCESS_EXIT, Some(exit)));
            assert_eq!(failure.stderr().as_str(), "Segmentation fault\n");
            assert_eq!(done.at, Time::ZERO + ms(40));
            assert!(failure.report().contains(text) && failure.report().contains("Segmentation fault"));
        }
        assert!(matches!(runner.call(call("{}")), Err(Refusal::Closed(Code::PROCESS_EXIT))));
    }
}

#[test]
fn l15_an_exit_waits_a_tenth_of_a_second_for_output_that_a_grandchild_holds() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.act(ms(0), Act::Fork(Child::Meek));
            agenda.exit(ms(10), Exit::Code(1));
        }
        said.method == "tools/call"
    }));
    let token = runner.call(call("{}")).unwrap();
    runner.run_until(Runner::is_closed);
    assert_eq!(runner.done(token).unwrap().at, Time::ZERO + ms(110));
    assert_eq!(runner.outcome(token).unwrap().failure().unwrap().exit(), Some(Exit::Code(1)));
    assert!(!runner.link().leaves_something());
}

#[test]
fn l15_what_was_answered_before_the_exit_is_still_an_answer_even_without_a_newline() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.write(ms(5), said.text("last words").into_bytes());
            agenda.exit(ms(5), Exit::Code(0));
        }
        said.method == "tools/call"
    }));
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some_and(|answer| answer.contains("last words")));
}

#[test]
fn l15_an_end_of_output_without_an_exit_ends_the_session_too() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.act(ms(5), Act::CloseOutput);
        }
        said.method == "tools/call"
    }));
    let token = runner.call(call("{}")).unwrap();
    runner.run_until(Runner::is_closed);
    let done = runner.done(token).unwrap();
    assert_eq!((done.outcome.code(), done.at), (Some(Code::PROCESS_EXIT), Time::ZERO + ms(105)));
    assert!(matches!(
        done.outcome.failure().unwrap().kind(),
        FailureKind::Ended(sans_mcp::Cause::OutputEnded)
    ));
}

#[test]
fn l16_every_failure_says_how_far_the_call_got() {
    // The server stops reading after the handshake: the first large call fills its pipe, the second one waits.
    let large = format!(r#"{{"a":"{}"}}"#, "a".repeat(100_000));
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.argument("stop") == true {
            agenda.act(ms(0), Act::StopReading);
            agenda.exit(ms(50), Exit::Code(1));
        }
        said.method == "tools/call"
    }));
    let sent = runner.call(call(r#"{"stop":true}"#)).unwrap();
    runner.settle();
    let partial = runner.call(call(&large)).unwrap();
    runner.settle();
    let waiting = runner.call(call("{}")).unwrap();
    let gone = runner.call(call("{}")).unwrap();
    runner.cancel(gone, "");
    runner.run_until(Runner::is_closed);
    let delivery = |token| runner.outcome(token).and_then(Outcome::delivery);
    assert_eq!(delivery(sent), Some(Delivery::Sent));
    assert_eq!(delivery(partial), Some(Delivery::Partial));
    assert_eq!(delivery(waiting), Some(Delivery::NotSent));
    assert_eq!(delivery(gone), Some(Delivery::NotSent));
    // The one that reached the server is nowhere sent again.
    assert_eq!(runner.sent("tools/call"), 1);
}

#[test]
fn l16_nothing_is_replayed_when_the_input_is_closed_under_calls() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.argument("close") == true {
            agenda.act(ms(0), Act::CloseInput);
            agenda.write(ms(30), format!("{}\n", said.text("done")).into_bytes());
        }
        said.method == "tools/call"
    }));
    let sent = runner.call(call(r#"{"close":true}"#)).unwrap();
    runner.settle();
    let unsent = runner.call(call("{}")).unwrap();
    runner.settle();
    assert_eq!(code(&runner, unsent), "MCP_STDIN_CLOSED");
    assert_eq!(runner.outcome(unsent).unwrap().delivery(), Some(Delivery::NotSent));
    assert_eq!(runner.call(call("{}")), Err(Refusal::StdinClosed));
    assert!(runner.ended(sent).answer().is_some(), "a sent call keeps waiting");
    runner.run_for(ms(1_000));
    assert_eq!(runner.sent("tools/call"), 1);
}

#[test]
fn l16_a_listing_says_how_far_the_request_came_that_it_waits_for() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "ping" {
            agenda.exit(ms(10), Exit::Code(0));
        }
        said.method == "tools/list" || said.method == "ping"
    }));
    let listing = runner.list().unwrap();
    runner.settle();
    let ping = runner.ping(None).unwrap();
    runner.run_until(Runner::is_closed);
    for token in [listing, ping] {
        assert_eq!(runner.outcome(token).unwrap().failure().unwrap().delivery(), Delivery::Sent);
    }
}
