//! A host with a poll of its own, as the tests need it.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use sans_mcp_mio::{
    Call, Clock, Completion, Connection, End, Failure, Output, Reply, Server, State, Time, ToolResult,
};

/// How long a fact that must come may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// What came out of a connection, owned.
#[derive(Debug)]
pub(crate) enum Seen {
    Done(u32, Result<String, Failure>),
    Progress(u32, String),
    State(State),
    Closed(End),
    /// What no test asks for.
    Other,
}

/// Some connections in one poll.
pub(crate) struct Host {
    pub(crate) poll: Poll,
    events: Events,
    pub(crate) clock: Clock,
    pub(crate) connections: Vec<Connection<u32>>,
    /// What came out of which connection and was not taken yet.
    pub(crate) seen: Vec<(usize, Seen)>,
    /// Events of tokens that no connection has.
    pub(crate) foreign: usize,
}

impl Host {
    pub(crate) fn new(servers: impl IntoIterator<Item = Server>) -> Host {
        Host::with_capacity(64, servers)
    }

    /// A host that takes so many events from the poll at a time.
    pub(crate) fn with_capacity(events: usize, servers: impl IntoIterator<Item = Server>) -> Host {
        let poll = Poll::new().expect("a poll");
        let connection = |(index, server)| {
            let registry = poll.registry().try_clone().expect("a registry");
            Connection::new(server, registry, first_token(index)).expect("valid")
        };
        let connections = servers.into_iter().enumerate().map(connection).collect();
        Host {
            poll,
            events: Events::with_capacity(events),
            clock: Clock::start(),
            connections,
            seen: Vec::new(),
            foreign: 0,
        }
    }

    /// Hosts one server and connects.
    pub(crate) fn connected(server: Server) -> Host {
        let mut host = Host::new([server]);
        host.connect(0);
        host
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn connect(&mut self, index: usize) {
        let now = self.now();
        self.connections[index].connect(now, CONNECT).expect("accepted");
        self.outcome_of(index, CONNECT).expect("connected");
    }

    pub(crate) fn call(&mut self, index: usize, call: Call, key: u32) {
        let now = self.now();
        self.connections[index].call(now, call, key).expect("accepted");
    }

    /// Waits for what became of an operation of the first server.
    pub(crate) fn outcome(&mut self, key: u32) -> Result<String, Failure> {
        self.outcome_of(0, key)
    }

    pub(crate) fn outcome_of(&mut self, index: usize, key: u32) -> Result<String, Failure> {
        self.wait((index, key), |from, seen| match seen {
            Seen::Done(done, outcome) if (from, done) == (index, key) => Ok(outcome),
            other => Err(other),
        })
    }

    /// Calls the first server and waits for the text.
    pub(crate) fn text(&mut self, tool: &str, arguments: &str) -> String {
        self.call(0, Call::new(tool, arguments), TEXT);
        self.outcome(TEXT).expect("answered")
    }

    /// Closes one connection and waits for its end.
    pub(crate) fn close(&mut self, index: usize) -> End {
        let now = self.now();
        self.connections[index].close(now);
        self.end(index)
    }

    pub(crate) fn end(&mut self, index: usize) -> End {
        self.wait("the end", |from, seen| match seen {
            Seen::Closed(end) if from == index => Ok(end),
            other => Err(other),
        })
    }

    /// Turns until something comes that `fact` takes; what it gives back stays.
    pub(crate) fn wait<T>(
        &mut self,
        what: impl Debug,
        mut fact: impl FnMut(usize, Seen) -> Result<T, Seen>,
    ) -> T {
        let start = Instant::now();
        let mut kept = Vec::new();
        loop {
            let mut news = std::mem::take(&mut self.seen).into_iter();
            while let Some((index, seen)) = news.next() {
                match fact(index, seen) {
                    Ok(fact) => {
                        self.seen = kept;
                        self.seen.extend(news);
                        return fact;
                    }
                    Err(seen) => kept.push((index, seen)),
                }
            }
            assert!(start.elapsed() < LIMIT, "{what:?} did not come");
            self.turn(LIMIT);
        }
    }

    /// One turn of the loop, which waits for `most` at most.
    pub(crate) fn turn(&mut self, most: Duration) {
        let now = self.now();
        let timeouts = self.connections.iter().filter_map(|connection| connection.timeout(now));
        let timeout = timeouts.min().unwrap_or(most).min(most);
        self.poll.poll(&mut self.events, Some(timeout)).expect("a working poll");
        for event in &self.events {
            let mut own = 0;
            for connection in &mut self.connections {
                own += usize::from(connection.handle_event(event));
            }
            assert!(own <= 1, "an event belongs to one connection");
            self.foreign += 1 - own;
        }
        self.pump();
    }

    pub(crate) fn pump(&mut self) {
        let now = self.now();
        for (index, connection) in self.connections.iter_mut().enumerate() {
            connection.pump(now, |output| self.seen.push((index, owned(output))));
        }
    }
}

const CONNECT: u32 = u32::MAX;
const TEXT: u32 = u32::MAX - 1;

pub(crate) fn first_token(index: usize) -> Token {
    Token(10 + index * Connection::<u32>::TOKENS)
}

fn owned(output: Output<'_, u32>) -> Seen {
    match output {
        Output::Complete(Completion { token, outcome, .. }) => Seen::Done(token, outcome.map(text)),
        Output::Progress(progress) => Seen::Progress(*progress.token, progress.params.to_owned()),
        Output::State(state) => Seen::State(state),
        Output::Closed(end) => Seen::Closed(end.clone()),
        Output::Request(_)
        | Output::RequestCancelled(_)
        | Output::Notification(_)
        | Output::Stderr(_)
        | Output::Diagnostic(_) => Seen::Other,
        other => panic!("the driver carries this out: {other:?}"),
    }
}

/// The text of a tool's answer; another answer as it is.
fn text(reply: Reply<'_>) -> String {
    match reply {
        Reply::Connected => "connected".to_owned(),
        Reply::Listed => "listed".to_owned(),
        Reply::Answer(answer) => match ToolResult::parse(answer.as_str()) {
            Ok(result) if result.content().next().is_some() => result.text().into_owned(),
            _ => answer.as_str().to_owned(),
        },
    }
}

/// The fixture server, which cargo has built as an example of this crate.
pub(crate) fn fixture(switches: &[&str]) -> Server {
    let tests = std::env::current_exe().expect("a test has a file");
    let built = tests.parent().and_then(Path::parent).expect("deps");
    let program = built.join("examples/fixture-server");
    assert!(program.exists(), "build the examples first: cargo build -p sans-mcp-mio --examples");
    Server::new("fixture", program.to_str().expect("a path in UTF-8")).args(switches.iter().copied())
}

/// A server that shakes hands, lists the tool `count`, and then does what `steps` say in shell. `answer` in them answers
/// one request with a result.
pub(crate) fn scripted(steps: &str) -> Server {
    const START: &str = r#"
        answer() {
            read -r line
            id=${line#*\"id\":}
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "${id%%,*}" "$1"
        }
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"0"}}'
        read -r initialized
        gives='{"type":"object","properties":{"n":{"type":"integer"}}}'
        answer '{"tools":[{"name":"count","inputSchema":{"type":"object"},"outputSchema":'"$gives"'}]}'
        "#;
    Server::new("shell", "/bin/sh").allow_shell().args(["-c".to_owned(), START.to_owned() + steps])
}

pub(crate) fn echo(value: &str) -> Call {
    Call::new("echo", format!(r#"{{"value":"{value}"}}"#))
}

pub(crate) fn slow_echo(value: &str, milliseconds: u32) -> Call {
    Call::new("echo", format!(r#"{{"value":"{value}","delay":{milliseconds}}}"#))
}

/// Whether a process runs; a zombie does not.
pub(crate) fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z' | 'X'))
}

/// Whether some process was started with this argument and is not reaped.
pub(crate) fn is_argument_of_a_process(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("Linux").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes()))
}

/// Waits until a fact holds that no event tells.
pub(crate) fn eventually(what: &str, mut fact: impl FnMut() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < LIMIT, "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How long a process may outlive its connection: half a second, and what a busy machine may add.
const GONE: Duration = Duration::from_secs(1);

/// Waits until a process is gone, as one that nobody waits for is a moment after it was killed.
pub(crate) fn assert_gone(pid: u32) {
    let start = Instant::now();
    while is_running(pid) {
        assert!(start.elapsed() < GONE, "process {pid} is left");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A file that does not exist yet, and is removed in the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Scratch(std::env::temp_dir().join(format!("sans-mcp-mio-{}-{number}", std::process::id())))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
