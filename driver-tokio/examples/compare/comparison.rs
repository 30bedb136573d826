//! This client as a column of a comparison with others: all of it that is not about a driver.
//!
//! It uses the public client with default limits, conduct and checks, and reads the text of each result. The server's
//! arguments come from `BENCH_SERVER_ARGS`, split on blanks. The last line it prints is a JSON object.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use sans_mcp::{Call, Server};

mod calls;
mod gauntlet;
mod report;
mod rest;
mod timing;
mod workloads;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What a step came to, in words; `None` if it had not ended when its guard was over.
pub(crate) type Step<T = ()> = Option<Result<T, String>>;

/// How often what came of a call was what.
pub(crate) type Tally = BTreeMap<Cow<'static, str>, usize>;

/// A host of one client at a time, which waits until something has come of what it began.
pub(crate) trait Host: Sized {
    /// Connects a new client, which takes the place of the one before.
    fn connect(&mut self, server: Server, guard: Duration) -> Outcome<Step>;

    /// How many tools the server has listed.
    fn tools(&self) -> usize;

    /// What `read` makes of the text of a call.
    fn call<T>(&mut self, call: Call, guard: Duration, read: impl FnOnce(&str) -> T) -> Outcome<Step<T>>;

    /// Makes the calls 0 to `n`, of which `window` are open at a time, and tallies how `judge` finds the text of each.
    /// Those that have not ended when `guard` is over are missing.
    fn calls(
        &mut self,
        window: usize,
        n: usize,
        guard: Duration,
        make: impl Fn(usize) -> Call + Send + Sync + 'static,
        judge: impl Fn(usize, Result<&str, String>) -> Cow<'static, str> + Send + Sync + 'static,
    ) -> Outcome<Tally>;

    /// Makes `calls`, waits until `after`, which is written after them, was answered with this text, and then gives
    /// them up.
    fn give_up(&mut self, calls: Vec<Call>, after: Call) -> Outcome<String>;

    /// Connects a client to each of `servers`, closes them when `meanwhile`, in a thread of its own, is over, and gives what
    /// it gave. Nothing else happens meanwhile.
    fn rest<T: Send + 'static>(
        &mut self,
        servers: Vec<Server>,
        guard: Duration,
        meanwhile: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T>;

    /// Drops the client without closing it.
    fn abandon(&mut self);

    /// Closes a client that may be over already; an error if anything is left of its server.
    fn close(&mut self, guard: Duration) -> Outcome<Step>;
}

/// What may take longest without a reason: a start, a close.
pub(crate) const GUARD: Duration = Duration::from_secs(20);

/// Runs what the arguments of this process ask for.
pub(crate) fn main<H: Host>(name: &str, host: impl FnOnce() -> Outcome<H>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match host().and_then(|mut host| run(&mut host, &arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(host: &mut impl Host, arguments: &[&str]) -> Outcome {
    match *arguments {
        [program, "seq", n] => workloads::pipe(host, program, "seq", 1, n.parse()?),
        [program, "pipe", window, n] => workloads::pipe(host, program, "pipe", window.parse()?, n.parse()?),
        [program, "blob", bytes, n] => workloads::blob(host, program, bytes.parse()?, n.parse()?),
        [program, "cold", n] => workloads::cold(host, program, n.parse()?),
        [program, "sleepers", n, ms] => workloads::sleepers(host, program, n.parse()?, ms.parse()?),
        [program, "cancel", n] => workloads::cancel(host, program, n.parse()?),
        [program, "latency", window, n, beside] => {
            workloads::latency(host, program, window.parse()?, n.parse()?, beside)
        }
        [program, "sessions", n, seconds] => {
            workloads::sessions(host, program, n.parse()?, seconds.parse()?)
        }
        [program, "gauntlet", scenario, timeout, ref rest @ ..] => {
            let timeout = Duration::from_millis(timeout.parse()?);
            match (scenario, rest) {
                ("std", []) => gauntlet::two_calls(host, program, timeout),
                ("five", []) => gauntlet::many_calls(host, program, timeout, 5, 10),
                ("big", [n, bytes]) => {
                    gauntlet::many_calls(host, program, timeout, n.parse()?, bytes.parse()?)
                }
                ("drop", []) => gauntlet::drop_without_close(host, program, timeout),
                _ => Err(format!("no such scenario: {scenario}").into()),
            }
        }
        _ => Err("SERVER seq N | pipe WINDOW N | blob BYTES N | cold N | sleepers N MS | cancel N | \
                  latency WINDOW N nothing|slow|large | sessions N SECONDS | gauntlet std|five|drop TIMEOUT | gauntlet big TIMEOUT N BYTES"
            .into()),
    }
}
