//! The cases of `fixtures/cases`, played by a real process: the same records as in memory.

use std::sync::Arc;
use std::time::Instant;

use sans_mcp::{Call, Counters, Server};
use sans_mcp_tests::case::{Case, directory, playable};
use sans_mcp_tests::expect::{Asking, CALL, Counter, Expectation, Expected, foundation};
use sans_mcp_tests::trace::failed;
use sans_mcp_tokio::{CallError, Client, ConnectError, Event, Events};
use serde_json::{Value, json};

use crate::support::{Scratch, find, is_alive, until};

/// Half a second of slack beside a deadline, since the machine may be busy.
const SLACK: std::time::Duration = std::time::Duration::from_millis(500);

#[test]
fn every_case_comes_to_what_its_record_says_through_the_driver() {
    if find("python3").is_none() {
        println!("skipped: no python3");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let cases = playable().unwrap();
    let faults = runtime.block_on(async {
        let mut faults = Vec::new();
        for record in foundation() {
            let case = cases.iter().find(|case| case.id == record.case).unwrap();
            let found = play(case, &record).await;
            faults.extend(
                found.into_iter().map(|fault| format!("{} {}: {fault}", record.case, record.variant)),
            );
        }
        faults
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Plays one record and gives what does not fit.
async fn play(case: &Case, record: &Expectation) -> Vec<String> {
    let mut faults = Vec::new();
    let (seen, changed) = (Scratch::new("case-record"), Scratch::new("case-file"));
    let settings = record.tuning.settings();
    let mut server = Server::new("player", "python3").arg(directory().join("player.py").to_str().unwrap());
    server = match &record.trigger {
        None => server.arg(directory().join("cases.json").to_str().unwrap()),
        Some(trigger) => {
            let case = json!([{ "id": case.id, "channel": "stdout-bytes", "trigger": trigger }]);
            std::fs::write(changed.path(), case.to_string()).unwrap();
            server.arg(changed.path())
        }
    };
    server =
        server.args([&case.id, "--line-limit", &settings.limits.line.to_string(), "--record", seen.path()]);
    let mut builder = Client::builder(server.settings(settings));
    if record.tuning.roots {
        builder = builder.on_roots(async |_| Ok(json!({ "roots": [] })));
    }
    let events = builder.events();
    let client = builder.build().unwrap();
    let connected = client.start().await;
    compare("connect", &record.connect, &connection(&connected), &mut faults);
    let pid = client.process_id();
    let mut counters = Counters::default();
    if connected.is_ok() {
        equal(
            "version",
            client.version().unwrap().as_str(),
            record.version.unwrap_or("2025-11-25"),
            &mut faults,
        );
        for (asking, expected) in &record.asked {
            let what = format!("{asking:?}");
            let started = Instant::now();
            let found = ask(&client, *asking).await;
            let (took, late) = (started.elapsed(), matches!(expected, Expected::Fails("MCP_TIMEOUT", _)));
            let on_time = if late { CALL <= took && took < CALL + SLACK } else { took < CALL };
            equal(&format!("{what} takes {took:?}, on time"), on_time, true, &mut faults);
            compare(&what, expected, &found, &mut faults);
        }
        let tools: Vec<String> = client.tools().tools().map(|tool| tool.name().to_owned()).collect();
        equal("tools", tools, record.tools.iter().map(|name| (*name).to_owned()).collect(), &mut faults);
        let aside: Vec<String> =
            client.tools().set_aside().iter().map(|tool| tool.name.to_string()).collect();
        equal(
            "set aside",
            aside,
            record.set_aside.iter().map(|name| (*name).to_owned()).collect(),
            &mut faults,
        );
        // What the server wrote after the last answer has come when this one has.
        if record.end.is_none() {
            let _ = client.request("the/last", Value::Null).await;
            until("the host answered what it was asked", || client.counters().peer_requests == 0).await;
        }
        counters = client.counters();
        let cancelled = record.asked.iter().filter(|(asking, _)| *asking == Asking::CancelledCall).count();
        counters.remote_errors -= u64::from(record.end.is_none()) + cancelled as u64;
    }
    if record.end.is_some() {
        client.closed().await;
        counters = client.counters();
    }
    let end = client.close().await;
    equal("end", end.cause.code().as_str(), record.end.unwrap_or("CLIENT_CLOSED"), &mut faults);
    equal("gone", end.gone(), true, &mut faults);
    equal("alive", pid.is_some_and(is_alive), false, &mut faults);
    for counter in Counter::ALL {
        let expected =
            record.counters.iter().find(|(named, _)| *named == counter).map_or(0, |(_, value)| *value);
        equal(&format!("{counter:?}"), counter.of(&counters), expected, &mut faults);
    }
    compare_diagnostics(record, &diagnostics(events).await, &mut faults);
    compare_lines(record, &seen, &mut faults);
    faults
}

/// What came of one operation, in the terms of a record.
enum Found {
    Fine,
    /// Any result of a ping.
    Pong,
    /// A call whose future was dropped.
    Cancelled,
    Raw(String),
    Text(String, String),
    Refused(&'static str),
    Failed(&'static str, String),
}

fn connection(connected: &Result<(), ConnectError>) -> Found {
    match connected {
        Ok(()) => Found::Fine,
        Err(ConnectError::Failed { failure, .. }) => {
            Found::Failed(failure.code().as_str(), format!("{}\n{}", failure.report(), failed(failure)))
        }
        Err(error) => Found::Refused(error.code().as_str()),
    }
}

fn unsuccessful(error: &CallError) -> Found {
    match error.failure() {
        Some(failure) => {
            Found::Failed(failure.code().as_str(), format!("{}\n{}", failure.report(), failed(failure)))
        }
        None => Found::Refused(error.code().as_str()),
    }
}

async fn ask(client: &Client, asking: Asking) -> Found {
    let found = match asking {
        Asking::Call => {
            let reply = client.call(Call::without_arguments("t")).await;
            reply.map(|reply| Found::Text(reply.text().into_owned(), reply.raw().to_owned()))
        }
        Asking::CancelledCall => {
            let call = tokio::spawn(client.call(Call::without_arguments("t")));
            until("the call was accepted", || client.counters().pending == 1).await;
            // The call has left when the answer to a later request is there.
            let _ = client.request("the/next", Value::Null).await;
            let before = client.counters().cancelled;
            call.abort();
            let ended = call.await;
            let cancelled =
                ended.is_err_and(|error| error.is_cancelled()) && client.counters().cancelled == before + 1;
            return if cancelled { Found::Cancelled } else { Found::Refused("it was not cancelled") };
        }
        Asking::Ping => client.ping().await.map(|_| Found::Pong),
        Asking::List => client.list_tools().await.map(|_| Found::Fine),
        Asking::Request(method) => {
            let result = client.request(method, Value::Null).await;
            result.map(|result| Found::Raw(result.to_string()))
        }
    };
    found.unwrap_or_else(|error| unsuccessful(&error))
}

fn compare(what: &str, expected: &Expected, found: &Found, faults: &mut Vec<String>) {
    let fits = match (expected, found) {
        (Expected::Fine, Found::Fine) | (Expected::Raw(_), Found::Pong) => true,
        (Expected::Raw(raw), Found::Raw(found) | Found::Text(_, found)) => found == raw,
        (Expected::Text(text), Found::Text(found, _)) => found == text,
        (Expected::Long(letter, count), Found::Text(found, _)) => {
            found.len() == *count && found.chars().all(|character| character == *letter)
        }
        (Expected::Fails(code, texts), Found::Failed(found, report)) => {
            code == found && texts.iter().all(|text| report.contains(text))
        }
        (Expected::Fails("MCP_ABORTED", _), Found::Cancelled) => true,
        (Expected::Refused(code), Found::Refused(found)) => code == found,
        _ => false,
    };
    if !fits {
        let found = match found {
            Found::Fine => "fine".to_owned(),
            Found::Pong => "a pong".to_owned(),
            Found::Cancelled => "cancelled".to_owned(),
            Found::Raw(raw) => format!("{raw:.200}"),
            Found::Text(_, raw) => format!("{raw:.200}"),
            Found::Refused(code) => format!("refused {code}"),
            Found::Failed(code, report) => format!("failed {code} {report}"),
        };
        faults.push(format!("{what}: expected {expected:?}, got {found}"));
    }
}

async fn diagnostics(mut events: Events) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::Diagnostic(diagnostic) = event {
            lines.push(Arc::unwrap_or_clone(diagnostic).to_string());
        }
    }
    lines
}

fn compare_diagnostics(record: &Expectation, lines: &[String], faults: &mut Vec<String>) {
    for (text, times) in &record.diagnostics {
        let found = lines.iter().filter(|line| line.contains(text)).count();
        equal(&format!("diagnostics with {text:?}"), found, *times, faults);
    }
    for line in lines {
        let plain =
            line.len() < 1_024 && !line.chars().any(char::is_control) && line.contains("server `player`");
        equal(&format!("{line} is short and plain"), plain, true, faults);
    }
    equal("fewer than 100 diagnostics", lines.len() < 100, true, faults);
}

/// What the player saw.
fn compare_lines(record: &Expectation, seen: &Scratch, faults: &mut Vec<String>) {
    let lines: Vec<Value> = seen
        .read()
        .lines()
        .map(|entry| serde_json::from_str::<Value>(entry).unwrap())
        .map(|entry| serde_json::from_str(entry["line"].as_str().unwrap()).unwrap())
        .collect();
    for (method, times) in &record.sent {
        let found = lines.iter().filter(|line| line["method"] == *method).count();
        equal(&format!("`{method}` was sent"), found, *times, faults);
    }
    let replies: Vec<&Value> = lines.iter().filter(|line| line.get("method").is_none()).collect();
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

fn equal<V: PartialEq + std::fmt::Debug>(what: &str, found: V, expected: V, faults: &mut Vec<String>) {
    if found != expected {
        faults.push(format!("{what}: {found:?}, expected {expected:?}"));
    }
}
