//! The `sans-mcp` command.

fn main() -> std::process::ExitCode {
    sans_mcp_tokio::cli::run()
}
