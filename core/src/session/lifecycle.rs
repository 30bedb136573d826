//! The life of a session as a table: phases, events, and what each pair leads to.
//!
//! All transitions are here and nowhere else. The table is total: a pair that is not listed changes nothing.

use crate::output::State;
use crate::process::Signal;

/// Where a session stands on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing was started.
    New,
    /// The driver was asked to start the process.
    Spawning,
    /// Closed while the process is being started: what comes is killed.
    Aborting,
    /// The process runs; `initialize` is not answered yet.
    Initializing,
    /// Connected.
    Ready,
    /// Accepted calls finish, new ones are refused.
    Draining,
    /// The server exited or ended its output; the other of the two is waited for.
    Losing,
    /// Its input is closed; it may leave by itself.
    Leaving,
    /// It got SIGTERM.
    Terminating,
    /// Its group got SIGKILL.
    Killing,
    /// The leader was seen to have exited; its status is being taken.
    Reaping,
    /// The status was taken; the group is being looked at.
    Probing,
    /// Over.
    Closed,
}

/// What can happen to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The host connects.
    Connect,
    /// The process runs.
    Spawned,
    /// The process could not be started.
    SpawnFailed,
    /// The answer to `initialize` was accepted.
    Initialized,
    /// The host asked to finish accepted calls and then close.
    Shutdown,
    /// Nothing is awaited any more.
    Drained,
    /// The host asked to close.
    Close,
    /// The handshake went wrong, or the server did what is not tolerated.
    Fault,
    /// The server's output ended.
    OutputEnded,
    /// The leader was seen to have exited.
    Exited,
    /// The exit is certain and all output was read, or given up on.
    Lost,
    /// The output ended, and no exit was seen in time.
    Silenced,
    /// The time of this phase is over.
    Deadline,
    /// The status was taken.
    Reaped,
    /// Nothing is left of the process tree.
    TreeGone,
    /// Something is left, or it is not known.
    TreeLeft,
}

/// What a transition makes the session do, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the driver to start the process.
    Spawn,
    /// Send `initialize`.
    SendInitialize,
    /// Send `notifications/initialized`.
    SendInitialized,
    /// Settle every pending operation with the cause of the end.
    Settle,
    /// Close the server's input.
    CloseStdin,
    /// Signal the group.
    Signal(Signal),
    /// Take the status of the leader.
    Reap,
    /// Look at the group.
    Probe,
}

use Action::{CloseStdin, Probe, Reap, SendInitialize, SendInitialized, Settle, Spawn};
use Phase::{
    Aborting, Closed, Draining, Initializing, Killing, Leaving, Losing, New, Probing, Ready, Reaping,
    Spawning, Terminating,
};

const TERMINATE: Action = Action::Signal(Signal::Terminate);
const KILL: Action = Action::Signal(Signal::Kill);

impl Phase {
    /// Every phase, in the order of a life.
    pub const ALL: [Phase; 13] = [
        New,
        Spawning,
        Aborting,
        Initializing,
        Ready,
        Draining,
        Losing,
        Leaving,
        Terminating,
        Killing,
        Reaping,
        Probing,
        Closed,
    ];

    /// What the host sees of it.
    pub const fn state(self) -> State {
        match self {
            New => State::New,
            Spawning | Initializing => State::Connecting,
            Ready => State::Ready,
            Draining => State::Draining,
            Aborting | Losing | Leaving | Terminating | Killing | Reaping | Probing => State::Closing,
            Closed => State::Closed,
        }
    }
}

impl Event {
    /// Every event.
    pub const ALL: [Event; 16] = [
        Event::Connect,
        Event::Spawned,
        Event::SpawnFailed,
        Event::Initialized,
        Event::Shutdown,
        Event::Drained,
        Event::Close,
        Event::Fault,
        Event::OutputEnded,
        Event::Exited,
        Event::Lost,
        Event::Silenced,
        Event::Deadline,
        Event::Reaped,
        Event::TreeGone,
        Event::TreeLeft,
    ];
}

/// Where `event` leads from `phase`, and what is done on the way; `None` where it changes nothing.
///
/// A leader that was seen to have exited gets its group killed first and is reaped then; after that no signal is sent to
/// that number. A handshake that fails is ended by SIGKILL at once: the server has not accepted any work yet.
pub const fn transition(phase: Phase, event: Event) -> Option<(Phase, &'static [Action])> {
    Some(match (phase, event) {
        (New, Event::Connect) => (Spawning, &[Spawn]),
        (New, Event::Close | Event::Shutdown) => (Closed, &[Settle]),

        (Spawning, Event::Spawned) => (Initializing, &[SendInitialize]),
        (Spawning | Aborting, Event::SpawnFailed) => (Closed, &[Settle]),
        (Spawning, Event::Close | Event::Shutdown | Event::Fault | Event::Deadline) => (Aborting, &[Settle]),
        (Aborting, Event::Spawned) => (Killing, &[CloseStdin, KILL]),

        (Initializing, Event::Initialized) => (Ready, &[SendInitialized]),
        (Initializing, Event::Fault | Event::Deadline) => (Killing, &[Settle, CloseStdin, KILL]),

        (Ready, Event::Shutdown) => (Draining, &[]),
        (Initializing | Ready | Draining, Event::Close)
        | (Initializing, Event::Shutdown)
        | (Draining, Event::Drained | Event::Deadline) => (Leaving, &[Settle, CloseStdin]),
        (Ready | Draining, Event::Fault) => (Terminating, &[Settle, CloseStdin, TERMINATE]),
        (Initializing | Ready | Draining, Event::OutputEnded | Event::Exited) => (Losing, &[]),

        (Losing, Event::Lost) => (Reaping, &[Settle, CloseStdin, KILL, Reap]),
        (Losing, Event::Silenced) => (Leaving, &[Settle, CloseStdin]),

        (Leaving, Event::Deadline) => (Terminating, &[TERMINATE]),
        (Terminating, Event::Deadline) => (Killing, &[KILL]),
        (Leaving | Terminating | Killing, Event::Exited) => (Reaping, &[KILL, Reap]),
        (Reaping, Event::Reaped) => (Probing, &[Probe]),
        (Probing, Event::TreeLeft) => (Probing, &[]),
        (Probing, Event::TreeGone) | (Killing | Reaping | Probing, Event::Deadline) => (Closed, &[]),

        _ => return None,
    })
}

#[cfg(test)]
mod tests;
