//! The workloads that measure.

use std::thread;
use std::time::Duration;

use sans_mcp_mio::{Call, Delivery, Output};
use serde_json::json;

use crate::Outcome;
use crate::host::{GUARD, Host, server, text_of};
use crate::report::{Meter, memory, peak_memory};

/// `n` echo calls, of which `window` are open at a time.
pub(crate) fn pipe(program: &str, name: &str, window: usize, n: usize) -> Outcome {
    let mut host = Host::connected(server(program))?;
    let meter = Meter::start();
    let (mut next, mut open, mut fault) = (0, 0, None);
    while next < n || open > 0 {
        while open < window && next < n {
            host.call(echo(next), next)?;
            next += 1;
            open += 1;
        }
        host.turn(GUARD, |output| {
            if let Output::Complete(done) = output {
                open -= 1;
                let key = done.token;
                match text_of(done, |text| is_echo(text, key)) {
                    Ok(true) => {}
                    Ok(false) => fault = Some(format!("another text for {key}")),
                    Err(error) => fault = Some(error),
                }
            }
        })?;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
    }
    meter.report(name, n, json!({}));
    closed(&mut host)
}

/// `n` calls one after another that give a text of so many bytes.
pub(crate) fn blob(program: &str, bytes: usize, n: usize) -> Outcome {
    let mut host = Host::connected(server(program))?;
    let meter = Meter::start();
    let mut whole = 0;
    for key in 0..n {
        host.call(Call::new("blob", format!(r#"{{"bytes":{bytes}}}"#)), key)?;
        let mut outcome = None;
        while outcome.is_none() {
            host.turn(GUARD, |output| {
                if let Output::Complete(done) = output {
                    outcome = Some(text_of(done, str::len));
                }
            })?;
        }
        match outcome {
            Some(Ok(length)) if length == bytes => whole += 1,
            Some(Err(error)) => eprintln!("blob: {error}"),
            other => return Err(format!("another text: {other:?}").into()),
        }
    }
    meter.report("blob", n, json!({ "ok": whole }));
    closed(&mut host)
}

/// Start, handshake, list and close, `n` times.
pub(crate) fn cold(program: &str, n: usize) -> Outcome {
    let mut host = Host::new(server(program))?;
    let meter = Meter::start();
    for cycle in 0..n {
        if cycle > 0 {
            host.renew(server(program))?;
        }
        host.connect(GUARD)?.ok_or("no connection")??;
        if host.connection.session().catalog().len() < 3 {
            return Err("the list is not complete".into());
        }
        closed(&mut host)?;
    }
    meter.report("cold", n, json!({}));
    Ok(())
}

/// `n` calls at once that are answered after so many milliseconds.
pub(crate) fn sleepers(program: &str, n: usize, milliseconds: u64) -> Outcome {
    let mut host = Host::connected(server(program))?;
    checked_echo(&mut host)?;
    let before = memory();
    let meter = Meter::start();
    for key in 0..n {
        host.call(sleep(milliseconds), key)?;
    }
    let (mut answered, mut fault) = (0, None);
    while answered < n {
        host.turn(GUARD, |output| {
            if let Output::Complete(done) = output {
                answered += 1;
                fault = text_of(done, |_| ()).err().or(fault.take());
            }
        })?;
    }
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    let bytes = (peak_memory().saturating_sub(before) << 10) / n as u64;
    meter.report("sleepers", n, json!({ "rss0_kb": before, "bytes_per_pending": bytes }));
    closed(&mut host)
}

/// `n` calls that are cancelled once they were sent.
pub(crate) fn cancel(program: &str, n: usize) -> Outcome {
    const AT_ONCE: usize = 64;
    let mut host = Host::connected(server(program))?;
    checked_echo(&mut host)?;
    let before = memory();
    let meter = Meter::start();
    let mut unsent = 0;
    for first in (0..n).step_by(AT_ONCE) {
        let last = n.min(first + AT_ONCE);
        let handles = (first..last).map(|key| host.call(sleep(600_000), key));
        let handles = handles.collect::<Outcome<Vec<_>>>()?;
        checked_echo(&mut host)?; // it was written after them
        let now = host.now();
        for handle in handles {
            host.connection.cancel(now, handle, "enough");
        }
        host.turn(GUARD, |output| {
            if let Output::Complete(done) = output {
                let sent = done.outcome.is_err_and(|failure| failure.delivery() == Delivery::Sent);
                unsent += usize::from(!sent);
            }
        })?;
    }
    let echo_ok = checked_echo(&mut host).is_ok();
    thread::sleep(Duration::from_millis(200)); // the server has time to forget
    host.call(Call::without_arguments("stats"), 0)?;
    let stats = host.text(GUARD)?.ok_or("no answer")??;
    let more = json!({
        "unsent": unsent, "echo_ok": echo_ok, "server": stats, "rss0_kb": before, "rss1_kb": memory(),
    });
    meter.report("cancel", n, more);
    closed(&mut host)
}

fn echo(number: usize) -> Call {
    Call::new("echo", format!(r#"{{"value":"hello {number}"}}"#))
}

fn is_echo(text: &str, number: usize) -> bool {
    text.strip_prefix("hello ").and_then(|number| number.parse().ok()) == Some(number)
}

fn sleep(milliseconds: u64) -> Call {
    Call::new("sleep", format!(r#"{{"ms":{milliseconds}}}"#))
}

fn checked_echo(host: &mut Host) -> Outcome {
    host.call(echo(7), 7)?;
    let text = host.text(GUARD)?.ok_or("no answer")??;
    if is_echo(&text, 7) { Ok(()) } else { Err(format!("another text: {text}").into()) }
}

fn closed(host: &mut Host) -> Outcome {
    Ok(host.close()?.ok_or("no end")??)
}
