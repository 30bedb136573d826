//! Everything that comes out of a session.

mod answer;
mod diagnostic;

pub use answer::{Answer, Payload, Reply};
pub(crate) use answer::{Lent, ResultCheck};
pub use diagnostic::{Diagnostic, DiagnosticKind};

use std::time::Duration;

use crate::error::{End, Failure};
use crate::handle::{Handle, PeerHandle};
use crate::process::Signal;
use crate::time::Time;

/// What the session wants done or known next: the only way out of it.
///
/// A driver polls until it gets [`Output::Wait`] or [`Output::Closed`]. Nothing is lost when it stops earlier: the
/// next poll goes on. The enum is exhaustive on purpose, so that a new kind of output breaks every driver at compile
/// time.
#[must_use = "an output that is dropped is lost: a caller waits for it, or the process does"]
#[derive(Debug)]
pub enum Output<'a, T> {
    /// Start the process of [`Session::server`](crate::Session::server), then say `handle_spawned` or
    /// `handle_spawn_failed`.
    Spawn,
    /// An operation ended: its token comes back, exactly once (row L10).
    Complete(Completion<'a, T>),
    /// The server asks the host something; answer with [`Session::respond`](crate::Session::respond) (row L26).
    Request(PeerRequest<'a>),
    /// The server's request of this number needs no answer any more.
    RequestCancelled(u64),
    /// A call that asked for progress events made progress.
    Progress(Progress<'a, T>),
    /// The server told the host something.
    Notification(Notification<'a>),
    /// Standard error output, secrets removed; only with `StderrMode::Events`.
    Stderr(&'a [u8]),
    /// Something odd that settled no call; bounded in size and in rate.
    Diagnostic(Diagnostic),
    /// The session entered this state.
    State(State),
    /// Write these bytes to the server's input, then say `handle_written` with how many went. It is an offer: only
    /// `handle_written` consumes it.
    Write(&'a [u8]),
    /// Close the server's input, then say `handle_stdin_closed`.
    CloseStdin,
    /// Send this signal to the server's process group, then say `handle_signalled`.
    Signal(Signal),
    /// Take the exit status of the leader, which was seen to have exited, then say `handle_reaped`.
    Reap,
    /// Find out what is left of the process tree, then say `handle_tree`.
    ProbeTree,
    /// Nothing to do before `until`, or before the next input where it is `None`. It is strictly later than the latest
    /// time the session was told.
    Wait {
        /// When to call `handle_timeout`.
        until: Option<Time>,
        /// What happens then.
        why: Why,
    },
    /// The session is over; every later poll says so again.
    Closed(&'a End),
}

/// What happens at the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// Nothing: only an input or a command will change something.
    Idle,
    /// A call meets its deadline.
    Call,
    /// The server's request meets its deadline.
    PeerRequest,
    /// The handshake meets its deadline.
    Connect,
    /// A health check is due.
    Health,
    /// The grace of a shutdown ends.
    Grace,
    /// Exit or end of output is given up on.
    Loss,
    /// The next step of the close ladder is due.
    Ladder,
    /// The process group is looked at again.
    Probe,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Not connected yet.
    New,
    /// The process is being started, or the handshake is under way.
    Connecting,
    /// Connected: calls are accepted.
    Ready,
    /// Shutting down: accepted calls finish, new ones are refused.
    Draining,
    /// Closing: every call is settled, the process is being ended.
    Closing,
    /// Over.
    Closed,
}

impl State {
    /// The name used in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::New => "new",
            State::Connecting => "connecting",
            State::Ready => "ready",
            State::Draining => "draining",
            State::Closing => "closing",
            State::Closed => "closed",
        }
    }
}

/// The end of one operation.
#[derive(Debug)]
pub struct Completion<'a, T> {
    /// Which operation.
    pub handle: Handle,
    /// What the caller handed in.
    pub token: T,
    /// What became of it.
    pub outcome: Result<Reply<'a>, Failure>,
    /// Time from acceptance to now.
    pub elapsed: Duration,
}

/// A request of the server for the host.
#[derive(Debug)]
pub struct PeerRequest<'a> {
    /// Answer with this.
    pub handle: PeerHandle,
    /// The method: one of those the host declared.
    pub method: &'static str,
    /// Its parameters as raw JSON.
    pub params: Option<&'a str>,
}

/// Progress of one call.
#[derive(Debug)]
pub struct Progress<'a, T> {
    /// Which call.
    pub handle: Handle,
    /// What the caller handed in.
    pub token: &'a T,
    /// The parameters of the notification as raw JSON: `progress`, and if sent `total` and `message`.
    pub params: &'a str,
}

/// A notification of the server for the host.
#[derive(Debug)]
pub struct Notification<'a> {
    /// The method: one whose capability the server offered.
    pub method: &'static str,
    /// Its parameters as raw JSON.
    pub params: Option<&'a str>,
}
