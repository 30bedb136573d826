//! The `sans-mcp` command: what it is asked, what it does, what it says.

mod arguments;
mod call;
mod check;
mod console;
mod demo;
mod hang_up;
mod interrupt;
mod list;
mod options;
mod ping;
mod report;
mod script;
mod script_options;
mod script_runner;
mod server_options;
mod show;
mod status;
mod stdio;
#[cfg(test)]
mod testing;
mod text;
mod value;
mod visit;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use sans_mcp::Server;
use sans_mcp_fixtures as fixtures;

use arguments::Given;
use console::Console;
use interrupt::Interrupt;
use options::{Command, Options};
use server_options::ServerOptions;
use status::Status;
use visit::visit;

use crate::Client;

/// The argument that leads this executable to its fixture server.
const FIXTURE_SERVER: &str = "fixture-server";

/// Runs the command with the arguments of this process, and gives its exit status.
pub fn run() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return usage(error),
    };
    if let Command::FixtureServer(server) = options.command {
        return fixtures::Server::new([FIXTURE_SERVER]).run(server.switches);
    }
    let console = Arc::new(Console::new());
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            console.note(&format!("cannot begin: {error}"));
            return Status::Connect.into();
        }
    };
    runtime.block_on(carry_out(&console, options.command)).unwrap_or_else(|status| status).into()
}

/// Says what is wrong with the command line, or what it offers.
fn usage(mut error: clap::Error) -> ExitCode {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        // To put `--` before an option would make a server's command of it.
        tips.retain(|tip| !tip.to_string().contains("'-- "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    // A closed stdout is no fault.
    let _ = error.print();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Status::Fine.into();
    }
    if let Some(example) = example(&error, env::args_os().nth(1)) {
        let _ = writeln!(io::stderr(), "\nThe server's command comes last, after `--`: {example}");
    }
    Status::Usage.into()
}

/// A line that shows where the server's command goes, where that may be what is wrong with it.
fn example(error: &clap::Error, subcommand: Option<OsString>) -> Option<String> {
    let subcommand = subcommand?;
    let before = match subcommand.to_str().unwrap_or_default() {
        "demo" => return None,
        "call" => "call TOOL NAME=VALUE",
        "script" => "script FILE",
        known @ ("list" | "ping" | "check") => known,
        _ => "list",
    };
    let about_the_command = match error.kind() {
        ErrorKind::UnknownArgument => true,
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => missing.iter().any(|word| word.contains("COMMAND")),
            _ => true,
        },
        _ => false,
    };
    about_the_command.then(|| format!("sans-mcp {before} -- docs-server --its-own-option"))
}

async fn carry_out(console: &Arc<Console>, command: Command) -> Result<Status, Status> {
    // Whatever the user is asked for is read before signals are watched, so that they still end the command then.
    Ok(match command {
        Command::List(list) => {
            let (server, interrupt) = (configured(console, &list.server)?, &mut watch(console)?);
            let work = async |client: &Client| list::list(console, client, list.json).await;
            visit(console, interrupt, server, |builder| builder, work).await
        }
        Command::Ping(ping) => {
            let (server, interrupt) = (configured(console, &ping.server)?, &mut watch(console)?);
            let work = async |client: &Client| ping::ping(console, client, ping.json).await;
            visit(console, interrupt, server, |builder| builder, work).await
        }
        Command::Call(options) => {
            let mut server = configured(console, &options.server)?;
            let given = Given::read(&options.arguments).map_err(|error| usage_fault(console, &error))?;
            options.tools.apply(&mut server.settings);
            if options.max_total.is_some() {
                server.settings.timeouts.maximum = options.max_total;
            }
            let answers = options.tools.answers().map_err(|error| usage_fault(console, &error))?;
            let configure = |builder| call::with_answers(builder, &answers);
            let work = async |client: &Client| call::call(console, client, &options, given).await;
            visit(console, &mut watch(console)?, server, configure, work).await
        }
        Command::Check(check) => {
            let server = configured(console, &check.server)?;
            check::check(console, &mut watch(console)?, server, check.json).await
        }
        Command::Script(options) => {
            let (server, answers) = options.server().map_err(|error| usage_fault(console, &error))?;
            let source = script_runner::open(&options.file).map_err(|error| usage_fault(console, &error))?;
            script::script(&mut watch(console)?, server, answers, source).await
        }
        Command::Demo => demo::demo(console, &mut watch(console)?).await,
        // It was carried out without a runtime.
        Command::FixtureServer(_) => Status::Fine,
    })
}

fn watch(console: &Console) -> Result<Interrupt, Status> {
    Interrupt::new().map_err(|error| {
        console.note(&format!("cannot watch for signals: {error}"));
        Status::Connect
    })
}

fn usage_fault(console: &Console, error: &dyn std::error::Error) -> Status {
    console.note(&error.to_string());
    Status::Usage
}

/// The configuration; a fault in it is told before anything starts.
fn configured(console: &Console, options: &ServerOptions) -> Result<Server, Status> {
    options.server().map_err(|error| usage_fault(console, &error))
}
