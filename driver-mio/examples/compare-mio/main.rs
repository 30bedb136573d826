//! This client as a column of the comparison with others:
//!
//! ```text
//! cargo run --release -p sans-mcp-mio --example compare-mio -- SERVER WORKLOAD [ARGUMENT ...]
//! ```
//!
//! It uses the public client with default limits, conduct and checks, and reads the text of each result. The server's
//! arguments come from `BENCH_SERVER_ARGS`, split on blanks. The last line it prints is a JSON object.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

mod gauntlet;
mod host;
mod report;
mod workloads;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare-mio: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    match *arguments {
        [program, "seq", n] => workloads::pipe(program, "seq", 1, n.parse()?),
        [program, "pipe", window, n] => workloads::pipe(program, "pipe", window.parse()?, n.parse()?),
        [program, "blob", bytes, n] => workloads::blob(program, bytes.parse()?, n.parse()?),
        [program, "cold", n] => workloads::cold(program, n.parse()?),
        [program, "sleepers", n, ms] => workloads::sleepers(program, n.parse()?, ms.parse()?),
        [program, "cancel", n] => workloads::cancel(program, n.parse()?),
        [program, "gauntlet", scenario, timeout, ref rest @ ..] => {
            let timeout = Duration::from_millis(timeout.parse()?);
            match (scenario, rest) {
                ("std", []) => gauntlet::two_calls(program, timeout),
                ("five", []) => gauntlet::many_calls(program, timeout, 5, 10),
                ("big", [n, bytes]) => gauntlet::many_calls(program, timeout, n.parse()?, bytes.parse()?),
                ("drop", []) => gauntlet::drop_without_close(program, timeout),
                _ => Err(format!("no such scenario: {scenario}").into()),
            }
        }
        _ => Err("SERVER seq N | pipe WINDOW N | blob BYTES N | cold N | sleepers N MS | cancel N | \
                  gauntlet std|five|drop TIMEOUT | gauntlet big TIMEOUT N BYTES"
            .into()),
    }
}
