//! The command line as it is written.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::script_options::Script;
use super::server_options::{ServerOptions, ToolOptions};
use super::status::Status;
use super::value;

/// Talk to an MCP server: a program that offers tools over its standard input and output.
#[derive(Debug, Parser)]
#[command(name = "sans-mcp", version, after_help = Status::HELP)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Options {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    List(List),
    Call(Call),
    Ping(Ping),
    Check(Check),
    Script(Script),
    /// Show what happens in situations that break clients, with a naive client beside this one.
    #[command(after_help = Status::HELP)]
    Demo,
    #[command(hide = true, disable_help_flag = true)]
    FixtureServer(FixtureServer),
}

/// List the tools of a server: name, signature and one line of description.
#[derive(Debug, Args)]
#[command(after_help = Status::HELP)]
pub(super) struct List {
    /// Print the list as the server sent it, all pages joined, on one line.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) server: ServerOptions,
}

/// Call a tool and print its result.
///
/// A value of NAME=VALUE is read as what the tool's schema asks for: `n=5` is a number where it wants a number and a
/// text where it wants a text. Where it wants anything, JSON is taken as JSON and all else as a text. What does not
/// fit is an error, and nothing is called.
#[derive(Debug, Args)]
#[command(after_help = Status::HELP)]
#[command(
    override_usage = "sans-mcp call [OPTIONS] TOOL [NAME=VALUE ... | JSON | @FILE | -] -- COMMAND [ARGS]"
)]
pub(super) struct Call {
    /// Name of the tool; another one is never called in its place.
    #[arg(value_name = "TOOL")]
    pub(super) tool: String,
    /// Arguments: NAME=VALUE, or one JSON object, or @FILE or - for a file or stdin with one.
    #[arg(value_name = "ARGUMENT")]
    pub(super) arguments: Vec<String>,
    /// Print the whole result as the server sent it, on one line.
    #[arg(long)]
    pub(super) json: bool,
    /// Let progress start the timeout anew.
    #[arg(long)]
    pub(super) reset_on_progress: bool,
    /// The most that progress may extend the timeout to.
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "reset_on_progress")]
    pub(super) max_total: Option<Duration>,
    #[command(flatten)]
    pub(super) tools: ToolOptions,
    #[command(flatten)]
    pub(super) server: ServerOptions,
}

/// Ask whether a server answers: protocol version, name and version, round trip.
#[derive(Debug, Args)]
#[command(after_help = Status::HELP)]
pub(super) struct Ping {
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) server: ServerOptions,
}

/// Connect, list, ping, close, and prove that nothing is left: a report to paste.
#[derive(Debug, Args)]
#[command(after_help = Status::HELP)]
pub(super) struct Check {
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) server: ServerOptions,
}

/// The fixture server of the tests and of the demonstration.
#[derive(Debug, Args)]
pub(super) struct FixtureServer {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) switches: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::super::server_options::BadOptions;
    use super::*;
    use clap::CommandFactory;
    use sans_mcp::{Conduct, ConfigError, IdMatching, Server, StderrMode};

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split(' '))
    }

    fn server(line: &str) -> Result<Server, BadOptions> {
        match parse(line).expect("a good line").command {
            Command::List(list) => list.server.server(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn options_become_settings() {
        let server = server(
            "sans-mcp list -e A=b -e C= -e PATH --cwd /tmp --timeout 500ms --connect-timeout 2m --strict --max-line 128m --stderr none --id-matching decimal -- /opt/docs-server --json -e x",
        )
        .unwrap();
        assert_eq!((server.name.as_str(), server.command.as_str()), ("docs-server", "/opt/docs-server"));
        assert_eq!(server.args, ["--json", "-e", "x"]);
        assert_eq!(server.variables, [("A".to_owned(), "b".to_owned()), ("C".to_owned(), String::new())]);
        assert_eq!(server.inherit, ["PATH"]);
        assert_eq!(server.settings.timeouts.call, Some(Duration::from_millis(500)));
        assert_eq!(server.settings.timeouts.connect, Some(Duration::from_secs(120)));
        assert_eq!(server.settings.conduct, Conduct::Strict);
        assert_eq!((server.settings.limits.line, server.settings.limits.discard), (128 << 20, 128 << 20));
        assert_eq!((server.stderr, server.settings.id_matching), (StderrMode::Discard, IdMatching::Decimal));
    }

    #[test]
    fn l03_a_shell_is_refused_unless_allowed() {
        assert!(matches!(
            server("sans-mcp list -- bash -c x"),
            Err(BadOptions::Config(ConfigError::Blocked { .. }))
        ));
        assert!(server("sans-mcp list --allow-shell -- bash -c x").is_ok());
    }

    #[test]
    fn what_follows_the_tool_are_arguments_and_what_follows_the_dashes_is_the_command() {
        let Command::Call(call) = parse("sans-mcp call echo value=1 - --json -- srv a").unwrap().command
        else {
            panic!("a call")
        };
        assert_eq!((call.tool.as_str(), call.json), ("echo", true));
        assert_eq!(call.arguments, ["value=1", "-"]);
        let server = call.server.server().unwrap();
        assert_eq!((server.command.as_str(), server.args), ("srv", vec!["a".to_owned()]));
        assert!(parse("sans-mcp call echo --max-total 5s -- srv").is_err());
        assert!(parse("sans-mcp list").is_err());
    }
}
