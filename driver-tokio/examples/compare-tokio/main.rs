//! This client as a column of a comparison with others:
//!
//! ```text
//! cargo run --release -p sans-mcp-tokio --example compare-tokio -- SERVER WORKLOAD [ARGUMENT ...]
//! ```
//!
//! With `BENCH_RT=current` it runs on one thread.

use std::process::ExitCode;

#[path = "../compare/comparison.rs"]
mod comparison;
mod host;

fn main() -> ExitCode {
    comparison::main("compare-tokio", host::TokioHost::new)
}
