//! Servers that ask more in one go than replies may wait.

use super::*;
use crate::Delivery;

const TENTH: Time = Time::from_micros(100_000);
const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n";

/// A connected session in which a few pings are too many to be answered at once.
fn connected() -> Session<u8> {
    ready_within(Limits { replies: 1_024, ..Limits::default() })
}

/// Takes all that comes out of it at that time: what is written, and how each operation ended, with the delivery of one
/// that failed.
fn played_out(session: &mut Session<u8>) -> (String, Vec<(u8, Option<Delivery>)>) {
    let (mut written, mut ended) = (String::new(), Vec::new());
    loop {
        match session.poll_output() {
            Output::Write(bytes) => {
                written += std::str::from_utf8(bytes).unwrap();
                let count = bytes.len();
                session.handle_written(TENTH, count);
            }
            Output::Complete(done) => ended.push((done.token, done.outcome.err().map(|why| why.delivery()))),
            Output::Wait { .. } => return (written, ended),
            _ => {}
        }
    }
}

/// L11, L26: only replies go before the rest of a burst.
#[test]
fn l11_behind_a_burst_an_answer_beats_its_deadline_and_what_expired_is_not_written() {
    let mut session = connected();
    session.ping(Time::ZERO, Some(Duration::from_millis(100)), 1).unwrap();
    let asked = drain(&mut session);
    session.ping(Time::ZERO, Some(Duration::from_millis(100)), 2).unwrap();
    let answer = asked.replace("\"method\":\"ping\"", "\"result\":{}");
    session.handle_stdout(TENTH, format!("{}{answer}", PING.repeat(100)).as_bytes());
    let (written, ended) = played_out(&mut session);
    assert_eq!(ended, [(1, None), (2, Some(Delivery::NotSent))]);
    assert_eq!((written.matches("\"result\":{}").count(), written.lines().count()), (100, 100));
}

/// L11, L26: a request that was encoded when the server took nothing is not written behind its deadline either.
#[test]
fn l11_what_expired_before_the_input_took_it_is_not_written_in_a_burst() {
    let mut session = connected();
    session.ping(Time::ZERO, Some(Duration::from_millis(100)), 1).unwrap();
    loop {
        match session.poll_output() {
            Output::Write(_) => break,
            Output::Wait { .. } => panic!("the request is not offered"),
            _ => {}
        }
    }
    session.handle_written(Time::ZERO, 0);
    session.handle_writable(TENTH);
    session.handle_stdout(TENTH, PING.repeat(100).as_bytes());
    let (written, ended) = played_out(&mut session);
    assert_eq!(ended, [(1, Some(Delivery::NotSent))]);
    assert_eq!((written.contains("method"), written.lines().count()), (false, 100));
}

/// L26: a server that takes a little at a time is served, and one that takes nothing more is not.
#[test]
fn l26_a_burst_ends_the_session_only_when_its_replies_cannot_be_written() {
    for (takes, lives) in [(usize::MAX, true), (5_000, true), (2_000, false)] {
        let mut session = connected();
        session.handle_stdout(Time::ZERO, PING.repeat(100).as_bytes());
        let mut left = takes;
        loop {
            match session.poll_output() {
                Output::Write(bytes) => {
                    // A page at the most, as a pipe that is nearly full takes it.
                    let count = bytes.len().min(100).min(left);
                    left -= count;
                    session.handle_written(Time::ZERO, count);
                }
                Output::Wait { .. } => break,
                _ => {}
            }
        }
        assert_eq!(session.state() == State::Ready, lives, "{takes} bytes");
    }
}
