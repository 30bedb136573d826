//! What of a session its outputs depend on, for exhaustive search.

use super::handshake::Peer;
use super::lifecycle::{Action, Phase};
use super::{Caller, Cursor, Given, Machine, Owner, Session, Step, Waiting};
use crate::digest::{Canonical, Digest, digest_debug, digest_fields};
use crate::error::{Cause, End};
use crate::output::State;
use crate::process::{Exit, Tree};

impl Session<u64> {
    /// A canonical form of this session: whatever has the same one gives the same outputs from then on, times counted from
    /// now. Counters are not in it, since no output depends on them.
    #[doc(hidden)]
    pub fn digest(&self) -> Vec<u8> {
        self.canonical().into_bytes()
    }

    fn canonical(&self) -> Canonical {
        let mut into = Canonical::new(self.machine.now);
        Digest::digest(self, &mut into);
        into.number(u64::from(self.machine.circumstances_are_stale()));
        into
    }
}

impl<T> Machine<T> {
    /// Whether failures would report what is not so any more: what they report is made from other fields, and kept.
    fn circumstances_are_stale(&self) -> bool {
        self.circumstances.as_ref().is_some_and(|known| {
            known.version != self.peer.as_ref().map(|peer| peer.version)
                || known.phase != self.busy_with.as_str()
                || known.exit != self.exit
                || !self.stderr.is_newest(&known.stderr)
        })
    }
}

// What a run of the pump leaves to the next one is the driver's.
digest_fields!(<T> Session { lines, cursor, discards, drained, machine } leaves out { discard, pumping, lent_stderr });

digest_fields!(<T> Machine {
    phase, phase_until, busy_with, gone_by, probe_at, actions, cause, settling, exit, output_ended, input_lost, tree,
    signal_refused, end, next_id, settled, pending, renamed, waiting_bytes, link, ready, connecting, initialize, peer,
    tools, peer_requests, health, notifications, noise, diagnostics, stderr, stderr_stream, stderr_events,
} leaves out { server, name, instance, redactor, now, counters, latencies, circumstances });

digest_fields!(<T> Caller { token, tool, wants_progress, result_limit } leaves out {});

impl<T: Digest> Digest for Owner<T>
where
    Caller<T>: Digest,
{
    fn digest(&self, into: &mut Canonical) {
        match self {
            Owner::Caller(caller) => {
                into.number(0);
                caller.digest(into);
            }
            Owner::Initialize => into.number(1),
            Owner::Page => into.number(2),
            Owner::Health => into.number(3),
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if let Owner::Caller(caller) = self {
            caller.alter(place);
        }
        if place.is_here() {
            *self = if matches!(self, Owner::Page) { Owner::Health } else { Owner::Page };
        }
    }
}

digest_debug!(Cursor: Cursor::Between, Cursor::Messages(1));
digest_debug!(Phase: Phase::New, Phase::Closed);
digest_debug!(State: State::New, State::Closed);
digest_debug!(Action: Action::Spawn, Action::Reap);
digest_debug!(Cause: Cause::Closed, Cause::OutputEnded);
digest_debug!(Exit: Exit::Unknown, Exit::Code(0));
digest_debug!(Tree: Tree::Gone, Tree::Unknown);
digest_debug!(Waiting: Waiting::Connected, Waiting::Listed);

impl<T: Digest + std::fmt::Debug> Digest for Step<T> {
    fn digest(&self, into: &mut Canonical) {
        match self {
            Step::Complete { handle, token, outcome, elapsed } => {
                into.number(0);
                handle.digest(into);
                token.digest(into);
                elapsed.digest(into);
                match outcome {
                    Ok(Given::Answer { span, check }) => {
                        into.number(0);
                        span.digest(into);
                        check.digest(into);
                    }
                    Ok(given @ (Given::Connected | Given::Listed)) => into.debug(given),
                    Err(failure) => failure.digest(into),
                }
            }
            other => into.debug(other),
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if place.is_here() {
            *self = if matches!(self, Step::Reap) { Step::Spawn } else { Step::Reap };
        }
    }
}

impl Digest for Peer {
    fn digest(&self, into: &mut Canonical) {
        into.debug(self);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        if place.is_here() {
            self.info.name.push('.');
        }
    }
}

impl Digest for End {
    fn digest(&self, into: &mut Canonical) {
        into.debug(self);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        self.signal_refused.alter(place);
    }
}

#[cfg(test)]
mod tests;
