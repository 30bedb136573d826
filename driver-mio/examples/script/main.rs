//! The command line's `script` on this driver: the same options, commands and events.
//!
//! ```text
//! cargo run -p sans-mcp-mio --example script -- [OPTIONS] FILE|- -- COMMAND [ARGS]
//! ```
//!
//! `docs/script.md` describes the format. A server to try it on is the other example:
//!
//! ```text
//! cargo build -p sans-mcp-mio --examples
//! printf '{"op":"list"}\n{"op":"wait"}\n' |
//!     target/debug/examples/script - -- target/debug/examples/fixture-server
//! ```

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use mio::{Events, Poll, Token, Waker};
use sans_mcp::Server;
use sans_mcp::script::Answers;
use sans_mcp_mio::{Clock, Connection};

mod signals;

// What the command line has of it that is not about a driver.
#[path = "../../../driver-tokio/src/cli/hang_up.rs"]
mod hang_up;
#[path = "../../../driver-tokio/src/cli/script_options.rs"]
mod script_options;
#[path = "../../../driver-tokio/src/cli/script_runner.rs"]
mod script_runner;
#[path = "../../../driver-tokio/src/cli/server_options.rs"]
mod server_options;
#[path = "../../../driver-tokio/src/cli/status.rs"]
#[allow(dead_code, reason = "other commands end in more ways")]
mod status;
#[path = "../../../driver-tokio/src/cli/stdio.rs"]
mod stdio;
#[path = "../../../driver-tokio/src/cli/text.rs"]
#[allow(dead_code, reason = "other commands show more")]
mod text;
#[path = "../../../driver-tokio/src/cli/value.rs"]
#[allow(dead_code, reason = "other commands have more options")]
mod value;

use script_options::Script;
use script_runner::{Runner, Source};
use signals::Signals;
use status::Status;

const NEWS: Token = Token(0);
const SIGNALS: Token = Token(1);
const SERVER: Token = Token(SIGNALS.0 + Signals::TOKENS);

/// Carry out commands and print events.
#[derive(Debug, Parser)]
#[command(name = "script")]
struct Options {
    #[command(flatten)]
    script: Script,
}

fn main() -> ExitCode {
    let options = Options::parse().script;
    match prepared(&options) {
        Ok((server, answers, source)) => run(server, answers, source).unwrap_or_else(|error| {
            stdio::note(&format!("cannot go on: {error}"));
            Status::Connect
        }),
        Err(problem) => {
            stdio::note(&problem.to_string());
            Status::Usage
        }
    }
    .into()
}

/// What can be found wrong before anything is started.
fn prepared(options: &Script) -> Result<(Server, Answers, Source), Box<dyn Error>> {
    let (server, answers) = options.server()?;
    Ok((server, answers, script_runner::open(&options.file)?))
}

fn run(server: Server, answers: Answers, source: Source) -> io::Result<Status> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(64);
    let clock = Clock::start();
    let signals = Signals::new(poll.registry(), SIGNALS)?;
    let mut connection = match Connection::new(server, poll.registry().try_clone()?, SERVER) {
        Ok(connection) => connection,
        Err(error) => {
            stdio::note(&server_options::config(&error));
            return Ok(Status::Usage);
        }
    };
    let waker = Arc::new(Waker::new(poll.registry(), NEWS)?);
    let mut runner = Runner::new(answers, source, move || {
        // Only a poll that is gone cannot be woken.
        let _ = waker.wake();
    });
    let mut has_news = true;
    'running: loop {
        let now = clock.now();
        if has_news {
            runner.advance(connection.session_mut(), now);
        }
        if runner.is_over() {
            break;
        }
        let until = runner.next_timeout();
        let timeouts = [connection.timeout(now), until.map(|until| until.since(now))];
        wait(&mut poll, &mut events, timeouts.into_iter().flatten().min())?;

        let now = clock.now();
        has_news = until.is_some_and(|until| until <= now);
        for event in &events {
            has_news |= event.token() == NEWS;
            connection.handle_event(event);
            if let Some(signal) = signals.of(event)
                && !runner.handle_signal(connection.session_mut(), now, signal)
            {
                break 'running;
            }
        }
        connection.pump(now, |output| {
            has_news = true;
            runner.handle_output(output);
        });
    }
    // What was handed to the printer is printed before the process ends, unless nobody wants to wait for that.
    loop {
        if let Some(status) = runner.status(connection.session()) {
            return Ok(status);
        }
        wait(&mut poll, &mut events, None)?;
        if let Some(signal) = events.iter().find_map(|event| signals.of(event)) {
            return Ok(signal);
        }
    }
}

fn wait(poll: &mut Poll, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
    match poll.poll(events, timeout) {
        // A signal ends a wait; what it asks for comes as an event.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        polled => polled,
    }
}
