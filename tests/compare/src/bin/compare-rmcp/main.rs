//! The client of rmcp as a column of the comparison, with what it does by default:
//!
//! ```text
//! compare-rmcp SERVER WORKLOAD [ARGUMENT ...]
//! ```
//!
//! With `BENCH_RT=current` it runs on one thread.

use std::error::Error;
use std::process::ExitCode;

use tokio::runtime::Builder;

mod client;
#[path = "../../../../../driver-tokio/examples/compare/report.rs"]
mod report;
#[path = "../../../../../driver-tokio/examples/compare/rest.rs"]
mod rest;
#[path = "../../../../../driver-tokio/examples/compare/timing.rs"]
mod timing;
mod workloads;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare-rmcp: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Outcome {
    let one_thread = std::env::var("BENCH_RT").is_ok_and(|flavour| flavour == "current");
    let mut builder = if one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    let runtime = builder.enable_all().build()?;
    let ran = runtime.block_on(async {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        workload(&arguments).await
    });
    // What never ended is not waited for.
    runtime.shutdown_background();
    ran
}

async fn workload(arguments: &[&str]) -> Outcome {
    match *arguments {
        [program, "seq", n] => workloads::pipe(program, "seq", 1, n.parse()?).await,
        [program, "pipe", window, n] => workloads::pipe(program, "pipe", window.parse()?, n.parse()?).await,
        [program, "blob", bytes, n] => workloads::blob(program, bytes.parse()?, n.parse()?).await,
        [program, "cold", n] => workloads::cold(program, n.parse()?).await,
        [program, "sleepers", n, ms] => workloads::sleepers(program, n.parse()?, ms.parse()?).await,
        [program, "cancel", n] => workloads::cancel(program, n.parse()?).await,
        [program, "latency", window, n, beside] => {
            workloads::latency(program, window.parse()?, n.parse()?, beside).await
        }
        [program, "sessions", n, seconds] => workloads::sessions(program, n.parse()?, seconds.parse()?).await,
        _ => Err("the workloads are those of driver-tokio/examples/compare".into()),
    }
}
