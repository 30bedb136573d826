//! The scenarios that a hostile server spoils. Each step prints a line as it ends.

use std::borrow::Cow;
use std::thread;
use std::time::{Duration, Instant};

use sans_mcp::{Call, Settings};
use serde_json::json;

use super::report::{memory, peak_memory};
use super::{GUARD, Host, Outcome, Step, calls};

const GREETING: &str = "héllo 漢字 €😀 end";

/// For the handshake. The default is a minute, and the supervisor ends what takes 40 s: a client that would have told of
/// a server which never answers would look like one that hangs.
const CONNECT: Duration = Duration::from_secs(5);

/// A step that has not ended this much after its timeout hangs.
const GRACE: Duration = Duration::from_secs(3);

/// Two calls, the second one whatever became of the first, and a close.
pub(super) fn two_calls(host: &mut impl Host, program: &str, timeout: Duration) -> Outcome {
    if connected(host, program)? {
        call(host, "call1", GREETING, timeout)?;
        call(host, "call2", "second", timeout)?;
        close(host)?;
    }
    end()
}

/// `n` calls at once with texts of so many bytes, and a close.
pub(super) fn many_calls(
    host: &mut impl Host,
    program: &str,
    timeout: Duration,
    n: usize,
    bytes: usize,
) -> Outcome {
    if connected(host, program)? {
        let text = "b".repeat(bytes);
        let wanted = text.clone();
        let start = Instant::now();
        let mut tally = host.calls(
            n,
            n,
            timeout + GRACE,
            move |_| echo(&text, timeout),
            move |_, outcome| judged(outcome, &wanted),
        )?;
        let hanging = n.saturating_sub(tally.values().sum());
        if hanging > 0 {
            tally.insert(Cow::Borrowed("HANG"), hanging);
        }
        print_step("calls", start, &format!("{tally:?}"));
        close(host)?;
    }
    end()
}

/// One call, after which the client is dropped.
pub(super) fn drop_without_close(host: &mut impl Host, program: &str, timeout: Duration) -> Outcome {
    if connected(host, program)? {
        call(host, "call1", GREETING, timeout)?;
        let start = Instant::now();
        host.abandon();
        print_step("drop", start, "ok");
    }
    end()
}

fn connected(host: &mut impl Host, program: &str) -> Outcome<bool> {
    let start = Instant::now();
    let mut settings = Settings::default();
    settings.timeouts.connect = Some(CONNECT);
    let connected = host.connect(calls::server(program).settings(settings), GUARD)?;
    let is_connected = matches!(connected, Some(Ok(())));
    print_step("connect", start, &ended(connected));
    Ok(is_connected)
}

fn call(host: &mut impl Host, step: &str, text: &str, timeout: Duration) -> Outcome {
    let start = Instant::now();
    let outcome = host.call(echo(text, timeout), timeout + GRACE, |answer| judged(Ok(answer), text))?;
    let out = match outcome {
        Some(Ok(out)) => out,
        Some(Err(error)) => judged(Err(error), text),
        None => Cow::Borrowed("HANG"),
    };
    print_step(step, start, &out);
    Ok(())
}

fn close(host: &mut impl Host) -> Outcome {
    let start = Instant::now();
    let closed = host.close(GUARD)?;
    print_step("close", start, &ended(closed));
    Ok(())
}

fn echo(text: &str, timeout: Duration) -> Call {
    calls::echo(text).timeout(Some(timeout))
}

/// What a call came to, where `text` was wanted.
fn judged(outcome: Result<&str, String>, text: &str) -> Cow<'static, str> {
    match outcome {
        Ok(answer) if answer == text => Cow::Borrowed("ok"),
        Ok(answer) => Cow::Owned(format!("other:{answer}")),
        Err(error) => Cow::Owned(format!("err:{error}")),
    }
}

fn ended(step: Step) -> Cow<'static, str> {
    match step {
        Some(Ok(())) => Cow::Borrowed("ok"),
        Some(Err(error)) => Cow::Owned(format!("err:{error}")),
        None => Cow::Borrowed("HANG"),
    }
}

fn print_step(step: &str, start: Instant, out: &str) {
    let out: String = out.chars().take(300).collect();
    let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    println!("{}", json!({ "ev": step, "ms": ms, "out": out, "rss_kb": memory() }));
}

/// Stays for a while, so that somebody can look for processes that are left.
fn end() -> Outcome {
    println!("{}", json!({ "ev": "end", "maxrss_kb": peak_memory() }));
    thread::sleep(Duration::from_millis(1500));
    Ok(())
}
