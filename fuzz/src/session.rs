//! A timeline of commands and of raw output: the invariants hold, and it is the same when all bytes move in pieces.
//!
//! The first bytes are the setup. Then comes one event after another: how many milliseconds after the one before, its kind,
//! and what that takes. In output, 0xfe stands for the id of the newest request that the server has not answered.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use sans_mcp::{Call, Conduct, Exit, IdMatching, PeerReply, Request, Server, Settings, StderrMode, Time};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::peer::{Act, Agenda, Child, Peer};
use sans_mcp_tests::random::Chunking;
use sans_mcp_tests::runner::Runner;
use sans_mcp_tests::scripted::{self, Scripted};
use sans_mcp_tests::trace::Trace;

use crate::source::Source;

/// Longest timeline.
const EVENTS: usize = 100;

/// Runs the target.
pub fn run(data: &[u8]) {
    // The checker reads lines into values, which have no room for these, and replies repeat what the server wrote.
    if data.windows(3).any(|window| matches!(window, [b'\\', b'u', b'd' | b'D']))
        || data.windows(20).any(is_long_number)
    {
        return;
    }
    let mut source = Source::new(data);
    let setup = Setup::read(&mut source);
    let mut events = Vec::new();
    while !source.is_empty() && events.len() < EVENTS {
        events.push(Event::read(&mut source));
    }
    // What stands behind the answer that a shutdown waits for is read or not, as it happens to be cut.
    let shuts_down = events.iter().any(|event| matches!(event.what, What::Shutdown));
    let told = |trace| told(trace, shuts_down);
    let (whole, stderr) = told(play(setup, &events, LinkOptions::default()));
    let seed = u64::from(setup.seed);
    let pieces =
        LinkOptions { seed, reads: Chunking::Pieces, writes: Chunking::Pieces, ..LinkOptions::default() };
    let (pieces, stderr_in_pieces) = told(play(setup, &events, pieces));
    let difference = whole.difference(&pieces);
    assert!(difference.is_none(), "in pieces: {difference:?}\n{setup:?}\n{events:?}\n{whole}");
    assert_eq!(stderr_in_pieces, stderr, "standard error output in pieces");
    play(setup, &events, LinkOptions::rough(seed));
}

/// Standard error output is given as it comes: only what it comes to is the same.
fn told(mut trace: Trace, only_operations: bool) -> (Trace, String) {
    let mut stderr = String::new();
    trace.host.retain(|(_, line)| {
        let piece = line.strip_prefix("stderr ");
        stderr.extend(piece);
        piece.is_none()
    });
    if only_operations {
        trace.host.retain(|(_, line)| line.starts_with("complete "));
        trace.wire.clear();
    }
    (trace, stderr)
}

fn is_long_number(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_digit)
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    bits: u8,
    exit: u8,
    seed: u8,
}

impl Setup {
    fn read(source: &mut Source<'_>) -> Setup {
        Setup { bits: source.byte(), exit: source.byte(), seed: source.byte() }
    }

    fn server(self) -> Server {
        let mut settings = Settings::default();
        if self.bits & 1 != 0 {
            settings.conduct = Conduct::Strict;
        }
        if self.bits & 2 != 0 {
            settings.id_matching = IdMatching::Decimal;
        }
        if self.bits & 4 != 0 {
            let limits = &mut settings.limits;
            (limits.line, limits.discard, limits.pending) = (1 << 10, 2 << 10, 3);
            (limits.notifications_per_second, limits.pages, limits.peer_requests) = (4, 2, 1);
        }
        settings.capabilities.roots = self.bits & 8 != 0;
        settings.timeouts.peer_request = Some(Duration::from_millis(300));
        let mode = if self.bits & 16 != 0 { StderrMode::Events } else { StderrMode::Tail };
        Server::new("session", "session").settings(settings).stderr(mode)
    }

    /// Whether the server shakes hands by itself.
    const fn is_connected(self) -> bool {
        self.bits & 32 == 0
    }
}

#[derive(Clone, Debug)]
struct Event {
    after: Duration,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Call(u8),
    Request,
    Ping,
    List,
    Cancel(u8),
    Respond(bool),
    Shutdown,
    Close,
    Connect,
    /// The server writes this.
    Say(Vec<u8>),
    Complain(u8),
    CloseOutput,
    CloseInput,
    Exit(u8),
    Fork(u8),
}

impl Event {
    fn read(source: &mut Source<'_>) -> Event {
        // A deadline is whole milliseconds after some event. What is read at the moment of one depends on what a read takes, so a
        // microsecond with each step keeps every later event off it.
        let after = match source.byte() {
            0 => Duration::ZERO,
            millis => Duration::from_micros(u64::from(millis) * 1_000 + 1),
        };
        let what = match source.byte() % 24 {
            0..=3 => What::Call(source.byte()),
            4 => What::Request,
            5 => What::Ping,
            6 => What::List,
            7 => What::Cancel(source.byte()),
            8 => What::Respond(source.flag()),
            9 => What::Shutdown,
            10 => What::Close,
            11 => What::Connect,
            12 => What::Complain(source.byte()),
            13 => What::CloseOutput,
            14 => What::CloseInput,
            15 => What::Exit(source.byte()),
            16 => What::Fork(source.byte()),
            17 => {
                let count = usize::from(source.byte());
                What::Say(source.take(count).to_vec())
            }
            _ => {
                let mut line = source.until(b'\n').to_vec();
                line.push(b'\n');
                What::Say(line)
            }
        };
        Event { after, what }
    }
}

/// A server that does what the timeline says, when it says so.
struct Planned {
    connected: bool,
    scripted: Scripted,
    exit: u8,
    plan: Rc<RefCell<VecDeque<Act>>>,
    times: Vec<Duration>,
    open: Vec<u64>,
    /// Whether it closed its output, after which it writes nothing.
    silent: bool,
}

impl Peer for Planned {
    fn start(&mut self, agenda: &mut Agenda) {
        for time in &self.times {
            agenda.act(*time, Act::Wake);
        }
    }

    fn line(&mut self, line: &[u8], agenda: &mut Agenda) {
        let message: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
        let method = message.get("method").and_then(serde_json::Value::as_str).unwrap_or_default();
        let id = message.get("id").and_then(serde_json::Value::as_u64);
        if self.connected
            && !self.silent
            && matches!(method, "initialize" | "tools/list")
            && self.open.is_empty()
        {
            self.scripted.line(line, agenda);
        } else if let (false, Some(id)) = (method.is_empty(), id) {
            self.open.push(id);
        }
    }

    fn end_of_input(&mut self, agenda: &mut Agenda) {
        if self.exit < 128 {
            agenda.exit(Duration::from_millis(u64::from(self.exit)), Exit::Code(0));
        }
    }

    fn terminate(&mut self, agenda: &mut Agenda) {
        if self.exit < 192 {
            agenda.exit(Duration::from_millis(u64::from(self.exit)), Exit::Signal(15));
        }
    }

    fn wake(&mut self, agenda: &mut Agenda) {
        let Some(act) = self.plan.borrow_mut().pop_front() else { return };
        self.silent |= matches!(act, Act::CloseOutput);
        let act = match act {
            Act::Write(_) if self.silent => return,
            Act::Write(mut bytes) => {
                let mut said = vec![0; bytes.len()];
                bytes.read(&mut said);
                Act::Write(self.with_ids(&said).into())
            }
            other => other,
        };
        agenda.act(Duration::ZERO, act);
    }
}

impl Planned {
    fn with_ids(&mut self, said: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for byte in said {
            match (*byte, self.open.last()) {
                (0xfe, Some(id)) => text.extend_from_slice(id.to_string().as_bytes()),
                _ => text.push(*byte),
            }
        }
        if said.contains(&0xfe) {
            self.open.pop();
        }
        text
    }
}

fn act(what: &What) -> Option<Act> {
    Some(match what {
        What::Say(bytes) => Act::Write(bytes.clone().into()),
        What::Complain(count) => Act::Complain(b"warning\n".repeat(usize::from(*count))),
        What::CloseOutput => Act::CloseOutput,
        What::CloseInput => Act::CloseInput,
        What::Exit(code) if code % 2 == 0 => Act::Exit(Exit::Code(i32::from(*code))),
        What::Exit(_) => Act::Exit(Exit::Signal(9)),
        What::Fork(kind) => Act::Fork(match kind % 3 {
            0 => Child::Meek,
            1 => Child::Stubborn,
            _ => Child::Escaped,
        }),
        _ => return None,
    })
}

fn play(setup: Setup, events: &[Event], options: LinkOptions) -> Trace {
    let mut time = Duration::ZERO;
    let (mut plan, mut times) = (VecDeque::new(), Vec::new());
    for event in events {
        time += event.after;
        if let Some(act) = act(&event.what) {
            plan.push_back(act);
            times.push(time);
        }
    }
    let peer = Planned {
        connected: setup.is_connected(),
        scripted: Scripted::default().listing([scripted::list(&["t", "u"])]),
        exit: setup.exit,
        plan: Rc::new(RefCell::new(plan)),
        times,
        open: Vec::new(),
        silent: false,
    };
    let mut runner = Runner::new(setup.server(), peer, options);
    runner.connect();
    runner.settle();
    let mut tokens = Vec::new();
    let mut time = Time::ZERO;
    for event in events {
        time = time + event.after;
        runner.run_for(time.since(runner.now()));
        command(&mut runner, &event.what, &mut tokens);
        runner.settle();
    }
    runner.closed();
    runner.trace()
}

fn command(runner: &mut Runner, what: &What, tokens: &mut Vec<u64>) {
    let asked = match what {
        What::Call(how) => {
            let tool = if how & 1 == 0 { "t" } else { "missing" };
            let mut call = Call::without_arguments(tool);
            if how & 2 != 0 {
                call = call.timeout(Some(Duration::from_millis(u64::from(*how))));
            }
            if how & 4 != 0 {
                call = call.progress().reset_on_progress();
            }
            if how & 8 != 0 {
                call = call.result_limit(20);
            }
            runner.call(call).ok()
        }
        What::Request => runner.request(Request::new("resources/list")).ok(),
        What::Ping => runner.ping(Some(Duration::from_millis(50))).ok(),
        What::List => runner.list().ok(),
        What::Connect => runner.try_connect().ok(),
        What::Cancel(which) => {
            let at = usize::from(*which).checked_rem(tokens.len());
            if let Some(token) = at.and_then(|at| tokens.iter().rev().nth(at)) {
                runner.cancel(*token, "not needed");
            }
            None
        }
        What::Respond(good) => {
            if let Some(request) = runner.take_request() {
                let reply = if *good {
                    PeerReply::Result(r#"{"roots":[]}"#)
                } else {
                    PeerReply::Error { code: -1, message: "no" }
                };
                let _ = runner.respond(request.handle, reply);
            }
            None
        }
        What::Shutdown => {
            runner.shutdown(Duration::from_millis(40));
            None
        }
        What::Close => {
            runner.close();
            None
        }
        _ => None,
    };
    tokens.extend(asked);
}
