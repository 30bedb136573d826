//! What the pipe and the kernel cost, as a column of the comparison: requests that were made beforehand are written in bulk,
//! and line ends are counted.
//!
//! ```text
//! compare-pump [--floor] SERVER WORKLOAD [ARGUMENT ...]
//! ```
//!
//! With `--floor` it does in addition what no client can leave out: it keeps what it read until a line is whole, reads the
//! envelope, and decodes the text of the result. It has no calls, no callers, no deadlines and no checks.

use std::error::Error;
use std::process::ExitCode;

mod floor;
mod pipes;
#[path = "../../../../../driver-tokio/examples/compare/report.rs"]
mod report;
mod window;
mod workloads;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match arguments.as_slice() {
        ["--floor", rest @ ..] => run(true, rest),
        rest => run(false, rest),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare-pump: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(floor: bool, arguments: &[&str]) -> Outcome {
    let [program, ref workload @ ..] = *arguments else { return Err("which server?".into()) };
    let connect = || pipes::Pipes::connect(program, floor);
    match *workload {
        ["seq", n] => workloads::pipe(connect()?, "seq", 1, n.parse()?),
        ["pipe", window, n] => workloads::pipe(connect()?, "pipe", window.parse()?, n.parse()?),
        ["blob", bytes, n] => workloads::blob(connect()?, bytes.parse()?, n.parse()?),
        ["cold", n] => workloads::cold(connect, n.parse()?),
        ["cancel", n] => workloads::cancel(connect()?, n.parse()?),
        _ => Err("seq N | pipe WINDOW N | blob BYTES N | cold N | cancel N".into()),
    }
}
