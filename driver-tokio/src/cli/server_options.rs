//! The options that several commands have: the server and how to treat it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sans_mcp::script::Answers;
use sans_mcp::{Conduct, ConfigError, IdMatching, Server, Settings, StderrMode};

use super::value::Variable;
use super::{text, value};

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
    pub(super) fn apply(&self, settings: &mut Settings) {
        settings.check_arguments = !self.no_validate;
        settings.check_results = !self.no_validate;
    }

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
    #[error("{}", config(.0))]
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

/// A configuration that cannot be used; nothing was started.
pub(super) fn config(error: &ConfigError) -> String {
    let option = if matches!(error, ConfigError::Blocked { .. }) { " (here: --allow-shell)" } else { "" };
    format!("{error}{option}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_like_its_command() {
        assert_eq!(name("/usr/bin/docs server"), "docs server");
        assert_eq!(name(r"C:\docs.exe"), "docs.exe");
        assert_eq!(name("/"), "server");
        assert!(name(&"x".repeat(500)).len() < 128);
    }
}
