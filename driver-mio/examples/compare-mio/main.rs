//! This client as a column of a comparison with others:
//!
//! ```text
//! cargo run --release -p sans-mcp-mio --example compare-mio -- SERVER WORKLOAD [ARGUMENT ...]
//! ```

use std::process::ExitCode;

#[path = "../../../driver-tokio/examples/compare/comparison.rs"]
mod comparison;
mod crowd;
mod host;

fn main() -> ExitCode {
    comparison::main("compare-mio", host::MioHost::new)
}
