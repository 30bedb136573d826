//! Plays one case and compares what came with what its record says.

use sans_mcp::{Call, PeerReply, Request, Server, ToolResult};
use sans_mcp_tests::case::{Case, Player};
use sans_mcp_tests::expect::{Asking, Counter, Expectation, Expected};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::trace::{Trace, failed};
use serde_json::Value;

/// What playing a case came to.
pub(super) struct Played {
    pub(super) trace: Trace,
    /// Bytes that the session read.
    pub(super) bytes: u64,
    pub(super) faults: Vec<String>,
}

pub(super) fn play(case: &Case, record: &Expectation, options: LinkOptions) -> Played {
    let settings = record.tuning.settings();
    let trigger = record.trigger.as_deref().unwrap_or(&case.trigger);
    let player = Player::new(trigger, settings.limits.line).unwrap();
    let server = Server::new("player", "player").settings(settings);
    let mut runner = Runner::new(server, player, options);
    let mut faults = Vec::new();

    let connected = runner.connected();
    compare("connect", &record.connect, runner.outcome(connected), &mut faults);
    answer_requests(&mut runner);
    let version = runner.session().version().map(|version| version.as_str());
    let expected =
        if record.connect == Expected::Fine { record.version.or(Some("2025-11-25")) } else { None };
    equal("version", version, expected, &mut faults);
    compare_catalog(&runner, record, &mut faults);

    for (asking, expected) in &record.asked {
        let asked = match asking {
            Asking::Call | Asking::CancelledCall => runner.call(Call::without_arguments("t")),
            Asking::Ping => runner.ping(None),
            Asking::List => runner.list(),
            Asking::Request(method) => runner.request(Request::new(*method)),
        };
        let what = format!("{asking:?}");
        match (asked, expected) {
            (Err(refusal), Expected::Refused(code)) => {
                equal(&what, refusal.code().as_str(), *code, &mut faults)
            }
            (Err(refusal), _) => faults.push(format!("{what}: refused: {refusal}")),
            (Ok(token), expected) => {
                if *asking == Asking::CancelledCall {
                    runner.settle();
                    runner.cancel(token, "the test");
                }
                let begin = runner.now();
                runner.run_until(|runner| runner.outcome(token).is_some());
                let took = runner.now().since(begin);
                let code = runner.outcome(token).and_then(Outcome::code).map(|code| code.as_str());
                let by_deadline = code == Some("MCP_TIMEOUT");
                let in_time = if by_deadline {
                    took == sans_mcp_tests::expect::CALL
                } else {
                    took < sans_mcp_tests::expect::CALL
                };
                equal(&format!("{what} takes {took:?}, in time"), in_time, true, &mut faults);
                compare(&what, expected, runner.outcome(token), &mut faults);
                compare_catalog(&runner, record, &mut faults);
            }
        }
    }
    runner.settle();
    finish(&mut runner, record, &mut faults);
    Played { trace: runner.trace(), bytes: runner.link().bytes_read(), faults }
}

fn finish(runner: &mut Runner, record: &Expectation, faults: &mut Vec<String>) {
    if record.end.is_some() {
        runner.run_until(Runner::is_closed);
        equal("ended by itself", runner.is_closed(), true, faults);
    }
    let end = runner.closed().clone();
    equal("end", end.cause.code().as_str(), record.end.unwrap_or("CLIENT_CLOSED"), faults);
    equal("gone", end.gone(), true, faults);
    equal("something is left", runner.link().leaves_something(), false, faults);

    let counters = runner.counters();
    for counter in Counter::ALL {
        let expected =
            record.counters.iter().find(|(named, _)| *named == counter).map_or(0, |(_, value)| *value);
        equal(&format!("{counter:?}"), counter.of(&counters), expected, faults);
    }
    let trace = runner.trace();
    let diagnostics: Vec<&str> = trace
        .host
        .iter()
        .map(|(_, line)| line.as_str())
        .filter(|line| line.starts_with("diagnostic "))
        .collect();
    for (text, times) in &record.diagnostics {
        let found = diagnostics.iter().filter(|line| line.contains(text)).count();
        equal(&format!("diagnostics with {text:?}"), found, *times, faults);
    }
    for line in &diagnostics {
        let plain = line.len() < 1_024 && !line.chars().any(char::is_control);
        equal(&format!("{line} is short and plain"), plain && line.contains("server `player`"), true, faults);
    }
    equal("fewer than 100 diagnostics", diagnostics.len() < 100, true, faults);
    equal("samples", runner.session().noise_samples().len() <= 32, true, faults);

    for (method, times) in &record.sent {
        equal(&format!("`{method}` was sent"), runner.sent(method), *times, faults);
    }
    let replies: Vec<Value> = runner
        .wire()
        .filter(|line| !line.contains(r#""method":"#))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    equal("replies", replies.len(), record.replies.len(), faults);
    for (id, error) in &record.replies {
        let id: Value = serde_json::from_str(id).unwrap();
        let found: Vec<Option<i64>> = replies
            .iter()
            .filter(|reply| reply["id"] == id)
            .map(|reply| reply.get("error").and_then(|error| error["code"].as_i64()))
            .collect();
        equal(&format!("replies to {id}"), found, vec![*error], faults);
    }
}

/// The host declared roots: it answers.
fn answer_requests(runner: &mut Runner) {
    while let Some(request) = runner.take_request() {
        assert_eq!(request.method, "roots/list");
        runner.respond(request.handle, PeerReply::Result(r#"{"roots":[]}"#)).unwrap();
    }
    runner.settle();
}

fn compare_catalog(runner: &Runner, record: &Expectation, faults: &mut Vec<String>) {
    let catalog = runner.session().catalog();
    let tools: Vec<&str> = catalog.tools().map(|tool| tool.name()).collect();
    equal("tools", tools, record.tools.to_vec(), faults);
    let aside: Vec<&str> = catalog.set_aside().iter().map(|tool| &*tool.name).collect();
    equal("set aside", aside, record.set_aside.to_vec(), faults);
}

fn compare(what: &str, expected: &Expected, outcome: Option<&Outcome>, faults: &mut Vec<String>) {
    let fits = match (expected, outcome) {
        (Expected::Fine, Some(Outcome::Connected | Outcome::Listed)) => true,
        (Expected::Raw(raw), Some(Outcome::Answer(answer))) => answer == raw,
        (Expected::Text(text), Some(Outcome::Answer(answer))) => {
            ToolResult::parse(answer).is_ok_and(|result| result.text() == *text)
        }
        (Expected::Long(letter, count), Some(Outcome::Answer(answer))) => ToolResult::parse(answer)
            .is_ok_and(|result| {
                result.text().len() == *count && result.text().chars().all(|found| found == *letter)
            }),
        (Expected::Fails(code, texts), Some(Outcome::Failed(failure))) => {
            let report = format!("{}\n{}", failure.report(), failed(failure));
            failure.code().as_str() == *code && texts.iter().all(|text| report.contains(text))
        }
        _ => false,
    };
    if !fits {
        let outcome = match outcome {
            Some(Outcome::Failed(failure)) => format!("{}\n{}", failure.report(), failed(failure)),
            other => format!("{other:.400?}"),
        };
        faults.push(format!("{what}: expected {expected:?}, got {outcome}"));
    }
}

fn equal<V: PartialEq + std::fmt::Debug>(what: &str, found: V, expected: V, faults: &mut Vec<String>) {
    if found != expected {
        faults.push(format!("{what}: {found:?}, expected {expected:?}"));
    }
}
