//! The scenarios that a hostile server spoils. Each step prints a line as it ends.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use sans_mcp_mio::{Call, Output, Settings};
use serde_json::json;

use crate::Outcome;
use crate::host::{GUARD, Host, server, text_of};
use crate::report::{memory, peak_memory};

const GREETING: &str = "héllo 漢字 €😀 end";

/// For the handshake, as in the other columns: a minute would be over the supervisor's time.
const CONNECT: Duration = Duration::from_secs(5);

/// A step that has not ended this much after its timeout hangs.
const GRACE: Duration = Duration::from_secs(3);

/// Two calls, the second one whatever became of the first, and a close.
pub(crate) fn two_calls(program: &str, timeout: Duration) -> Outcome {
    if let Some(mut host) = connected(program)? {
        call(&mut host, "call1", GREETING, timeout)?;
        call(&mut host, "call2", "second", timeout)?;
        close(&mut host)?;
    }
    end()
}

/// `n` calls at once with texts of so many bytes, and a close.
pub(crate) fn many_calls(program: &str, timeout: Duration, n: usize, bytes: usize) -> Outcome {
    if let Some(mut host) = connected(program)? {
        let text = "b".repeat(bytes);
        let start = Instant::now();
        let mut outs = BTreeMap::<String, usize>::new();
        let mut open = 0;
        for key in 0..n {
            let now = host.now();
            match host.connection.call(now, echo(&text, timeout), key) {
                Ok(_) => open += 1,
                Err(refused) => *outs.entry(format!("err:{refused}")).or_default() += 1,
            }
        }
        while open > 0 && start.elapsed() < timeout + GRACE {
            host.turn((timeout + GRACE).saturating_sub(start.elapsed()), |output| {
                if let Output::Complete(done) = output {
                    open -= 1;
                    let out = out(Some(text_of(done, str::to_owned)), &text);
                    *outs.entry(out).or_default() += 1;
                }
            })?;
        }
        if open > 0 {
            outs.insert("HANG".to_owned(), open);
        }
        print_step("calls", start, &format!("{outs:?}"));
        close(&mut host)?;
    }
    end()
}

/// One call, after which the client is dropped.
pub(crate) fn drop_without_close(program: &str, timeout: Duration) -> Outcome {
    if let Some(mut host) = connected(program)? {
        call(&mut host, "call1", GREETING, timeout)?;
        let start = Instant::now();
        drop(host);
        print_step("drop", start, "ok");
    }
    end()
}

fn connected(program: &str) -> Outcome<Option<Host>> {
    let start = Instant::now();
    let mut settings = Settings::default();
    settings.timeouts.connect = Some(CONNECT);
    let mut host = Host::new(server(program).settings(settings))?;
    let connected = host.connect(GUARD)?;
    let is_connected = matches!(connected, Some(Ok(())));
    print_step("connect", start, &out(connected.map(|outcome| outcome.map(|()| String::new())), ""));
    Ok(is_connected.then_some(host))
}

fn call(host: &mut Host, step: &str, text: &str, timeout: Duration) -> Outcome {
    let start = Instant::now();
    let now = host.now();
    let outcome = match host.connection.call(now, echo(text, timeout), 0) {
        Ok(_) => host.text(timeout + GRACE)?,
        Err(refused) => Some(Err(refused.to_string())),
    };
    print_step(step, start, &out(outcome, text));
    Ok(())
}

fn close(host: &mut Host) -> Outcome {
    let start = Instant::now();
    let closed = host.close()?;
    print_step("close", start, &out(closed.map(|outcome| outcome.map(|()| String::new())), ""));
    Ok(())
}

fn echo(text: &str, timeout: Duration) -> Call {
    Call::new("echo", json!({ "value": text }).to_string()).timeout(Some(timeout))
}

/// What a step came to, where `text` was wanted.
fn out(outcome: Option<Result<String, String>>, text: &str) -> String {
    match outcome {
        Some(Ok(answer)) if answer == text => "ok".to_owned(),
        Some(Ok(answer)) => format!("other:{answer}"),
        Some(Err(error)) => format!("err:{error}"),
        None => "HANG".to_owned(),
    }
}

fn print_step(step: &str, start: Instant, out: &str) {
    let out: String = out.chars().take(300).collect();
    let ms = start.elapsed().as_millis() as u64;
    println!("{}", json!({ "ev": step, "ms": ms, "out": out, "rss_kb": memory() }));
}

/// Stays for a while, so that somebody can look for processes that are left.
fn end() -> Outcome {
    println!("{}", json!({ "ev": "end", "maxrss_kb": peak_memory() }));
    thread::sleep(Duration::from_millis(1500));
    Ok(())
}
