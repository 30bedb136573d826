//! What a driver is told: when to read on, and when it is over.

use super::*;

#[test]
fn a_script_is_read_on_when_no_whole_line_waits() {
    let mut stage = Stage::connected("");
    assert!(stage.script.wants_input());
    stage.feed("{\"op\":\"sleep\",\"ms\":5}\n{\"op\":\"ping\"}\n{\"op\":");
    assert!(!stage.script.wants_input(), "`ping` waits");
    stage.wait(5);
    assert!(stage.script.wants_input());
    stage.script.handle_end();
    assert!(!stage.script.wants_input());
}

#[test]
fn once_the_session_has_ended_nothing_is_read_and_it_is_over_with_the_last_event() {
    let mut stage = Stage::new("");
    stage.session.close(Time::ZERO);
    assert!(stage.script.wants_input() && !stage.script.is_over());
    while !matches!(stage.session.poll_output(), Output::Closed(_)) {}
    stage.script.handle_output(stage.session.poll_output());
    assert!(!stage.script.wants_input() && !stage.script.is_over());
    stage.script.advance(&mut stage.session, Time::ZERO);
    assert!(!stage.script.wants_input() && !stage.script.is_over());
    assert!(stage.script.poll_event().is_some_and(|event| event.contains("closed")));
    assert!(!stage.script.wants_input() && stage.script.is_over());
}

#[test]
fn a_session_that_is_closing_lets_no_command_sleep() {
    let mut stage = Stage::connected(&format!("{{\"op\":\"sleep\",\"ms\":60000}}\n{CALL_B}"));
    stage.events();
    stage.session.close(stage.now);
    assert_eq!(stage.session.state(), State::Closing);
    stage.interpret();
    let refused = stage.only_event();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("b"), &json!("CLIENT_CLOSED")));
}
