//! Three servers in one poll, served by one thread:
//!
//! ```text
//! cargo run -p sans-mcp-mio --example three_servers
//! ```
//!
//! The servers are this same program, started with `fixture-server` as its first argument.

use std::error::Error;
use std::process::ExitCode;

use mio::{Events, Poll, Token};
use sans_mcp_mio::{Call, Clock, Connection, Failure, Output, Reply, Server, Time, ToolResult};

/// How this host tells its operations apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Connect,
    Question(u32),
}

/// How many questions each server gets, all at once.
const QUESTIONS: u32 = 3;

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

    let mut connections = Vec::new();
    for (index, name) in ["north", "south", "west"].into_iter().enumerate() {
        let server = Server::new(name, program.as_str()).arg("fixture-server");
        let first = Token(index * Connection::<Key>::TOKENS);
        let mut connection = Connection::new(server, poll.registry().try_clone()?, first)?;
        connection.connect(clock.now(), Key::Connect)?;
        connections.push(connection);
    }

    let mut open = connections.len();
    while open > 0 {
        let now = clock.now();
        let timeout = connections.iter().filter_map(|connection| connection.timeout(now)).min();
        poll.poll(&mut events, timeout)?;
        let now = clock.now();
        for connection in &mut connections {
            for event in &events {
                connection.handle_event(event);
            }
            let mut done = Vec::new();
            connection.pump(now, |output| match output {
                Output::Complete(completion) => {
                    done.push((completion.token, completion.outcome.map(text)));
                }
                Output::Closed(end) => {
                    println!("{end}");
                    open -= 1;
                }
                _ => {}
            });
            for (key, outcome) in done {
                react(connection, now, key, outcome)?;
            }
        }
    }
    Ok(())
}

/// What follows when an operation has ended.
fn react(
    connection: &mut Connection<Key>,
    now: Time,
    key: Key,
    outcome: Result<String, Failure>,
) -> Result<(), Box<dyn Error>> {
    let name = connection.session().server().name.clone();
    match (key, outcome) {
        (Key::Connect, Ok(_)) => {
            println!("{name}: connected, {} tools", connection.session().catalog().len());
            for number in 1..=QUESTIONS {
                let delay = (QUESTIONS - number) * 40;
                let arguments = format!(r#"{{"value":"answer {number}","delay":{delay}}}"#);
                connection.call(now, Call::new("echo", arguments), Key::Question(number))?;
            }
        }
        (Key::Question(_), Ok(text)) => println!("{name}: {text}"),
        (_, Err(failure)) => println!("{}", failure.report()),
    }
    if connection.session().counters().pending == 0 {
        connection.close(now);
    }
    Ok(())
}

fn text(reply: Reply<'_>) -> String {
    match reply {
        Reply::Answer(answer) => match ToolResult::parse(answer.as_str()) {
            Ok(result) => result.text().into_owned(),
            Err(error) => error.to_string(),
        },
        Reply::Connected | Reply::Listed => String::new(),
    }
}
