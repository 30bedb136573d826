//! Where the I/O task leaves what a caller waits for.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sans_mcp::{Failure, Payload};

/// How an operation ended.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) outcome: Result<Given, Failure>,
    pub(crate) elapsed: Duration,
}

/// What an operation that went well gave.
#[derive(Debug)]
pub(crate) enum Given {
    Answer(Payload),
    /// What it gave is read from the session.
    Nothing,
}

/// Progress that waits for the caller: as many as events do.
const PROGRESS: usize = 1_024;
/// Its size in bytes.
const PROGRESS_BYTES: usize = 1 << 20;

/// The token of one operation. The session gives it back once; the caller holds the other reference.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    settled: Option<Settled>,
    waker: Option<Waker>,
    /// Most calls make none, and there may be many calls.
    progress: Option<Box<Progress>>,
}

#[derive(Debug, Default)]
struct Progress {
    params: VecDeque<Box<str>>,
    bytes: usize,
}

impl Slot {
    /// Leaves the end. Whoever it gives is to be woken, after every lock was let go.
    #[must_use = "the caller sleeps until it is woken"]
    pub(crate) fn settle(&self, settled: Settled) -> Option<Waker> {
        let mut contents = self.lock();
        contents.settled = Some(settled);
        contents.waker.take()
    }

    /// Leaves progress. If the caller does not fetch it the oldest is dropped: the newest says more.
    #[must_use = "the caller sleeps until it is woken"]
    pub(crate) fn progress(&self, params: &str) -> Option<Waker> {
        let mut contents = self.lock();
        let progress = contents.progress.get_or_insert_default();
        progress.bytes += params.len();
        progress.params.push_back(params.into());
        while progress.params.len() > PROGRESS || progress.bytes > PROGRESS_BYTES {
            let Some(dropped) = progress.params.pop_front() else { break };
            progress.bytes -= dropped.len();
        }
        contents.waker.take()
    }

    /// Fetches what is there: progress in order, then the end.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, mut on_progress: impl FnMut(Box<str>)) -> Poll<Settled> {
        let mut contents = self.lock();
        let progress = contents.progress.take();
        let settled = contents.settled.take();
        if settled.is_none() && !contents.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            contents.waker = Some(cx.waker().clone());
        }
        drop(contents);
        if let Some(progress) = progress {
            progress.params.into_iter().for_each(&mut on_progress);
        }
        settled.map_or(Poll::Pending, Poll::Ready)
    }

    /// Nobody waits any more.
    pub(crate) fn abandon(&self) {
        let waker = self.lock().waker.take();
        drop(waker);
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
