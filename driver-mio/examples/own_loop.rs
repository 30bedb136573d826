//! A server in the loop of a host that has timers and event sources of its own:
//!
//! ```text
//! cargo run -p sans-mcp-mio --example own_loop
//! ```
//!
//! The loop was there before: it beats every 20 ms and reads commands from a pipe. The server adds its tokens, one
//! more bound on the wait, and a pump. It is this same program, started with `fixture-server` as its first argument.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mio::unix::pipe;
use mio::{Events, Interest, Poll, Token};
use sans_mcp_mio::{Call, Clock, Connection, Output, Reply, Server, ToolResult};

const COMMANDS: Token = Token(0);
/// The first of the server's tokens.
const DOCS: Token = Token(1);
const BEAT: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("fixture-server") {
        return sans_mcp_fixtures::Server::new(["fixture-server"]).run(arguments);
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("own_loop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    // What the host has anyway.
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(64);
    let (mut commander, mut commands) = pipe::new()?;
    poll.registry().register(&mut commands, COMMANDS, Interest::READABLE)?;
    let epoch = Instant::now();
    let mut next_beat = epoch + BEAT;
    let mut beats = 0;

    // What the server adds.
    let clock = Clock::since(epoch);
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let server = Server::new("docs", program).arg("fixture-server");
    let mut docs = Connection::new(server, poll.registry().try_clone()?, DOCS)?;
    docs.connect(clock.now(), "connect")?;

    loop {
        let now = Instant::now();
        let until_beat = next_beat.saturating_duration_since(now);
        let timeout = docs.timeout(clock.at(now)).map_or(until_beat, |timeout| timeout.min(until_beat));
        wait(&mut poll, &mut events, timeout)?;

        let now = Instant::now();
        for event in &events {
            if event.token() == COMMANDS {
                for question in read_commands(&mut commands)? {
                    let arguments = format!(r#"{{"value":"answer {question}","delay":30}}"#);
                    docs.call(clock.at(now), Call::new("echo", arguments), "question")?;
                }
            } else {
                docs.handle_event(event);
            }
        }
        if next_beat <= now {
            next_beat += BEAT;
            beats += 1;
            println!("{:>4} ms  beat {beats}", now.duration_since(epoch).as_millis());
            match beats {
                3 | 5 | 6 => commander.write_all(&[beats])?,
                10 => docs.shutdown(clock.at(now), Duration::from_secs(1)),
                _ => {}
            }
        }
        let pumped = docs.pump(clock.at(now), |output| match output {
            Output::Complete(done) => match done.outcome {
                Ok(Reply::Answer(answer)) => match ToolResult::parse(answer.as_str()) {
                    Ok(result) if result.is_error() => {
                        println!("         the tool failed: {}", result.text())
                    }
                    Ok(result) => println!("         {}", result.text()),
                    Err(error) => println!("         {error}"),
                },
                Ok(_) => println!("         {}ed", done.token),
                Err(failure) => println!("         {failure}"),
            },
            Output::Closed(end) => println!("         {end}"),
            _ => {}
        });
        if pumped.closed {
            return Ok(());
        }
    }
}

fn wait(poll: &mut Poll, events: &mut Events, timeout: Duration) -> io::Result<()> {
    match poll.poll(events, Some(timeout)) {
        // A signal that was handled, or that stopped and continued the process, ends a wait.
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        polled => polled,
    }
}

/// The bytes that came, each of which is a question.
fn read_commands(commands: &mut pipe::Receiver) -> io::Result<Vec<u8>> {
    let mut questions = Vec::new();
    match commands.read_to_end(&mut questions) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Ok(questions),
    }
}
