//! What a seed decides: how the pipes cut and hold up, what the server does, and what the host asks for when.

use std::time::Duration;

use sans_mcp::{Exit, Server};
use sans_mcp_tests::history::Setup;
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::peer::{Act, Agenda, Child, Peer};
use sans_mcp_tests::random::{Chunking, Random};
use sans_mcp_tests::scripted::{Said, Scripted};

/// The step of time in which everything happens: tokio's timers know no smaller one.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// One thing that the host does. Calls and requests have a token of their own, in the order of the script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    Connect,
    Call {
        /// 0, 1: listed ones; 2: none.
        tool: usize,
        timeout: Option<Duration>,
        progress: bool,
        /// Bytes of its arguments.
        size: usize,
    },
    Request,
    Ping,
    List,
    Notify,
    /// Cancels what was accepted so long ago; 0 is the newest.
    Cancel(usize),
    Shutdown(Duration),
    Close,
}

/// The host's side: what it does, and how long after its start. The last one is a close.
pub(crate) fn commands(seed: u64) -> Vec<(Duration, Command)> {
    let mut random = Random::new(seed ^ 0xc0_44_a4_d5);
    let mut at = Duration::ZERO;
    let mut commands = vec![(at, Command::Connect)];
    if !random.one_in(4) {
        at += TICK * random.below(120) as u32;
    }
    for _ in 0..random.below(40) {
        at += TICK * u32::try_from(random.below(9)).unwrap_or_default();
        let command = match random.below(24) {
            0..12 => Command::Call {
                tool: random.below(5).min(2),
                timeout: random.one_in(2).then(|| TICK * (1 + random.below(20)) as u32),
                progress: random.one_in(3),
                size: if random.one_in(3) { random.below(1_100) } else { random.below(40) },
            },
            12 => Command::Connect,
            13..15 => Command::Request,
            15..17 => Command::Ping,
            17..19 => Command::List,
            19 => Command::Notify,
            20..23 => Command::Cancel(random.below(4)),
            _ if random.one_in(8) => Command::Shutdown(TICK * random.below(60) as u32),
            _ if random.one_in(8) => Command::Close,
            _ => Command::Cancel(0),
        };
        commands.push((at, command));
    }
    at += TICK * u32::try_from(random.below(120)).unwrap_or_default();
    commands.push((at, Command::Close));
    commands
}

/// The pipes.
pub(crate) fn options(seed: u64) -> LinkOptions {
    let mut random = Random::new(seed ^ 0x9199);
    let mut cut = || match random.below(6) {
        0 => Chunking::Bytes,
        1 => Chunking::Whole,
        _ => Chunking::Pieces,
    };
    LinkOptions {
        seed,
        reads: cut(),
        writes: cut(),
        blocks: !random.one_in(4),
        gaps: !random.one_in(4),
        tick: TICK * (1 + random.below(3)) as u32,
        signals_forbidden: random.one_in(40),
        foreign_reaper: random.one_in(20),
        ..LinkOptions::default()
    }
}

/// Limits so small that they are reached.
pub(crate) fn server() -> Server {
    let mut server = Setup::PLAIN.server();
    server.settings.timeouts.connect = Some(TICK * 300);
    server
}

/// The server's side.
pub(crate) fn peer(seed: u64) -> impl Peer {
    let mut random = Random::new(seed ^ 0x5e_4f);
    // Some servers are nearly in order, some are mad.
    let sanity = [200, 12, 6, 3][random.below(4)];
    let (stays, stubborn) = (random.one_in(6), random.one_in(2));
    let server = Scripted::on(move |said, agenda| {
        let later = TICK * random.below(30) as u32;
        aside(&mut random, sanity, agenda);
        if said.id.is_null() || said.method.is_empty() {
            return false;
        }
        if said.method == "tools/call" && random.one_in(2) {
            progress(said, agenda);
            let size = if random.one_in(12) { 2_500 } else { random.below(500) };
            agenda.write(later, format!("{}\n", said.text(&"x".repeat(size))).as_str());
            return true;
        }
        random.one_in(sanity) && oddly(&mut random, said, agenda, later)
    });
    Tempered { server, stays, stubborn }
}

/// A server that need not leave when it is asked to.
struct Tempered {
    server: Scripted,
    stays: bool,
    stubborn: bool,
}

impl Peer for Tempered {
    fn line(&mut self, line: &[u8], agenda: &mut Agenda) {
        self.server.line(line, agenda);
    }

    fn end_of_input(&mut self, agenda: &mut Agenda) {
        if !self.stays {
            self.server.end_of_input(agenda);
        }
    }

    fn terminate(&mut self, agenda: &mut Agenda) {
        if !self.stubborn {
            self.server.terminate(agenda);
        }
    }
}

/// Tells of progress, if that was asked for.
fn progress(said: &Said, agenda: &mut Agenda) {
    if let Some(token) = said.params.get("_meta").and_then(|meta| meta.get("progressToken")) {
        agenda.say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        ));
    }
}

/// What a server may do whatever it was asked.
fn aside(random: &mut Random, sanity: usize, agenda: &mut Agenda) {
    let soon = TICK * random.below(8) as u32;
    if random.one_in(5) {
        match random.below(5) {
            0 => agenda.complain("warning: \u{2603}\n"),
            1 => agenda.say(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#),
            2 => agenda.say(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
            3 => agenda.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#),
            _ => agenda
                .write(soon, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n"),
        }
    }
    if !random.one_in(sanity * 3) {
        return;
    }
    match random.below(9) {
        0 => agenda.say("no message"),
        1 => agenda.say(&"y".repeat(3_000)),
        2 => agenda.act(soon, Act::CloseOutput),
        3 => agenda.act(soon, Act::CloseInput),
        4 | 5 => {
            agenda.act(soon, Act::StopReading);
            agenda.act(soon + TICK * random.below(40) as u32, Act::Read);
        }
        6 => agenda.act(soon, Act::Fork([Child::Meek, Child::Stubborn, Child::Escaped][random.below(3)])),
        7 => agenda.exit(soon, Exit::Code(3)),
        _ => agenda.say(r#"{"jsonrpc":"2.0","id":99999,"result":{}}"#),
    }
}

/// How a server may answer that is not in order. False: it answers as it should.
fn oddly(random: &mut Random, said: &Said, agenda: &mut Agenda, later: Duration) -> bool {
    match random.below(8) {
        // Never.
        0 => {}
        1 => agenda.say(&said.error(-32_000, "no")),
        2 if said.method == "tools/call" => {
            agenda.say(&said.text("once"));
            agenda.write(later, format!("{}\n", said.text("twice")).as_str());
        }
        3 => agenda.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":1,"error":{{}}}}"#, said.id)),
        4 => agenda.say(&format!(r#"{{"jsonrpc":"2.0","id":"{}","result":{{}}}}"#, said.id)),
        5 => agenda.write(later, format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"resu", said.id).as_str()),
        _ => return false,
    }
    true
}
