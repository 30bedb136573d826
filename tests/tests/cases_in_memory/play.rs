//! Plays one case and compares what came with what its record says.

use sans_mcp::{Call, PeerReply, Request, Server};
use sans_mcp_tests::case::{Case, Player};
use sans_mcp_tests::expect::{Asking, CALL, Expectation, Expected, Faults, Found};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::trace::Trace;
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
    let mut faults = Faults::default();

    let connected = runner.connected();
    faults.outcome("connect", &found(runner.outcome(connected)), &record.connect);
    answer_requests(&mut runner);
    let version = runner.session().version().map(|version| version.as_str());
    let expected =
        if record.connect == Expected::Fine { record.version.or(Some("2025-11-25")) } else { None };
    faults.equal("version", version, expected);
    faults.catalog(runner.session().catalog(), record);

    for (asking, expected) in &record.asked {
        let asked = match asking {
            Asking::Call | Asking::CancelledCall => runner.call(Call::without_arguments("t")),
            Asking::Ping => runner.ping(None),
            Asking::List => runner.list(),
            Asking::Request(method) => runner.request(Request::new(*method)),
        };
        let what = format!("{asking:?}");
        let token = match asked {
            Ok(token) => token,
            Err(refusal) => {
                faults.outcome(&what, &Found::from(&refusal), expected);
                continue;
            }
        };
        if *asking == Asking::CancelledCall {
            runner.settle();
            runner.cancel(token, "the test");
        }
        let begin = runner.now();
        runner.run_until(|runner| runner.outcome(token).is_some());
        let took = runner.now().since(begin);
        let found = found(runner.outcome(token));
        let by_deadline = matches!(found, Found::Failed("MCP_TIMEOUT", _));
        let in_time = if by_deadline { took == CALL } else { took < CALL };
        faults.equal(&format!("{what} takes {took:?}, in time"), in_time, true);
        faults.outcome(&what, &found, expected);
        faults.catalog(runner.session().catalog(), record);
    }
    runner.settle();
    finish(&mut runner, record, &mut faults);
    Played { trace: runner.trace(), bytes: runner.link().bytes_read(), faults: faults.into_lines() }
}

fn finish(runner: &mut Runner, record: &Expectation, faults: &mut Faults) {
    if record.end.is_some() {
        runner.run_until(Runner::is_closed);
        faults.equal("ended by itself", runner.is_closed(), true);
    }
    let end = runner.closed().clone();
    faults.end(&end, record);
    faults.equal("something is left", runner.link().leaves_something(), false);
    faults.counters(&runner.counters(), record);

    let trace = runner.trace();
    let lines = trace.host.iter().map(|(_, line)| line.as_str());
    let diagnostics: Vec<&str> = lines.filter(|line| line.starts_with("diagnostic ")).collect();
    faults.diagnostics(&diagnostics, record);
    faults.equal("samples", runner.session().noise_samples().len() <= 32, true);
    let messages: Vec<Value> = runner.wire().filter_map(|line| serde_json::from_str(line).ok()).collect();
    faults.messages(&messages, record);
}

fn found(outcome: Option<&Outcome>) -> Found {
    match outcome {
        Some(Outcome::Connected | Outcome::Listed) => Found::Fine,
        Some(Outcome::Answer(answer)) => Found::Raw(answer.clone()),
        Some(Outcome::Failed(failure)) => Found::from(failure),
        None => Found::Nothing,
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
