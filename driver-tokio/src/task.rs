//! The one task of a client: it moves bytes, watches the process, and tells the session the time.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::yield_now;

use crate::clock::Timer;
use crate::shared::{Shared, Turn};

#[derive(Debug)]
pub(crate) struct Task {
    shared: Arc<Shared>,
    timer: Timer,
}

impl Task {
    pub(crate) fn new(shared: Arc<Shared>) -> Task {
        Task { shared, timer: Timer::default() }
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let task = &mut *self;
        match task.shared.turn(cx, &mut task.timer) {
            Turn::Sleep => Poll::Pending,
            Turn::Again => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Turn::Yield => {
                yield_to_reactor(cx);
                Poll::Pending
            }
            Turn::Over => Poll::Ready(()),
        }
    }
}

/// Has the task of `cx` polled again after the runtime has looked at its reactor and timers. A task that only
/// wakes itself is polled some 60 times before it does that.
pub(crate) fn yield_to_reactor(cx: &mut Context<'_>) {
    // The first poll of it asks for that; what it would say at the second is not needed.
    let _ = pin!(yield_now()).poll(cx);
}

impl Drop for Task {
    /// The runtime ends while the session goes on: nobody would drive it any more.
    fn drop(&mut self) {
        self.shared.abort();
    }
}
