//! The workloads that measure.

use std::borrow::Cow;
use std::thread;
use std::time::Duration;

use sans_mcp::Call;
use serde_json::json;

use super::report::{Meter, memory, peak_memory};
use super::{GUARD, Host, Outcome, Tally, calls};

/// For work whose length the caller chooses.
const LONG: Duration = Duration::from_secs(600);

/// `n` echo calls, of which `window` are open at a time.
pub(super) fn pipe(host: &mut impl Host, program: &str, name: &str, window: usize, n: usize) -> Outcome {
    connected(host, program)?;
    let meter = Meter::start();
    let judge = |key, outcome: Result<&str, String>| match outcome {
        Ok(text) if calls::is_numbered(text, key) => Cow::Borrowed("ok"),
        Ok(_) => Cow::Owned(format!("another text for {key}")),
        Err(error) => Cow::Owned(error),
    };
    let tally = host.calls(window, n, LONG, calls::numbered, judge)?;
    all_are_well(&tally, n)?;
    meter.report(name, n, json!({}));
    closed(host)
}

/// `n` calls one after another that give a text of so many bytes.
pub(super) fn blob(host: &mut impl Host, program: &str, bytes: usize, n: usize) -> Outcome {
    connected(host, program)?;
    let meter = Meter::start();
    let mut whole = 0;
    for _ in 0..n {
        match host.call(calls::blob(bytes), LONG, str::len)? {
            Some(Ok(length)) if length == bytes => whole += 1,
            Some(Err(error)) => eprintln!("blob: {error}"),
            other => return Err(format!("another text: {other:?}").into()),
        }
    }
    meter.report("blob", n, json!({ "ok": whole }));
    closed(host)
}

/// Start, handshake, list and close, `n` times.
pub(super) fn cold(host: &mut impl Host, program: &str, n: usize) -> Outcome {
    let meter = Meter::start();
    for _ in 0..n {
        connected(host, program)?;
        if host.tools() < 3 {
            return Err("the list is not complete".into());
        }
        closed(host)?;
    }
    meter.report("cold", n, json!({}));
    Ok(())
}

/// `n` calls at once that are answered after so many milliseconds.
pub(super) fn sleepers(host: &mut impl Host, program: &str, n: usize, milliseconds: u64) -> Outcome {
    connected(host, program)?;
    checked_echo(host)?;
    let before = memory();
    let meter = Meter::start();
    let judge = |_, outcome: Result<&str, String>| outcome.map_or_else(Cow::Owned, |_| Cow::Borrowed("ok"));
    let tally = host.calls(n, n, LONG, move |_| calls::sleep(milliseconds), judge)?;
    all_are_well(&tally, n)?;
    let bytes = (peak_memory().saturating_sub(before) << 10) / n as u64;
    meter.report("sleepers", n, json!({ "rss0_kb": before, "bytes_per_pending": bytes }));
    closed(host)
}

/// `n` calls that are given up once they were sent.
pub(super) fn cancel(host: &mut impl Host, program: &str, n: usize) -> Outcome {
    const AT_ONCE: usize = 64;
    connected(host, program)?;
    checked_echo(host)?;
    let before = memory();
    let meter = Meter::start();
    for first in (0..n).step_by(AT_ONCE) {
        let number = n.min(first + AT_ONCE) - first;
        let text = host.give_up(vec![calls::sleep(600_000); number], calls::numbered(first))?;
        echoed(&text, first)?;
    }
    let echo_ok = checked_echo(host).is_ok();
    thread::sleep(Duration::from_millis(200)); // the server has time to forget
    let stats = host.call(Call::without_arguments("stats"), GUARD, str::to_owned)?.ok_or("no answer")??;
    let more = json!({ "echo_ok": echo_ok, "server": stats, "rss0_kb": before, "rss1_kb": memory() });
    meter.report("cancel", n, more);
    closed(host)
}

fn all_are_well(tally: &Tally, n: usize) -> Outcome {
    if tally.get("ok") == Some(&n) || n == 0 {
        Ok(())
    } else {
        Err(format!("of {n} calls: {tally:?}").into())
    }
}

fn checked_echo(host: &mut impl Host) -> Outcome {
    let text = host.call(calls::numbered(7), GUARD, str::to_owned)?.ok_or("no answer")??;
    echoed(&text, 7)
}

fn echoed(text: &str, number: usize) -> Outcome {
    if calls::is_numbered(text, number) { Ok(()) } else { Err(format!("another text: {text}").into()) }
}

fn connected(host: &mut impl Host, program: &str) -> Outcome {
    Ok(host.connect(calls::server(program), GUARD)?.ok_or("no connection")??)
}

fn closed(host: &mut impl Host) -> Outcome {
    Ok(host.close(GUARD)?.ok_or("no end")??)
}
