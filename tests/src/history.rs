//! Histories: sequences of commands, inputs and outputs, played on a bare session under the eyes of the checker.
//!
//! A history is plain data, so it can be drawn at random, shrunk, decoded from a fuzzer's bytes, or enumerated.

mod digest;
mod server;
mod world;

use sans_mcp::{Server, Settings, StderrMode};
use std::time::Duration;

use crate::invariants::Violation;
pub(crate) use world::World;

/// What stays the same for a whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How the server takes being closed.
    pub temper: Temper,
    /// `Conduct::Strict`.
    pub strict: bool,
    /// The process cannot be started.
    pub spawn_fails: bool,
    /// The version that the server speaks has batches.
    pub batches: bool,
    /// The server gives its tools in pages, and never says which is the last.
    pub paged: bool,
    /// The history begins with a session that was asked to connect, and whose `initialize` is answered so.
    pub handshake: Option<Answer>,
    /// Limits that three calls reach.
    pub tight: bool,
    /// The session asks the server now and then whether it is alive.
    pub health: bool,
    /// The driver may lie: [`Step::Lie`] does something.
    pub lies: bool,
}

/// How a server takes being closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    /// It exits at the end of its input.
    Meek,
    /// It exits at SIGTERM.
    Slow,
    /// It exits at SIGKILL.
    Stubborn,
    /// It does not exit.
    Immortal,
    /// It exits at SIGKILL, and leaves descendants that do not.
    Lingering,
}

/// One step of a history. Numbers that name something wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Connects.
    Connect,
    /// Calls a tool.
    Call {
        /// 0, 1: listed ones; 2: one that is listed after a change; 3: none.
        tool: u8,
        /// Deadline in milliseconds; 0: the default.
        timeout: u8,
        /// Progress extends it.
        progress: bool,
        /// Bytes of its arguments, times 16.
        size: u8,
    },
    /// Another request.
    Request(u8),
    /// Pings.
    Ping(u8),
    /// Lists the tools.
    List,
    /// Sends a notification.
    Notify,
    /// Cancels an operation; 0 is the newest.
    Cancel(u8),
    /// Answers a request of the server.
    Respond(u8),
    /// Shuts down, with a grace in milliseconds.
    Shutdown(u8),
    /// Closes.
    Close,
    /// Lets so many times 100 microseconds pass.
    Advance(u16),
    /// Time passes until what the session waits for.
    Tick,
    /// The server answers a request; 0 is the newest.
    Answer(u8, Answer),
    /// The server says something else.
    Say(Saying),
    /// The server writes on standard error.
    Complain(u8),
    /// The session gets so many bytes of what the server wrote.
    Feed(u16),
    /// The server's input takes so many bytes and is full then; 255: any number.
    Take(u8),
    /// The server closes its input.
    CloseInput,
    /// The server closes its output.
    EndOutput,
    /// The server exits; the session is told at once, or once all output was read.
    Exit(bool),
    /// The driver polls so often.
    Poll(u8),
    /// The driver polls until nothing is left.
    Drain,
    /// The driver says what is not so.
    Lie(Lie),
}

/// How the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// With a result.
    Result,
    /// With a page of tools and a cursor, or a longer result.
    More,
    /// With an error.
    Error,
    /// With an error that is a string.
    OddError,
    /// Twice.
    Twice,
    /// With the id as a string.
    StringId,
    /// With a fraction in the id.
    Fraction,
    /// With result and error.
    Both,
    /// With neither.
    Neither,
    /// Without `jsonrpc`.
    NoVersion,
    /// With null.
    Null,
    /// With a line over the limit.
    TooLong,
    /// With bytes that are no text.
    NoText,
    /// In a batch.
    Batch,
    /// With half a line.
    Half,
}

/// What else the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saying {
    /// A line that is no message.
    Noise,
    /// A line that begins a message on several lines.
    Brace,
    /// An empty line.
    Blank,
    /// The request `ping`.
    Ping,
    /// The request `roots/list`.
    Roots,
    /// A request that nobody knows.
    Unknown,
    /// A request with a null id.
    NullId,
    /// It cancels its newest request.
    CancelRoots,
    /// The list of tools has changed.
    ListChanged,
    /// Progress of a request.
    Progress(u8),
    /// So many notifications that nobody knows.
    Notifications(u8),
    /// An answer to a request that was answered before.
    Again(u8),
    /// An answer to an id that was never sent.
    Stranger,
    /// An error without an id.
    Uncorrelated,
    /// Many pings.
    Pings(u8),
}

/// What a driver may say that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lie {
    /// The process runs.
    Spawned,
    /// It cannot be started.
    SpawnFailed,
    /// It exited.
    Exited,
    /// It was reaped.
    Reaped,
    /// Nothing is left of it.
    Gone,
    /// Something is left of it.
    Left,
    /// Its input is closed.
    InputClosed,
    /// Its output ended.
    OutputEnded,
    /// So many bytes were written.
    Written(u8),
    /// Its input takes bytes.
    Writable,
    /// The signal was not permitted.
    NotPermitted,
    /// So many bytes of the read space were filled.
    Read(u8),
    /// It is an earlier time.
    Earlier,
}

impl Lie {
    /// Each number stands for one of them, and `count` is asked for where one has a count.
    pub fn numbered(number: u8, count: impl FnOnce() -> u8) -> Lie {
        match number % 13 {
            0 => Lie::Spawned,
            1 => Lie::SpawnFailed,
            2 => Lie::Exited,
            3 => Lie::Reaped,
            4 => Lie::Gone,
            5 => Lie::Left,
            6 => Lie::InputClosed,
            7 => Lie::OutputEnded,
            8 => Lie::Written(count()),
            9 => Lie::Writable,
            10 => Lie::NotPermitted,
            11 => Lie::Read(count()),
            _ => Lie::Earlier,
        }
    }
}

impl Setup {
    /// A connected session and a meek server.
    pub const PLAIN: Setup = Setup {
        temper: Temper::Meek,
        strict: false,
        spawn_fails: false,
        batches: false,
        paged: false,
        tight: false,
        health: false,
        handshake: Some(Answer::Result),
        lies: false,
    };

    /// The server's configuration: limits so small that histories reach them.
    pub fn server(self) -> Server {
        let mut settings = Settings::default();
        if self.strict {
            settings.conduct = sans_mcp::Conduct::Strict;
        }
        settings.capabilities.roots = true;
        settings.timeouts.call = Some(CALL);
        settings.timeouts.connect = Some(Duration::from_millis(40));
        settings.timeouts.peer_request = Some(Duration::from_millis(30));
        settings.timeouts.maximum = Some(Duration::from_millis(60));
        if self.health {
            settings.timeouts.health_interval = Some(Duration::from_millis(20));
            settings.timeouts.health = Some(Duration::from_millis(10));
        }
        let limits = &mut settings.limits;
        limits.line = 2 << 10;
        limits.discard = 8 << 10;
        limits.pending = 5;
        limits.parameters = 1 << 10;
        limits.send_queue = 2 << 10;
        limits.replies = 1 << 10;
        limits.peer_requests = 2;
        limits.notifications_per_second = 8;
        limits.pages = 3;
        if self.tight {
            limits.pending = 3;
            limits.send_queue = 1 << 10;
            limits.peer_requests = 1;
            limits.notifications_per_second = 2;
        }
        Server::new("history", "history").settings(settings).stderr(StderrMode::Events)
    }
}

/// Deadline of calls that have none of their own.
const CALL: Duration = Duration::from_millis(25);

/// Plays a history to its end, closing included, and gives all that came out, as text.
///
/// # Errors
/// The first thing that did not hold.
pub fn play(setup: Setup, steps: &[Step]) -> Result<Vec<String>, Violation> {
    let mut world = World::new(setup);
    world.begin()?;
    for step in steps {
        world.step(*step)?;
    }
    world.finish()
}

/// Plays a history beside the specification of a session, polling everything out after each step. Steps and setups of which the
/// specification says nothing are passed over.
///
/// # Errors
/// The first thing in which the two differ, or that did not hold.
pub fn play_against_model(setup: Setup, steps: &[Step]) -> Result<Vec<String>, Violation> {
    let setup = Setup { lies: false, ..setup };
    let handshake = setup.handshake.filter(|answer| *answer != Answer::Half);
    let mut world = World::new(Setup { handshake, ..setup }).with_model();
    world.begin()?;
    for step in steps.iter().filter(|step| !matches!(step, Step::Answer(_, Answer::Half) | Step::Lie(_))) {
        world.step(*step)?;
        world.step(Step::Drain)?;
    }
    world.finish()
}
