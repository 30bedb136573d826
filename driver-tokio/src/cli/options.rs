//! The command line as it is written.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sans_mcp::script::Answers;
use sans_mcp::{Conduct, ConfigError, IdMatching, Server, StderrMode};

use super::status::Status;
use super::value::Variable;
use super::{report, text, value};

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

/// The fixture server of the tests and of the demonstration.
#[derive(Debug, Args)]
pub(super) struct FixtureServer {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) switches: Vec<String>,
}

/// What concerns calls.
#[derive(Debug, Args)]
pub(super) struct ToolOptions {
    /// Check neither arguments nor results against the tool's schemas.
    #[arg(long)]
    pub(super) no_validate: bool,
    /// Answer this request of the server so: JSON is the result, or an object with only an `error` in it.
    #[arg(long, value_name = "METHOD=JSON", value_parser = value::answer)]
    pub(super) answer: Vec<(String, String)>,
}

impl ToolOptions {
    pub(super) fn answers(&self) -> Result<Answers, BadOptions> {
        once("--answer", self.answer.iter().map(|(method, _)| method.as_str()))?;
        let mut answers = Answers::default();
        for (method, json) in &self.answer {
            // It was tried when the option was read.
            let _ = answers.set(method, json);
        }
        Ok(answers)
    }
}

/// Why options that are good each for itself cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadOptions {
    #[error("{option} `{name}` is given twice: keep one of them")]
    Twice { option: &'static str, name: String },
    #[error("{}", report::config(.0))]
    Config(#[from] ConfigError),
}

/// Refuses an option that is given twice for the same name.
fn once<'a>(option: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), BadOptions> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(BadOptions::Twice { option, name: text::one_line(name, text::WORD) });
        }
    }
    Ok(())
}

/// What to start and how to treat it.
#[derive(Debug, Args)]
pub(super) struct ServerOptions {
    /// Set a variable in the server's environment, or pass on one of yours by its NAME; of your environment the server
    /// gets HOME, LOGNAME, PATH, SHELL, TERM and USER without being told, and nothing else.
    #[arg(short = 'e', long = "env", value_name = "NAME[=VALUE]", value_parser = value::variable)]
    variables: Vec<Variable>,
    /// Working directory of the server.
    #[arg(long, value_name = "DIRECTORY")]
    cwd: Option<PathBuf>,
    /// How long an answer may take, in ms, s or m, such as 500ms, 30s or 2m [default: 30s].
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    timeout: Option<Duration>,
    /// How long starting and shaking hands may take [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    connect_timeout: Option<Duration>,
    /// End at the first line of the server's output that is no message, instead of passing it over.
    #[arg(long)]
    strict: bool,
    /// Longest line that is read as a message, in k or m, such as 64k or 10m [default: 10m].
    #[arg(long, value_name = "SIZE", value_parser = value::size)]
    max_line: Option<usize>,
    /// What becomes of the server's stderr: its end is shown when something failed, all of it is, or none.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Stderr::Tail)]
    stderr: Stderr,
    /// Let the command be a shell, or another program that runs what its arguments say.
    #[arg(long)]
    allow_shell: bool,
    /// Which ids of answers match: the number that was sent, or its digits as a string as well.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Ids::Exact)]
    id_matching: Ids,
    /// The server: an executable and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stderr {
    Tail,
    Inherit,
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ids {
    Exact,
    Decimal,
}

impl ServerOptions {
    /// The configuration, checked; the tools are not listed on connecting.
    pub(super) fn server(&self) -> Result<Server, BadOptions> {
        once("-e", self.variables.iter().map(Variable::name))?;
        let (command, args) = match self.command.split_first() {
            Some((command, args)) => (command.as_str(), args),
            None => ("", &[][..]),
        };
        let mut server = Server::new(name(command), command).args(args).stderr(match self.stderr {
            Stderr::Tail => StderrMode::Tail,
            Stderr::Inherit => StderrMode::Inherit,
            Stderr::None => StderrMode::Discard,
        });
        for variable in &self.variables {
            match variable.clone() {
                Variable::Inherited(name) => server.inherit.push(name),
                Variable::Set(name, value) => server.variables.push((name, value)),
            }
        }
        server.working_directory = self.cwd.clone();
        server.allow_shell = self.allow_shell;
        let settings = &mut server.settings;
        settings.list_on_connect = false;
        settings.conduct = if self.strict { Conduct::Strict } else { Conduct::Tolerant };
        settings.id_matching = match self.id_matching {
            Ids::Exact => IdMatching::Exact,
            Ids::Decimal => IdMatching::Decimal,
        };
        if let Some(timeout) = self.timeout {
            settings.timeouts.call = Some(timeout);
        }
        if let Some(timeout) = self.connect_timeout {
            settings.timeouts.connect = Some(timeout);
        }
        if let Some(line) = self.max_line {
            settings.limits.line = line;
            settings.limits.discard = settings.limits.discard.max(line);
        }
        server.check()?;
        Ok(server)
    }
}

/// What a server is called in messages: the last part of its command.
fn name(command: &str) -> String {
    let file = command.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    match text::one_line(file, text::WORD / 2) {
        name if name.is_empty() => "server".to_owned(),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

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
        assert_eq!(call.server.command, ["srv", "a"]);
        assert!(parse("sans-mcp call echo --max-total 5s -- srv").is_err());
        assert!(parse("sans-mcp list").is_err());
    }

    #[test]
    fn a_server_is_called_like_its_command() {
        assert_eq!(name("/usr/bin/docs server"), "docs server");
        assert_eq!(name(r"C:\docs.exe"), "docs.exe");
        assert_eq!(name("/"), "server");
        assert!(name(&"x".repeat(500)).len() < 128);
    }
}
