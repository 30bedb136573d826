//! The fixture server, for the tests of this crate: cargo builds examples before it runs tests.

fn main() -> std::process::ExitCode {
    sans_mcp_fixtures::run(std::env::args().skip(1))
}
