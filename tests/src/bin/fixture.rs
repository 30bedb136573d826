//! The fixture server, built with this package so that its tests find it.

use std::process::ExitCode;

fn main() -> ExitCode {
    sans_mcp_fixtures::run(std::env::args().skip(1))
}
