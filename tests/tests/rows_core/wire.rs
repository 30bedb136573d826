//! Rows W05 to W08: what is odd on the wire.

use sans_mcp::error::{Cause, PeerFault};
use sans_mcp::{Code, Conduct, Secret, ToolResult, Utf8};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::{Scripted, initialize};

use crate::support::{call, code, connected_to, ms, server};

/// A server that answers calls with these bytes, in which `<ID>` stands for the id.
fn answering(bytes: &'static [u8]) -> Scripted {
    Scripted::on(move |said, agenda| {
        if said.method == "tools/call" {
            let id = said.id.to_string();
            let mut line = Vec::new();
            let mut rest = bytes;
            while let Some(at) = rest.windows(4).position(|window| window == b"<ID>") {
                line.extend_from_slice(&rest[..at]);
                line.extend_from_slice(id.as_bytes());
                rest = &rest[at + 4..];
            }
            line.extend_from_slice(rest);
            agenda.write(ms(0), line);
        }
        said.method == "tools/call"
    })
}

/// What a call comes to at once whose answer is this; `-` for an answer, `open` for none.
fn at_once(bytes: &'static [u8], tune: impl FnOnce(&mut sans_mcp::Settings)) -> (Runner, &'static str, u64) {
    let mut runner = connected_to(server(tune), answering(bytes));
    let token = runner.call(call("{}").timeout(Some(ms(100)))).unwrap();
    runner.settle();
    let now = if runner.outcome(token).is_some() { code(&runner, token) } else { "open" };
    let ping = runner.ping(None);
    if let Ok(ping) = ping {
        runner.ended(ping);
    }
    (runner, now, token)
}

#[test]
fn w05_a_line_that_is_no_message_is_sampled_escaped_and_counted_and_the_session_goes_on() {
    let configuration =
        server(|settings| settings.limits.noise_sample = 64).secret("TOKEN", Secret::new("hunter2-hunter2"));
    let noise = b"\x1b[31mtoken=hunter2-hunter2 \xff\x00 and a great deal more text than a sample has room for\n{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}}\n";
    let mut runner = connected_to(configuration, answering(noise));
    for _ in 0..3 {
        let token = runner.call(call("{}")).unwrap();
        assert!(runner.ended(token).answer().is_some());
    }
    assert_eq!(runner.counters().noise_lines, 3);
    let samples = runner.session().noise_samples();
    assert_eq!((samples.len(), samples[0].len() <= 64), (3, true));
    assert!(samples[0].starts_with("\\x1b[31mtoken=[secret] \\xff\\x00 and"), "{}", samples[0]);
    assert_eq!(runner.trace().count("server `docs`: a line on its output is no message"), 3);
    // Nothing is ever replied to it.
    assert_eq!(runner.wire().filter(|line| !line.contains("method")).count(), 0);
}

#[test]
fn w05_under_strict_conduct_noise_ends_the_session_and_settles_every_call() {
    let strict = server(|settings| settings.conduct = Conduct::Strict);
    let mut runner = connected_to(strict, answering(b"oops\n"));
    let calls = [runner.call(call("{}")).unwrap(), runner.call(call("{}")).unwrap()];
    runner.settle();
    assert_eq!(calls.map(|token| code(&runner, token)), ["MCP_PROTOCOL"; 2]);
    let end = runner.closed();
    assert_eq!((end.cause.clone(), end.gone()), (Cause::Peer(PeerFault::Noise), true));
}

#[test]
fn w06_a_malformed_response_that_names_a_call_fails_it_at_once_and_others_go_on() {
    for bytes in [
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>}\n".as_slice(),
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}\n",
        b"{\"id\":<ID>,\"result\":{}}\n",
        b"{\"jsonrpc\":2.0,\"id\":<ID>,\"result\":{}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{},\"result\":{}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"a\":}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"a\":1\n",
        b"{\"result\":{\"a\":tru},\"id\":<ID>}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":null}\n",
    ] {
        let text = String::from_utf8_lossy(bytes);
        let (runner, now, token) = at_once(bytes, |_| {});
        assert_eq!(now, "MCP_INVALID_RESPONSE", "{text}");
        assert_eq!(runner.session().state(), sans_mcp::State::Ready, "{text}");
        assert!(runner.outcome(token).unwrap().failure().unwrap().to_string().contains("invalid response: "));
    }
    let strict =
        at_once(b"{\"jsonrpc\":\"2.0\",\"id\":<ID>}\n", |settings| settings.conduct = Conduct::Strict);
    assert_eq!(strict.1, "MCP_PROTOCOL");
}

#[test]
fn w06_a_malformed_line_that_names_no_call_fails_none() {
    for bytes in [
        b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{\"a\":}}\n".as_slice(),
        b"{\"jsonrpc\":\"2.0\",\"params\":{\"id\":<ID>,\"result\":{}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"method\":\"x\",\"result\":{\"a\":}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"<ID>\",\"result\":{\"a\":}}\n",
    ] {
        let (mut runner, now, token) = at_once(bytes, |_| {});
        assert_eq!(now, "open", "{}", String::from_utf8_lossy(bytes));
        assert_eq!(runner.ended(token).code(), Some(Code::TIMEOUT));
    }
}

#[test]
fn w07_invalid_utf8_fails_its_call_at_once_or_is_replaced() {
    let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}}\n";
    let (runner, now, token) = at_once(bytes, |_| {});
    assert_eq!(now, "MCP_INVALID_RESPONSE");
    assert!(runner.outcome(token).unwrap().failure().unwrap().to_string().contains("not UTF-8"));
    let (runner, now, token) = at_once(bytes, |settings| settings.utf8 = Utf8::Replace);
    assert_eq!(now, "-");
    let answer = runner.outcome(token).and_then(Outcome::answer).unwrap();
    assert_eq!(ToolResult::parse(answer).unwrap().text(), "a\u{fffd}b");
}

#[test]
fn w07_surrogates_nul_huge_numbers_and_repeated_inner_keys_lose_no_call() {
    let result = r#"{"content":[{"type":"text","text":"\ud800\u0000x"}],"n":123456789012345678901234567890.000,"e":1e400,"k":1,"k":2}"#;
    let line = format!(r#"{{"jsonrpc":"2.0","id":<ID>,"result":{result},"\ud800":1}}{}"#, "\n");
    let (runner, now, token) = at_once(Box::leak(line.into_boxed_str()).as_bytes(), |_| {});
    assert_eq!(now, "-");
    let answer = runner.outcome(token).and_then(Outcome::answer).unwrap();
    assert_eq!(answer, result, "every digit is kept");
    assert_eq!(ToolResult::parse(answer).unwrap().text(), "\u{fffd}\0x");
}

#[test]
fn w07_nesting_costs_no_stack() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let line = format!(r#"{{"jsonrpc":"2.0","id":<ID>,"result":{{"structuredContent":{deep}}}}}{}"#, "\n");
    let (runner, now, token) = at_once(Box::leak(line.into_boxed_str()).as_bytes(), |_| {});
    assert_eq!(now, "-");
    let answer = runner.outcome(token).and_then(Outcome::answer).unwrap();
    assert_eq!(ToolResult::parse(answer).unwrap().structured().map(str::len), Some(400_001));
}

#[test]
fn w07_several_messages_on_one_line_are_taken_one_after_another() {
    let bytes = b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"} {\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let (runner, now, _) = at_once(bytes, |_| {});
    assert_eq!((now, runner.counters().pings, runner.counters().ignored_notifications), ("-", 1, 1));
}

/// Found by the fuzz target `envelope`.
#[test]
fn w05_only_the_blanks_of_json_are_none_of_what_is_wrong_behind_a_message() {
    for (bytes, noise) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}} \t\r\n"[..], 0),
        (b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}}\x0c\n", 1),
        (b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}} \x0c \n", 1),
    ] {
        let (runner, now, _) = at_once(bytes, |_| {});
        assert_eq!((now, runner.counters().noise_lines), ("-", noise));
    }
}

/// A session that agreed on `version` and gets a batch: its answer, a ping and a notification.
fn batch(version: &str, options: LinkOptions) -> (Runner, u64) {
    let peer = answering(
        b"[{\"jsonrpc\":\"2.0\",\"method\":\"x\"},{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}},7,{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}]\n",
    );
    let peer = peer.shaking(initialize(version, r#"{"tools":{}}"#));
    let mut runner = Runner::new(server(|_| {}), peer, options);
    runner.connected();
    let token = runner.call(call("{}").timeout(Some(ms(100)))).unwrap();
    runner.settle();
    (runner, token)
}

#[test]
fn w08_batches_are_unpacked_where_the_negotiated_version_has_them() {
    for options in [LinkOptions::default(), LinkOptions::bytewise()] {
        let (runner, token) = batch("2025-03-26", options);
        assert!(runner.outcome(token).and_then(Outcome::answer).is_some());
        let counters = runner.counters();
        assert_eq!(
            (counters.pings, counters.ignored_notifications, counters.noise_lines, counters.batches),
            (1, 1, 1, 0)
        );
        assert_eq!(runner.wire().filter(|line| line.contains(r#""id":"p","result":{}"#)).count(), 1);
    }
}

#[test]
fn w08_elsewhere_a_batch_is_reported_and_answers_nothing() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let (mut runner, token) = batch(version, LinkOptions::default());
        assert!(runner.outcome(token).is_none());
        assert_eq!((runner.counters().batches, runner.counters().pings), (1, 0));
        assert!(runner.trace().told("a batch, which the negotiated version does not have"));
        assert_eq!(runner.ended(token).code(), Some(Code::TIMEOUT));
    }
}

#[test]
fn w08_what_follows_a_batch_on_its_line_is_noise() {
    let peer = answering(b"[{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"result\":{\"content\":[]}}] and more\n")
        .shaking(initialize("2025-03-26", r#"{"tools":{}}"#));
    let mut runner = connected_to(server(|_| {}), peer);
    let token = runner.call(call("{}").timeout(Some(ms(100)))).unwrap();
    assert!(runner.ended(token).answer().is_some());
    assert_eq!((runner.counters().noise_lines, runner.session().noise_samples()[0].trim()), (1, "and more"));
}

#[test]
fn w05_a_method_that_is_no_text_or_has_no_version_is_noise() {
    let (runner, now, _) = at_once(
        b"{\"jsonrpc\":\"2.0\",\"id\":<ID>,\"method\":7,\"result\":{}}\n{\"method\":\"ping\",\"id\":1}\n",
        |_| {},
    );
    assert_eq!((now, runner.counters().noise_lines, runner.counters().pings), ("open", 2, 0));
}
