//! Servers that misbehave in one way each, as the fixture's modes: the precise outcome, well before any deadline, and nothing
//! left.

use std::time::{Duration, Instant};

use sans_mcp::{Code, IdMatching, Server};
use sans_mcp_tokio::{CallError, Client, ToolReply};
use serde_json::json;

use crate::support::{assert_idle, fixture, is_alive, on_both, with};

const GREETING: &str = "héllo 漢字 €😀 end";
/// The deadline of calls here; what is known earlier must be told earlier.
const DEADLINE: Duration = Duration::from_millis(1_000);
const SLACK: Duration = Duration::from_millis(500);

/// How a call ended, in one word.
fn told(outcome: Result<ToolReply, CallError>, wanted: &str) -> String {
    match outcome {
        Ok(reply) if reply.text() == wanted => "ok".to_owned(),
        Ok(reply) => format!("another text: {}", reply.text()),
        Err(error) => error.code().to_string(),
    }
}

/// Connects to a server in this mode, makes two calls one after another, closes, and compares how the calls ended.
async fn two_calls(server: Server, first: &str, second: &str) {
    let mode = server.args.join(" ");
    let client = Client::connect(server).await.unwrap_or_else(|error| panic!("{mode}: {error}"));
    let pid = client.process_id().unwrap();
    for (value, expected) in [(GREETING, first), ("second", second)] {
        let began = Instant::now();
        let outcome = client.call_tool("echo", json!({ "value": value })).timeout(DEADLINE).await;
        let took = began.elapsed();
        assert_eq!(told(outcome, value), expected, "{mode}, {value}");
        let bound = if expected == Code::TIMEOUT.as_str() { DEADLINE + SLACK } else { DEADLINE };
        assert!(took < bound, "{mode}, {value}: {took:?}");
    }
    let bound = client_bound();
    let began = Instant::now();
    let end = client.close().await;
    assert!(began.elapsed() < bound, "{mode}: the close took {:?}", began.elapsed());
    assert!(end.gone() && !is_alive(pid), "{mode}: {end}");
    assert_idle(&client);
}

fn client_bound() -> Duration {
    sans_mcp::Timeouts::default().close_bound() + SLACK
}

fn mode(name: &str) -> Server {
    fixture(&["--mode", name])
}

const OK: &str = "ok";
const INVALID: &str = "MCP_INVALID_RESPONSE";
const TIMEOUT: &str = "MCP_TIMEOUT";
const EXIT: &str = "MCP_PROCESS_EXIT";

#[test]
fn w05_what_is_no_message_is_passed_over() {
    on_both(|| async {
        for name in ["plain", "log-line", "non-object", "dribble2", "deep"] {
            two_calls(mode(name), OK, OK).await;
        }
    });
}

#[test]
fn l13_answers_that_name_no_call_or_name_it_twice_change_nothing() {
    on_both(|| async {
        for name in ["dup-id", "id-unknown", "huge-id"] {
            two_calls(mode(name), OK, OK).await;
        }
    });
}

#[test]
fn w06_answers_that_are_none_fail_their_call_at_once() {
    on_both(|| async {
        for name in ["both", "neither", "bad-utf8"] {
            two_calls(mode(name), INVALID, OK).await;
        }
    });
}

#[test]
fn l07_a_string_for_a_number_is_named_in_the_timeout_and_taken_on_request() {
    on_both(|| async {
        let client = Client::connect(mode("id-string")).await.unwrap();
        let call = client.call_tool("echo", json!({ "value": "x" })).timeout(Duration::from_millis(200));
        let error = call.await.unwrap_err();
        assert_eq!(error.code(), Code::TIMEOUT);
        assert!(error.to_string().contains("which is not the id that was sent"), "{error}");
        client.close().await;
        let lenient = with(mode("id-string"), |settings| settings.id_matching = IdMatching::Decimal);
        two_calls(lenient, OK, OK).await;
    });
}

#[test]
fn l15_exits_and_lost_outputs_are_told_at_once() {
    on_both(|| async {
        two_calls(mode("half-exit"), EXIT, EXIT).await;
        two_calls(mode("close-stdout"), EXIT, EXIT).await;
        two_calls(mode("grandchild-exit"), EXIT, EXIT).await;
    });
}

#[test]
fn l15_every_open_call_has_the_code_of_the_exit() {
    on_both(|| async {
        let client = Client::connect(mode("exit3")).await.unwrap();
        let calls: Vec<_> =
            (0..5).map(|_| tokio::spawn(client.call_tool("echo", json!({ "value": "x" })))).collect();
        for call in calls {
            let error = call.await.unwrap().unwrap_err();
            assert_eq!(error.exit(), Some(sans_mcp::Exit::Code(3)), "{error}");
        }
        assert!(client.closed().await.gone());
    });
}

#[test]
fn l11_silence_is_a_timeout_and_a_late_answer_harms_nobody() {
    on_both(|| async {
        two_calls(mode("never"), TIMEOUT, TIMEOUT).await;
        two_calls(mode("late"), TIMEOUT, OK).await;
    });
}

#[test]
fn w02_a_line_without_an_end_ends_the_session_and_later_calls_have_its_name() {
    on_both(|| two_calls(mode("flood-nonl"), Code::TOO_LARGE.as_str(), Code::TOO_LARGE.as_str()));
}

#[test]
fn l26_a_hundred_thousand_unread_pings_and_a_flood_of_stderr_hold_up_nothing() {
    on_both(|| async {
        for name in ["srv-req-flood", "stderr-flood"] {
            let client = Client::connect(mode(name)).await.unwrap();
            let call =
                client.call_tool("echo", json!({ "value": GREETING })).timeout(Duration::from_secs(30));
            assert_eq!(told(call.await, GREETING), OK, "{name}");
            assert!(client.close().await.gone(), "{name}");
        }
    });
}

#[test]
fn l17_who_ignores_the_end_of_input_and_sigterm_is_killed_within_the_bound() {
    on_both(|| two_calls(mode("stubborn"), OK, OK));
}

#[test]
fn l18_dropping_a_stubborn_server_leaves_nothing_half_a_second_later() {
    on_both(|| async {
        for name in ["plain", "stubborn", "grandchild-close"] {
            let client = Client::connect(mode(name)).await.unwrap();
            let pid = client.process_id().unwrap();
            client.call_tool("echo", json!({ "value": "x" })).await.unwrap();
            let began = Instant::now();
            drop(client);
            while is_alive(pid) {
                assert!(began.elapsed() < SLACK, "{name}: process {pid} is left");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    });
}

#[test]
fn l06_a_server_that_never_answers_the_handshake_meets_the_connect_timeout() {
    on_both(|| async {
        let timeout = Duration::from_millis(300);
        let server = with(mode("init-never"), |settings| settings.timeouts.connect = Some(timeout));
        let began = Instant::now();
        let error = Client::connect(server).await.unwrap_err();
        assert_eq!(error.code(), Code::CONNECT_TIMEOUT);
        assert!(began.elapsed() < timeout + SLACK, "{:?}", began.elapsed());
    });
}

/// L19: a server that stops reading: calls are refused as busy or time out, none of them late, and the close keeps its bound.
#[test]
fn l19_a_server_that_stops_reading_holds_up_neither_deadlines_nor_the_close() {
    on_both(|| async {
        let client = Client::connect(mode("stop-reading")).await.unwrap();
        let value = "b".repeat(16 << 10);
        let timeout = Duration::from_secs(3);
        let calls: Vec<_> = (0..1_200)
            .map(|_| tokio::spawn(client.call_tool("echo", json!({ "value": value })).timeout(timeout)))
            .collect();
        let mut busy = 0;
        for call in calls {
            let error = call.await.unwrap().unwrap_err();
            assert!([Code::BUSY, Code::TIMEOUT].contains(&error.code()), "{error}");
            match error.failure() {
                Some(failure) => assert!(failure.elapsed() < timeout + SLACK, "{:?}", failure.elapsed()),
                None => busy += 1,
            }
        }
        assert!(busy > 0, "the queue has no bound");
        assert_idle(&client);
        let began = Instant::now();
        assert!(client.close().await.gone());
        assert!(began.elapsed() < client_bound(), "{:?}", began.elapsed());
    });
}
