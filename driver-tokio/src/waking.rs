//! Waking, as the runtime likes it.

use std::future::Future;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use tokio::task::yield_now;

/// Has the task of `cx` polled again after the runtime has looked at its reactor and timers. A task that only
/// wakes itself is polled some 60 times before it does that.
pub(crate) fn yield_to_reactor(cx: &mut Context<'_>) {
    // The first poll of it asks for that; what it would say at the second is not needed.
    let _ = pin!(yield_now()).poll(cx);
}

/// Wakes them all.
///
/// A worker that wakes many tasks one by one rouses an idle worker for each, which comes for one task and finds the next
/// one gone. Tasks that wake while the worker looks at its reactor are made known to others together.
pub(crate) fn wake_together(wakers: Vec<Waker>) {
    if wakers.len() > 1 {
        let together = Waker::from(Arc::new(Together(wakers)));
        yield_to_reactor(&mut Context::from_waker(&together));
    } else {
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Dropping it wakes them, and so does a runtime that ends before it has woken anybody: they may be tasks of another
/// one.
struct Together(Vec<Waker>);

impl Wake for Together {
    fn wake(self: Arc<Together>) {}
}

impl Drop for Together {
    fn drop(&mut self) {
        mem::take(&mut self.0).into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::runtime::Builder;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Who waits may run in another runtime than the one that wakes, which may end.
    #[test]
    fn l10_all_are_woken_without_a_runtime_and_by_one_that_ends() {
        for count in [0, 1, 2, 64] {
            let woken = Arc::new(Count::default());
            let wakers = || vec![Waker::from(woken.clone()); count];
            wake_together(wakers());
            assert_eq!(woken.0.load(Ordering::Relaxed), count);
            let runtime = Builder::new_current_thread().build().unwrap();
            runtime.block_on(async { wake_together(wakers()) });
            drop(runtime);
            assert_eq!(woken.0.load(Ordering::Relaxed), 2 * count);
        }
    }
}
