//! Three servers in one poll, served by one thread:
//!
//! ```text
//! cargo run -p sans-mcp-mio --example three_servers
//! ```
//!
//! One of them crashes and is started again, and each gets a call that is cancelled. The servers are this same program,
//! started with `fixture-server` as its first argument.

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use mio::{Events, Poll, Token};
use sans_mcp_mio::{
    Call, Cause, Clock, Connection, Failure, Handle, Output, Reply, Server, Time, ToolResult,
};

/// How this host tells its operations apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Connect,
    Question(u32),
    Endless,
    Crash,
}

/// How many questions each server gets, all at once.
const QUESTIONS: u32 = 3;

struct Station {
    connection: Connection<Key>,
    first: Token,
    /// The call that is cancelled once every question is answered.
    endless: Option<Handle>,
    /// It may be started again.
    can_restart: bool,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("fixture-server") {
        return sans_mcp_fixtures::Server::new(["fixture-server"]).run(arguments);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("three_servers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(64);
    let clock = Clock::start();

    let mut stations = Vec::new();
    for (index, name) in ["north", "south", "west"].into_iter().enumerate() {
        let server = Server::new(name, program.as_str()).arg("fixture-server");
        let first = Token(index * Connection::<Key>::TOKENS);
        stations.push(Station::start(server, &poll, first, clock.now(), true)?);
    }

    while !stations.is_empty() {
        let now = clock.now();
        let timeout = stations.iter().filter_map(|station| station.connection.timeout(now)).min();
        wait(&mut poll, &mut events, timeout)?;
        let now = clock.now();
        let mut open = Vec::new();
        for mut station in stations {
            for event in &events {
                station.connection.handle_event(event);
            }
            let mut done = Vec::new();
            let mut ended = None;
            station.connection.pump(now, |output| match output {
                Output::Complete(completion) => {
                    done.push((completion.token, completion.outcome.map(text)));
                }
                Output::Closed(end) => ended = Some(end.clone()),
                _ => {}
            });
            for (key, outcome) in done {
                station.react(now, key, outcome)?;
            }
            match ended {
                None => open.push(station),
                Some(end) => {
                    println!("{end}");
                    if matches!(end.cause, Cause::Exited(_)) && station.can_restart {
                        let server = station.connection.session().server().clone();
                        open.push(Station::start(server, &poll, station.first, now, false)?);
                    }
                }
            }
        }
        stations = open;
    }
    Ok(())
}

impl Station {
    fn start(
        server: Server,
        poll: &Poll,
        first: Token,
        now: Time,
        can_restart: bool,
    ) -> Result<Station, Box<dyn Error>> {
        let mut connection = Connection::new(server, poll.registry().try_clone()?, first)?;
        connection.connect(now, Key::Connect)?;
        Ok(Station { connection, first, endless: None, can_restart })
    }

    /// What follows when an operation has ended.
    fn react(
        &mut self,
        now: Time,
        key: Key,
        outcome: Result<Result<String, String>, Failure>,
    ) -> Result<(), Box<dyn Error>> {
        let name = self.connection.session().server().name.clone();
        match (key, outcome) {
            (Key::Connect, Ok(_)) => {
                println!("{name}: connected, {} tools", self.connection.session().catalog().len());
                self.endless = Some(self.connection.call(now, Call::new("never", "{}"), Key::Endless)?);
                for number in 1..=QUESTIONS {
                    let delay = (QUESTIONS - number) * 40;
                    let arguments = format!(r#"{{"value":"answer {number}","delay":{delay}}}"#);
                    self.connection.call(now, Call::new("echo", arguments), Key::Question(number))?;
                }
                if name == "west" && self.can_restart {
                    self.connection.call(now, Call::new("exit", r#"{"code":3}"#), Key::Crash)?;
                }
            }
            (_, Ok(Ok(text))) => println!("{name}: {text}"),
            (_, Ok(Err(text))) => println!("{name}: the tool failed: {text}"),
            // It says whether the server may have acted on it; whether to ask again is for the host to decide.
            (_, Err(failure)) => println!("{}", failure.report()),
        }
        match (self.connection.session().counters().pending, self.endless.take()) {
            (0, _) => self.connection.close(now),
            (1, Some(endless)) => {
                self.connection.cancel(now, endless, "every question is answered");
            }
            (_, endless) => self.endless = endless,
        }
        Ok(())
    }
}

/// What the tool says, or what it says went wrong.
fn text(reply: Reply<'_>) -> Result<String, String> {
    let Reply::Answer(answer) = reply else { return Ok(String::new()) };
    let result = ToolResult::parse(answer.as_str()).map_err(|error| error.to_string())?;
    let text = result.text().into_owned();
    if result.is_error() { Err(text) } else { Ok(text) }
}

fn wait(poll: &mut Poll, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
    match poll.poll(events, timeout) {
        // A signal that was handled, or that stopped and continued the process, ends a wait.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        polled => polled,
    }
}
