//! The workloads that measure.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sans_mcp::Call;
use serde_json::json;

use super::report::{Meter, memory, peak_memory};
use super::rest::{self, descriptors};
use super::timing::Timing;
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
    host.connect(calls::server_of_blobs(program, bytes), GUARD)?.ok_or("no connection")??;
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
    let tally = host.calls(n, n, LONG, move |_| calls::sleep(milliseconds), |_, outcome| ok(outcome))?;
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

/// `n` echo calls of which `window` are open at a time: how long each takes, alone or beside one call in their midst that
/// is slow or has a large result.
pub(super) fn latency(host: &mut impl Host, program: &str, window: usize, n: usize, beside: &str) -> Outcome {
    let odd = match beside {
        "nothing" => None,
        "slow" => Some(calls::sleep(500)),
        "large" => Some(calls::blob(8 << 20)),
        _ => return Err("beside nothing, slow or large".into()),
    };
    let odd = odd.map(|call| (n / 4, call));
    let except = odd.as_ref().map(|(key, _)| *key);
    connected(host, program)?;
    // What comes first takes longer.
    all_are_well(&host.calls(window, n, LONG, calls::numbered, |_, outcome| ok(outcome))?, n)?;
    let timing = Arc::new(Timing::of(n));
    let (begun, ended) = (timing.clone(), timing.clone());
    let meter = Meter::start();
    let make = move |key| {
        begun.begin(key);
        match &odd {
            Some((odd, call)) if *odd == key => call.clone(),
            _ => calls::numbered(key),
        }
    };
    let judge = move |key, outcome: Result<&str, String>| {
        ended.end(key);
        ok(outcome)
    };
    all_are_well(&host.calls(window, n, LONG, make, judge)?, n)?;
    meter.report("latency", n, timing.percentiles(except));
    closed(host)
}

/// `n` clients that have nothing to do for so many seconds.
pub(super) fn sessions(host: &mut impl Host, program: &str, n: usize, seconds: u64) -> Outcome {
    let before = [memory(), descriptors()];
    let meter = Meter::start();
    let servers = vec![calls::server(program); n];
    let observed = host.rest(servers, GUARD, move || rest::observe(seconds))?;
    meter.report("sessions", n, rest::each(observed, before, n as u64));
    Ok(())
}

fn ok(outcome: Result<&str, String>) -> Cow<'static, str> {
    outcome.map_or_else(Cow::Owned, |_| Cow::Borrowed("ok"))
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
