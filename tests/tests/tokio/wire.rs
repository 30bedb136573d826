//! What a misbehaving server writes, through real pipes (rows S02, W01, W05; C032).

use std::time::Duration;

use sans_mcp::{Code, Delivery};
use sans_mcp_tokio::Client;
use serde_json::json;

use crate::support::{Scratch, assert_closes, fixture, on_both, script};

#[test]
fn s02_an_answer_split_in_the_middle_of_a_character() {
    on_both(|| async {
        let client = Client::connect(fixture(&["--split-pause", "20"])).await.unwrap();
        let reply = client.call_tool("echo", json!({ "value": "漢字 €😀" })).await.unwrap();
        assert_eq!(reply.text(), "漢字 €😀");
        assert_closes(client).await;
    });
}

#[test]
fn s02_log_lines_on_stdout_are_sampled_and_passed_over() {
    on_both(|| async {
        let client = Client::connect(fixture(&["--noisy"])).await.unwrap();
        assert_eq!(client.call_tool("echo", json!({ "value": "fine" })).await.unwrap().text(), "fine");
        assert!(client.counters().noise_lines >= 3, "{:?}", client.counters());
        assert!(client.noise_samples()[0].contains("listening"), "{:?}", client.noise_samples());
        assert_closes(client).await;
    });
}

#[test]
fn s03_the_other_languages_get_through_with_splits_and_noise() {
    for interpreter in ["python3", "node"] {
        let Some(server) = script(interpreter, &["--noisy", "--split-pause", "20"]) else { continue };
        on_both(|| async {
            let client = Client::connect(server.clone()).await.unwrap();
            assert_eq!(client.call_tool("echo", json!({ "value": "é漢" })).await.unwrap().text(), "é漢");
            assert_closes(client).await;
        });
    }
}

#[test]
fn s02_half_a_line_and_an_exit_is_an_exit() {
    on_both(|| async {
        let client = Client::connect(fixture(&["--half-line-exit", "4"])).await.unwrap();
        let error = client.call_tool("echo", json!({ "value": "x" })).await.unwrap_err();
        assert_eq!(error.code(), Code::PROCESS_EXIT);
        assert_eq!(error.delivery(), Delivery::Sent);
        assert!(client.closed().await.gone());
    });
}

#[test]
fn s02_a_server_that_closes_its_input_early_fails_what_is_not_sent() {
    on_both(|| async {
        let client = Client::connect(fixture(&["--mode", "close-stdin-early"])).await.unwrap();
        let first =
            client.call_tool("echo", json!({ "value": "first" })).timeout(Duration::from_secs(5)).await;
        assert_eq!(first.unwrap().text(), "first");
        let second =
            client.call_tool("echo", json!({ "value": "second" })).timeout(Duration::from_secs(5)).await;
        let second = second.unwrap_err();
        assert_eq!(second.code(), Code::STDIN_CLOSED);
        assert_eq!(second.delivery(), Delivery::NotSent);
        assert_closes(client).await;
    });
}

/// C032: numbers of the caller reach the server with their digits.
#[test]
fn w07_numbers_of_the_caller_keep_their_digits() {
    on_both(|| async {
        let record = Scratch::new("digits");
        let client = Client::connect(fixture(&["--record", record.path()])).await.unwrap();
        let numbers = r#"{"n":9007199254740993,"m":9223372036854775807,"u":18446744073709551615,"f":1.0}"#;
        let arguments = format!(r#"{{"value":{numbers}}}"#);
        let reply = client.call(sans_mcp::Call::new("echo", arguments)).await.unwrap();
        assert!(record.read().contains(numbers), "{}", record.read());
        assert!(reply.text().contains("9007199254740993") && reply.text().contains("18446744073709551615"));
        assert_closes(client).await;
    });
}
