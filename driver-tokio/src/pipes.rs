//! What a server is reached by, as a task sees it.

use std::fmt;
use std::task::{Context, Poll};

use sans_mcp::Signal;

/// A server's pipes and process, as a task sees them.
///
/// A [`Process`](crate::Process) is one. Another one, in memory, lets a host be tested without a process and, under a
/// runtime whose time is paused, without waiting; see [`Builder::over`](crate::Builder::over) and
/// [`Connection::over`](crate::Connection::over).
pub trait Pipes: sans_mcp::Pipes + fmt::Debug {
    /// Ready if something happened since it was asked last: what was [`Blocked`](sans_mcp::Moved::Blocked) is so no
    /// more, or the leader has exited. Otherwise the task of `cx` is woken once something has.
    ///
    /// Ready in vain costs a turn of the task, so it must not always be.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// The session ends by force, perhaps outside a runtime: kills what runs, and may wait for it to be gone, 200 ms at
    /// most. Pipes that can still be asked to start something refuse from then on; that is for them to remember.
    fn abort(&mut self) {
        self.signal(Signal::Kill);
    }

    /// The leader's process number, if there is a process.
    fn process_id(&self) -> Option<u32> {
        None
    }
}
