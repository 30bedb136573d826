//! One accepted operation, as its caller holds it.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};

use sans_mcp::{Handle, Refusal, Refused, Session, Time};

use crate::client::Alive;
use crate::slot::{Settled, Slot};

/// What a session says to a command that takes a token.
pub(crate) type Accepted = Result<Handle, Refused<Arc<Slot>>>;

/// Dropping it before it is settled cancels the operation.
#[derive(Debug)]
pub(crate) struct Operation {
    alive: Arc<Alive>,
    slot: Arc<Slot>,
    handle: Handle,
    settled: bool,
}

impl Operation {
    /// Hands a command in, with the slot for its end as the token.
    pub(crate) fn accept(
        alive: &Arc<Alive>,
        command: impl FnOnce(&mut Session<Arc<Slot>>, Time, Arc<Slot>) -> Accepted,
    ) -> Result<Operation, Refusal> {
        let slot = Arc::new(Slot::default());
        let token = slot.clone();
        match alive.shared().command(|session, now| command(session, now, token)) {
            Ok(handle) => Ok(Operation { alive: alive.clone(), slot, handle, settled: false }),
            Err(refused) => Err(refused.refusal),
        }
    }

    /// The number under which it was accepted.
    pub(crate) fn id(&self) -> u64 {
        self.handle.number()
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, on_progress: impl FnMut(Box<str>)) -> Poll<Settled> {
        let settled = self.slot.poll(cx, on_progress);
        self.settled = settled.is_ready();
        settled
    }

    pub(crate) fn settled(mut self) -> impl Future<Output = Settled> {
        poll_fn(move |cx| self.poll(cx, drop))
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // What it would wake is gone; and a waker is foreign code, not to be dropped under the lock.
        self.slot.abandon();
        self.alive.shared().command(|session, now| session.cancel(now, self.handle, "dropped by the caller"));
    }
}
