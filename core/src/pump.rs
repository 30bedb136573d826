//! The loop that every driver runs, over whatever moves its bytes.

use std::mem;

use crate::config::Server;
use crate::output::{Output, Why};
use crate::process::{Exit, Signal, Signalled, StartFailure, Tree};
use crate::session::Session;
use crate::time::Time;

/// What a driver's pipes and process can do. Nothing in it may block.
pub trait Pipes {
    /// Starts the process of `server` and gives its id.
    ///
    /// # Errors
    /// Why it could not be started; nothing is left running then.
    fn spawn(&mut self, server: &Server) -> Result<u32, StartFailure>;
    /// Reads from the server's output.
    fn read_stdout(&mut self, space: &mut [u8]) -> Moved;
    /// A line of the server's output is longer than what a pipe holds by default, 64 KiB: a larger one would save turns. It
    /// is said before each further read of that line.
    fn long_line(&mut self) {}
    /// Reads from the server's standard error; [`Moved::Blocked`] if it has none or it ended before.
    fn read_stderr(&mut self, space: &mut [u8]) -> Moved;
    /// Writes to the server's input. After [`Moved::Blocked`] it is not asked again before
    /// [`take_writable`](Pipes::take_writable) says so.
    fn write_stdin(&mut self, bytes: &[u8]) -> Moved;
    /// Whether the server's input takes bytes again, if that was not told before. It does no harm in vain.
    fn take_writable(&mut self) -> bool;
    /// Closes the server's input.
    fn close_stdin(&mut self);
    /// Signals the server's process group.
    fn signal(&mut self, signal: Signal) -> Signalled;
    /// How the leader ended, without taking its status, if it has.
    fn exit(&mut self) -> Option<Exit>;
    /// Takes the status of the leader, which was seen to have exited.
    fn reap(&mut self) -> Exit;
    /// Finds out what is left of the process tree.
    fn probe(&mut self) -> Tree;
    /// The session is over, and asks for nothing any more: lets go of what is still held, without waiting.
    fn release(&mut self) {}
}

/// What became of an attempt to move bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// This many were moved, at least one.
    Bytes(usize),
    /// None can be moved now; the driver pumps again when that changes.
    Blocked,
    /// None will ever be moved again.
    Ended,
}

/// How a run of [`pump`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pumped {
    /// When to pump again at the latest; `None`: when a pipe or a command asks for it.
    pub until: Option<Time>,
    /// What happens then.
    pub why: Why,
    /// The budget ran out: pump again at once, after having given others their turn.
    pub starved: bool,
    /// The session is over: nothing is left to pump. It stays so in every later run; [`Output::Closed`] comes once.
    pub closed: bool,
}

/// What one run leaves to the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pumping {
    /// What is still read of a server that was seen to have exited.
    last_words: usize,
    /// The run was cut short, so the next one goes on where it stopped.
    starved: bool,
}

/// What fits into a server's pipes: a grandchild that holds them open could write for ever.
const LAST_WORDS: usize = 1 << 20;

/// Standard error output that is read in one go: a flood of it must not keep the rest waiting, nor fill what a session keeps of
/// it for a host that has no chance to fetch any meanwhile.
const COMPLAINTS: usize = 32 << 10;

impl Pumping {
    pub(crate) const NEW: Pumping = Pumping { last_words: LAST_WORDS, starved: false };
}

/// Moves bytes between `session` and `pipes` until nothing more can be done at `now`, or `budget` bytes and outputs were
/// handled, so that one flooding server cannot starve the rest. Everything that is for the host goes to `host`.
///
/// Reading never waits for writing. What the server wrote is read before a deadline that has passed meanwhile is judged, up
/// to what one read takes, so a host that was kept from pumping does not fail calls that were answered. An exit is reported
/// after what the server left in its pipes was read, up to 1 MiB: a grandchild that holds them open could write for ever.
/// Before a line of output is judged, what stands on standard error is read, up to 32 KiB, so that a failure tells the newest.
///
/// The documentation of [`Pipes`] says what a driver brings; `tests/` has an implementation in memory.
pub fn pump<T, P: Pipes + ?Sized>(
    session: &mut Session<T>,
    pipes: &mut P,
    now: Time,
    budget: usize,
    mut host: impl FnMut(Output<'_, T>),
) -> Pumped {
    if pipes.take_writable() {
        session.handle_writable(now);
    }
    session.handle_timeout(now);
    let mut budget = budget.max(1);
    // A run begins with a read, before anything that is due is judged: a host that comes late must not fail a call whose
    // answer is at hand.
    let mut reads = !mem::take(&mut session.pumping.starved) && session.has_process();
    let mut drained: Option<Pumped> = None;
    loop {
        let exit = pipes.exit().filter(|_| !session.knows_exit());
        let moved = mem::replace(&mut reads, true).then(|| read(session, pipes, now));
        match (exit, moved, drained) {
            (Some(exit), Some(moved), _) => {
                let left = &mut session.pumping.last_words;
                *left = left.saturating_sub(moved);
                // What waits for the host leaves no room to read.
                let looked = drained.is_some() || session.knows_end_of_output();
                if session.pumping.last_words == 0 || moved == 0 && looked {
                    session.handle_exit(now, exit);
                } else if session.knows_end_of_output() {
                    // An exit at hand explains an end of output, however late this run is.
                    continue;
                }
            }
            (None, Some(0), Some(drained)) => return drained,
            _ => {}
        }
        budget = budget.saturating_sub(moved.unwrap_or_default());
        match drained {
            Some(drained) if budget == 0 => {
                session.pumping.starved = true;
                return Pumped { starved: true, ..drained };
            }
            // A run does something, however small its budget is.
            _ => budget = budget.max(1),
        }
        let run = drain(session, pipes, now, &mut budget, &mut host);
        if run.closed || run.starved {
            session.pumping.starved = run.starved;
            return run;
        }
        drained = Some(run);
    }
}

/// One read of the output and what stands on standard error; how many bytes came, counting an end of output as one.
fn read<T, P: Pipes + ?Sized>(session: &mut Session<T>, pipes: &mut P, now: Time) -> usize {
    let mut moved = 0;
    if session.reads_long_line() {
        pipes.long_line();
    }
    let space = session.read_space();
    if !space.is_empty() {
        match pipes.read_stdout(space) {
            Moved::Bytes(count) => {
                session.handle_read(now, count);
                moved += count;
            }
            Moved::Ended => {
                session.handle_eof(now);
                moved += 1;
            }
            Moved::Blocked => {}
        }
    }
    // All of it, as what was read above is judged next, and a failure tells the newest of what came before it.
    // Small, since it is cleared at every read, and most servers are silent here.
    let mut chunk = [0; 1 << 10];
    let mut complained = 0;
    while complained < COMPLAINTS {
        let Moved::Bytes(count) = pipes.read_stderr(&mut chunk) else { break };
        session.handle_stderr(now, chunk.get(..count).unwrap_or_default());
        complained += count;
    }
    moved += complained;
    moved
}

/// Does and hands on everything the session asks for.
fn drain<T, P: Pipes + ?Sized>(
    session: &mut Session<T>,
    pipes: &mut P,
    now: Time,
    budget: &mut usize,
    host: &mut impl FnMut(Output<'_, T>),
) -> Pumped {
    loop {
        let spent = match session.poll_output() {
            Output::Wait { until, why } => return Pumped { until, why, starved: false, closed: false },
            output @ Output::Closed(_) => {
                host(output);
                pipes.release();
                return Pumped { until: None, why: Why::Idle, starved: false, closed: true };
            }
            Output::Write(bytes) => match pipes.write_stdin(bytes) {
                Moved::Bytes(count) => {
                    session.handle_written(now, count);
                    count
                }
                Moved::Blocked => {
                    session.handle_written(now, 0);
                    1
                }
                Moved::Ended => {
                    session.handle_stdin_closed(now);
                    1
                }
            },
            Output::Spawn => {
                match pipes.spawn(session.server()) {
                    Ok(pid) => session.handle_spawned(now, pid),
                    Err(failure) => session.handle_spawn_failed(now, failure),
                }
                1
            }
            Output::CloseStdin => {
                pipes.close_stdin();
                session.handle_stdin_closed(now);
                1
            }
            Output::Signal(signal) => {
                let signalled = pipes.signal(signal);
                session.handle_signalled(now, signalled);
                1
            }
            Output::Reap => {
                let exit = pipes.reap();
                session.handle_reaped(now, exit);
                1
            }
            Output::ProbeTree => {
                let tree = pipes.probe();
                session.handle_tree(now, tree);
                1
            }
            output @ (Output::Complete(_)
            | Output::Request(_)
            | Output::RequestCancelled(_)
            | Output::Progress(_)
            | Output::Notification(_)
            | Output::Stderr(_)
            | Output::Diagnostic(_)
            | Output::State(_)) => {
                host(output);
                64
            }
        };
        *budget = budget.saturating_sub(spent);
        if *budget == 0 {
            return Pumped { until: Some(now), why: Why::Idle, starved: true, closed: false };
        }
    }
}

#[cfg(test)]
mod tests;
