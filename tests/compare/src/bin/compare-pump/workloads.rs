//! The workloads that can be done without a client; they are those of `driver-tokio/examples/compare`.

use serde_json::json;

use crate::Outcome;
use crate::pipes::Pipes;
use crate::report::Meter;
use crate::window::{self, Requests, echo};

pub(crate) fn pipe(mut pipes: Pipes, name: &str, window: usize, n: usize) -> Outcome {
    let requests = Requests::echo(n);
    let meter = Meter::start();
    window::run(&mut pipes, window, &requests)?;
    meter.report(name, n, json!({}));
    pipes.close()
}

pub(crate) fn blob(mut pipes: Pipes, bytes: usize, n: usize) -> Outcome {
    let request = call("blob", &format!(r#"{{"bytes":{bytes}}}"#), 100);
    let meter = Meter::start();
    for _ in 0..n {
        pipes.ask(request.as_bytes(), 1)?;
    }
    meter.report("blob", n, json!({ "ok": n }));
    pipes.close()
}

pub(crate) fn cold(connect: impl Fn() -> Outcome<Pipes>, n: usize) -> Outcome {
    let meter = Meter::start();
    for _ in 0..n {
        let mut pipes = connect()?;
        pipes.ask(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n", 1)?;
        pipes.close()?;
    }
    meter.report("cold", n, json!({}));
    Ok(())
}

pub(crate) fn cancel(mut pipes: Pipes, n: usize) -> Outcome {
    const AT_ONCE: usize = 64;
    let rounds: Vec<[String; 2]> = (0..n)
        .step_by(AT_ONCE)
        .map(|first| {
            let ids = first..n.min(first + AT_ONCE);
            let calls =
                ids.clone().map(|id| call("sleep", r#"{"ms":600000}"#, id + 1_000_000)).collect::<String>();
            (calls + &echo(first), ids.map(|id| cancelled(id + 1_000_000)).collect()).into()
        })
        .collect();
    let meter = Meter::start();
    for [calls, cancelled] in &rounds {
        pipes.ask(calls.as_bytes(), 1)?;
        pipes.write_all(cancelled.as_bytes())?;
    }
    pipes.ask(echo(n).as_bytes(), 1)?;
    meter.report("cancel", n, json!({}));
    pipes.close()
}

fn call(tool: &str, arguments: &str, id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    ) + "\n"
}

fn cancelled(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#) + "\n"
}
