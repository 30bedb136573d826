//! The cases of `fixtures/cases` that bytes on stdout are, played by a real process: the same records as in memory.

use std::time::Instant;

use sans_mcp::{Call, Counters, Server};
use sans_mcp_tests::case::{Case, directory, playable};
use sans_mcp_tests::expect::{Asking, CALL, Expectation, Expected, Faults, Found, foundation};
use serde_json::{Value, json};

use super::outcome::{Answer, Answering, Outcome, Seen, Unsuccessful};
use super::support::{SLACK, Scratch, everywhere, is_alive, is_installed, until};
use crate::host::{Host, Kind};

#[test]
fn every_case_comes_to_what_its_record_says() {
    if !is_installed("python3") {
        println!("skipped: no python3");
        return;
    }
    let cases = playable().unwrap();
    everywhere(|kind| {
        let played = foundation().into_iter().flat_map(|record| {
            let case = cases.iter().find(|case| case.id == record.case).unwrap();
            let faults = play(kind, case, &record).into_lines();
            faults.into_iter().map(move |fault| format!("{} {}: {fault}", record.case, record.variant))
        });
        let faults: Vec<String> = played.collect();
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    });
}

/// Plays one record and gives what does not fit.
fn play(kind: Kind, case: &Case, record: &Expectation) -> Faults {
    let mut faults = Faults::default();
    let (seen, changed) = (Scratch::new(), Scratch::new());
    let roots = Answering { method: "roots/list", after: Default::default(), with: Ok(r#"{"roots":[]}"#) };
    let answering: &[Answering] = if record.tuning.roots { &[roots] } else { &[] };
    let mut host = Host::new(kind, player(case, record, &seen, &changed), answering).unwrap();
    faults.outcome("connect", &found(&host.connect().map(|()| Answer::Done)), &record.connect);
    let pid = host.process_id();
    let mut counters = Counters::default();
    if record.connect == Expected::Fine {
        let version = host.version().map(|version| version.as_str());
        faults.equal("version", version, record.version.or(Some("2025-11-25")));
        for (asking, expected) in &record.asked {
            let what = format!("{asking:?}");
            let began = Instant::now();
            let found = ask(&mut host, *asking);
            let took = began.elapsed();
            let late = matches!(expected, Expected::Fails("MCP_TIMEOUT", _));
            let on_time = took < CALL + SLACK && (!late || CALL <= took);
            faults.equal(&format!("{what} takes {took:?}, on time"), on_time, true);
            faults.outcome(&what, &found, expected);
        }
        faults.catalog(&host.tools(), record);
        // What the server wrote after the last answer has come when this one has.
        if record.end.is_none() {
            let last = host.request("the/last");
            let _ = host.wait(last);
            until(&mut host, "the host's answers", |host| host.counters().peer_requests == 0);
        }
        counters = host.counters();
        let cancelled = record.asked.iter().filter(|(asking, _)| *asking == Asking::CancelledCall).count();
        counters.remote_errors -= u64::from(record.end.is_none()) + cancelled as u64;
    }
    if record.end.is_some() {
        host.closed();
        counters = host.counters();
    }
    faults.end(&host.close(), record);
    faults.equal("alive", pid.is_some_and(is_alive), false);
    faults.counters(&counters, record);
    let diagnostics = host.seen().into_iter().filter_map(|seen| match seen {
        Seen::Diagnostic(line) => Some(line),
        _ => None,
    });
    let diagnostics: Vec<String> = diagnostics.collect();
    faults.diagnostics(&diagnostics.iter().map(String::as_str).collect::<Vec<_>>(), record);
    faults.messages(&messages(&seen), record);
    faults
}

/// The player of a case, which records what it reads in `seen`; a trigger that is not the case's own goes into `changed`.
fn player(case: &Case, record: &Expectation, seen: &Scratch, changed: &Scratch) -> Server {
    let settings = record.tuning.settings();
    let line = settings.limits.line.to_string();
    let file = |name: &str| directory().join(name).to_str().unwrap().to_owned();
    let cases = match &record.trigger {
        None => file("cases.json"),
        Some(trigger) => {
            let case = json!([{ "id": case.id, "channel": "stdout-bytes", "trigger": trigger }]);
            std::fs::write(changed.path(), case.to_string()).unwrap();
            changed.path().to_owned()
        }
    };
    let server = Server::new("player", "python3").args([file("player.py"), cases]);
    server.args([&case.id, "--line-limit", &line, "--record", seen.path()]).settings(settings)
}

fn ask(host: &mut Host, asking: Asking) -> Found {
    let ticket = match asking {
        Asking::Call => host.call(Call::without_arguments("t")),
        Asking::CancelledCall => return ask_and_cancel(host),
        Asking::Ping => host.ping(),
        Asking::List => host.list(),
        Asking::Request(method) => host.request(method),
    };
    match found(&host.wait(ticket)) {
        Found::Fine if asking == Asking::Ping => Found::Pong,
        found => found,
    }
}

/// A cancelled call tells nobody of its end, so what is known of it is read from the counters.
fn ask_and_cancel(host: &mut Host) -> Found {
    let ticket = host.call(Call::without_arguments("t"));
    // The call has left when the answer to a later request is there.
    let next = host.request("the/next");
    let _ = host.wait(next);
    let before = host.counters();
    host.cancel(ticket);
    let after = host.counters();
    if (after.pending, after.cancelled) == (before.pending - 1, before.cancelled + 1) {
        Found::Failed("MCP_ABORTED", "`tools/call`, sent".to_owned())
    } else {
        Found::Nothing
    }
}

fn found(outcome: &Outcome) -> Found {
    match outcome {
        Ok(Answer::Done) => Found::Fine,
        Ok(Answer::Result(raw)) => Found::Raw(raw.clone()),
        Err(Unsuccessful::Refused(refusal)) => Found::from(refusal),
        Err(Unsuccessful::Failed(failure)) => Found::from(failure),
    }
}

/// What the player read.
fn messages(seen: &Scratch) -> Vec<Value> {
    let entries = seen.messages();
    entries.iter().map(|entry| serde_json::from_str(entry["line"].as_str().unwrap()).unwrap()).collect()
}
