//! The one task of a client: it moves bytes, watches the process, and tells the session the time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::clock::Timer;
use crate::shared::{Shared, Turn};
use crate::waking::yield_to_reactor;

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

impl Drop for Task {
    /// The runtime ends while the session goes on: nobody would drive it any more.
    fn drop(&mut self) {
        self.shared.abort();
    }
}
