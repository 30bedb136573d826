//! One client, one server process: the machine.

mod admission;
mod answers;
mod catalog;
mod commands;
mod diagnose;
#[cfg(feature = "explore")]
mod digest;
mod handshake;
mod health;
mod inputs;
pub mod lifecycle;
mod noise;
mod notifications;
mod peer;
mod poll;
mod receive;
mod settle;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{ConfigError, Server};
use crate::counters::{Counters, Latencies};
use crate::error::{Cause, Circumstances, End, Failure};
use crate::link::Link;
use crate::output::{Diagnostic, ResultCheck, State};
use crate::process::{Exit, Signal, Tree};
use crate::pump::Pumping;
use crate::rate::Window;
use crate::redact::Redactor;
use crate::rpc::{Pending, Settled};
use crate::stderr::Collector;
use crate::time::Time;
use crate::tool::{Call, Options, Tool};
use crate::wire::lines::LineBuffer;
use catalog::Tools;
use diagnose::Diagnostics;
use handshake::Peer;
use health::Health;
use lifecycle::{Action, Phase};
use noise::Noise;
use peer::PeerRequests;

pub use handshake::{ServerCapabilities, ServerInfo};
pub use peer::PeerReply;

/// The largest handle (row L07). A peer that reads numbers as doubles can echo ids below 2^53; between the two there is room
/// for what the last accepted calls still need: at most 2^24 pages of a walk, and one id for each of 2^24 calls that wait
/// for it.
const LAST_ID: u64 = (1 << 53) - (1 << 25) - 1;

/// The client side of one conversation with one server process.
///
/// It does no I/O and reads no clock. A driver records facts with the `handle_…` methods, which never fail and may come in
/// any order; a host gives commands, which answer at once or give everything back; and everything that is to be
/// done or known comes out of [`Session::poll_output`].
///
/// `T` is whatever the driver needs to answer its caller. It is moved in with a command and moved out with the one completion of
/// that command, and never cloned.
///
/// ```
/// use sans_mcp::{Output, Server, Session, State, Time};
///
/// let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
/// session.connect(Time::ZERO, "connect").unwrap();
/// assert!(matches!(session.poll_output(), Output::State(State::Connecting)));
/// assert!(matches!(session.poll_output(), Output::Spawn));
/// session.handle_spawned(Time::ZERO, 4242);
/// let Output::Write(bytes) = session.poll_output() else { panic!("initialize is written first") };
/// assert!(bytes.starts_with(br#"{"jsonrpc":"2.0","id":"#));
/// # Ok::<(), sans_mcp::ConfigError>(())
/// ```
#[cfg_attr(feature = "explore", derive(Clone))]
pub struct Session<T> {
    lines: LineBuffer,
    cursor: Cursor,
    /// Where output goes that means nothing any more, and whether the last read space was this.
    discard: Vec<u8>,
    discards: bool,
    /// How much came there so far.
    drained: usize,
    pub(crate) pumping: Pumping,
    /// Standard error output that was lent by the last poll.
    lent_stderr: Vec<u8>,
    machine: Machine<T>,
}

/// Where reading stands within the current line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// The next line is to be fetched.
    Between,
    /// More messages stand in the line from this byte on.
    Messages(usize),
    /// More elements of a batch stand in the line from this byte on.
    Batch(usize),
}

/// Everything but the bytes that are being read.
#[cfg_attr(feature = "explore", derive(Clone))]
struct Machine<T> {
    server: Server,
    name: Arc<str>,
    instance: u64,
    redactor: Redactor,
    now: Time,

    phase: Phase,
    phase_until: Option<Time>,
    /// The state before the end began: what a failure report names.
    busy_with: State,
    /// When killing, reaping and proving must be over.
    gone_by: Option<Time>,
    /// The group is looked at again.
    probe_at: Option<Time>,
    actions: VecDeque<Action>,
    /// Why it ends, if not because the host asked for it.
    cause: Option<Cause>,
    settling: bool,
    exit: Option<Exit>,
    output_ended: bool,
    /// The server closed its input before it had read the whole handshake.
    input_lost: bool,
    tree: Tree,
    signal_refused: bool,
    end: Option<End>,

    next_id: u64,
    settled: Settled,
    pending: Pending<Owner<T>, Waiting>,
    /// Operations whose request goes under another number than their handle.
    renamed: BTreeMap<u64, u64>,
    /// Bytes of calls that wait for a catalog.
    waiting_bytes: usize,
    link: Link,
    ready: VecDeque<Step<T>>,

    /// From the first connect until those who wait for it are told, the listing included.
    connecting: bool,
    initialize: Option<u64>,
    peer: Option<Peer>,
    tools: Tools,
    peer_requests: PeerRequests,
    health: Health,

    notifications: Window,
    noise: Noise,
    diagnostics: Diagnostics,
    counters: Counters,
    latencies: Latencies,
    stderr: Collector,
    stderr_stream: crate::redact::Stream,
    stderr_events: Vec<u8>,
    circumstances: Option<Arc<Circumstances>>,
}

/// Who a pending entry belongs to.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
enum Owner<T> {
    Caller(Caller<T>),
    Initialize,
    Page,
    Health,
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
struct Caller<T> {
    token: T,
    tool: Option<Arc<Tool>>,
    wants_progress: bool,
    result_limit: usize,
}

impl<T> Caller<T> {
    fn new(token: T, options: &Options) -> Caller<T> {
        Caller {
            token,
            tool: None,
            wants_progress: options.tells_progress(),
            result_limit: options.result_limit().unwrap_or(usize::MAX),
        }
    }

    fn plain(token: T) -> Caller<T> {
        Caller { token, tool: None, wants_progress: false, result_limit: usize::MAX }
    }
}

/// What an entry without a request of its own waits for.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
enum Waiting {
    Connected,
    Listed,
    /// A tool that may be in the catalog once it is fetched anew.
    Tool(Box<Call>),
    /// Nothing any more: the catalog came, and the call cannot be made.
    Nothing,
}

/// An output before its bytes are lent.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
enum Step<T> {
    Complete { handle: u64, token: T, outcome: Result<Given, Failure>, elapsed: Duration },
    Request { handle: u64, method: &'static str, params: Option<Range<usize>> },
    RequestCancelled(u64),
    Progress { id: u64, params: Range<usize> },
    Notification { method: &'static str, params: Option<Range<usize>> },
    Diagnostic(Diagnostic),
    State(State),
    Stderr,
    Spawn,
    Write,
    CloseStdin,
    Signal(Signal),
    Reap,
    ProbeTree,
    Wait { until: Option<Time>, why: crate::output::Why },
    Closed,
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
enum Given {
    Connected,
    Listed,
    Answer { span: Range<usize>, check: Option<Box<ResultCheck>> },
}

impl<T> Session<T> {
    /// A session for `server`; nothing is started before [`Session::connect`].
    ///
    /// # Errors
    /// What [`Server::check`] finds.
    pub fn new(server: Server) -> Result<Session<T>, ConfigError> {
        server.check()?;
        let limits = &server.settings.limits;
        let redactor = Redactor::new(server.secrets.iter().map(|(_, secret)| secret.expose()));
        let name: Arc<str> = server.name.as_str().into();
        let machine = Machine {
            instance: 0,
            now: Time::ZERO,
            phase: Phase::New,
            phase_until: None,
            busy_with: State::New,
            gone_by: None,
            probe_at: None,
            actions: VecDeque::new(),
            cause: None,
            settling: false,
            exit: None,
            output_ended: false,
            input_lost: false,
            tree: Tree::Gone,
            signal_refused: false,
            end: None,
            next_id: 1,
            settled: Settled::new(1),
            pending: Pending::new(),
            renamed: BTreeMap::new(),
            waiting_bytes: 0,
            link: Link::new(limits.replies),
            ready: VecDeque::new(),
            connecting: false,
            initialize: None,
            peer: None,
            tools: Tools::default(),
            peer_requests: PeerRequests::default(),
            health: Health::default(),
            notifications: Window::new(limits.notifications_per_second, limits.notification_bytes_per_second),
            noise: Noise::new(limits),
            diagnostics: Diagnostics::new(name.clone()),
            counters: Counters::default(),
            latencies: Latencies::default(),
            stderr: Collector::new(limits.stderr_tail, &redactor),
            stderr_stream: redactor.stream(),
            stderr_events: Vec::new(),
            circumstances: None,
            redactor,
            name,
            server,
        };
        let limits = &machine.server.settings.limits;
        let lines = LineBuffer::new(limits.line, limits.discard);
        Ok(Session {
            lines,
            cursor: Cursor::Between,
            discard: Vec::new(),
            discards: false,
            drained: 0,
            pumping: Pumping::NEW,
            lent_stderr: Vec::new(),
            machine,
        })
    }

    /// Gives this session a number by which logs tell it from other sessions of the same server (row L29).
    #[must_use]
    pub fn with_instance(mut self, instance: u64) -> Session<T> {
        self.machine.instance = instance;
        self
    }

    /// Gives back the tokens of all operations that are still open, when a session is dropped without having been closed.
    pub fn into_tokens(self) -> impl Iterator<Item = T> {
        let ready = self.machine.ready.into_iter().filter_map(|step| match step {
            Step::Complete { token, .. } => Some(token),
            _ => None,
        });
        let pending = self.machine.pending.into_entries().filter_map(|entry| match entry.owner {
            Owner::Caller(caller) => Some(caller.token),
            Owner::Initialize | Owner::Page | Owner::Health => None,
        });
        ready.chain(pending)
    }
}

impl<T> fmt::Debug for Session<T> {
    /// Names the session and where it stands; nothing of what the server sent or the caller handed in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        f.debug_struct("Session")
            .field("server", &machine.name)
            .field("instance", &machine.instance)
            .field("phase", &machine.phase)
            .field("pending", &machine.pending.len())
            .finish_non_exhaustive()
    }
}

impl<T> Machine<T> {
    /// Moves time on; a time that is behind changes nothing.
    fn at(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    fn issue_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.settled.issue();
        id
    }
}

#[cfg(test)]
mod tests;
