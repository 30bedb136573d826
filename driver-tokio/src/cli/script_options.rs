//! The options of `script`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sans_mcp::Server;
use sans_mcp::script::Answers;

use super::server_options::{BadOptions, ServerOptions, ToolOptions};
use super::status::Status;
use super::value;

/// Carry out commands and print events, one JSON object a line; docs/script.md describes both.
#[derive(Debug, Args)]
#[command(after_help = Status::HELP)]
pub(super) struct Script {
    /// File with the commands, or - for stdin.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// The most that progress may extend a timeout to, where a command lets it.
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(super) max_total: Option<Duration>,
    #[command(flatten)]
    pub(super) tools: ToolOptions,
    #[command(flatten)]
    pub(super) server: ServerOptions,
}

impl Script {
    /// The configuration, checked, and what the server's requests are answered with.
    pub(super) fn server(&self) -> Result<(Server, Answers), BadOptions> {
        let mut server = self.server.server()?;
        let answers = self.tools.answers()?;
        let settings = &mut server.settings;
        settings.capabilities = answers.capabilities();
        settings.list_on_connect = true;
        self.tools.apply(settings);
        if self.max_total.is_some() {
            settings.timeouts.maximum = self.max_total;
        }
        Ok((server, answers))
    }
}
