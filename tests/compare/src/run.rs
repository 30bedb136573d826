//! One run of a program.

use std::env;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::Outcome;
use crate::columns::Column;
use crate::workloads::Workload;

/// What takes longer than this is ended.
const GUARD: Duration = Duration::from_secs(120);

/// What one run reported by name, or why it did not.
pub(crate) type Report = Result<Map<String, Value>, String>;

/// Runs the workload in that column; `None` if it is not for it.
pub(crate) fn run(column: &Column, workload: &Workload) -> Option<Report> {
    if workload.for_clients_only && !column.is_client {
        return None;
    }
    let report = report(column, workload).map_err(|error| error.to_string());
    if let Err(error) = &report {
        eprintln!("{}, {}: {error}", column.name, workload.name());
    }
    Some(report)
}

fn report(column: &Column, workload: &Workload) -> Outcome<Map<String, Value>> {
    let folder = env::current_exe()?;
    let folder = folder.parent().ok_or("no folder")?;
    // Large results take as long without a client.
    let calls = if workload.calls < 10_000 { workload.calls } else { workload.calls * column.calls };
    let calls = calls.to_string();
    let arguments = workload.arguments.split(' ').map(|word| if word == "N" { &calls } else { word });
    let mut command = Command::new(folder.join(column.program));
    command.args(column.options).arg(folder.join("bench-server")).args(arguments);
    if workload.pinned {
        command.env("BENCH_RT", "current");
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let mut output = child.stdout.take().ok_or("no output")?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        drop(send.send(output.read_to_string(&mut text).map(|_| text)));
    });
    let Ok(text) = receive.recv_timeout(GUARD) else {
        child.kill()?;
        child.wait()?;
        return Err("it took too long".into());
    };
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("it ended with {status}").into());
    }
    let Value::Object(mut report) = serde_json::from_str(text?.lines().last().ok_or("no report")?)? else {
        return Err("the report is no object".into());
    };
    complete(&mut report)?;
    Ok(report)
}

/// Adds what follows from what was reported.
fn complete(report: &mut Map<String, Value>) -> Outcome {
    let number = |name: &str| report.get(name).and_then(Value::as_f64);
    let n = number("n").ok_or("no number of calls")?;
    if number("ok").is_some_and(|ok| ok < n) {
        return Err("no answer".into());
    }
    let each = |seconds: f64| Value::from(seconds * 1e6 / n);
    let more = [
        ("us_per_op", number("wall_s").map(each)),
        ("cpu_us_per_op", number("user_s").zip(number("sys_s")).map(|(user, system)| each(user + system))),
        ("left", report.get("server").and_then(Value::as_str).and_then(pending).map(Value::from)),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            report.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

/// How many calls the server says it has not answered.
fn pending(stats: &str) -> Option<u64> {
    let pending = stats.split(' ').find_map(|word| word.strip_prefix("pending="));
    pending?.parse().ok()
}
