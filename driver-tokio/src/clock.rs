//! Time of the machine, told by tokio's clock, so that tests can pause it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use sans_mcp::Time;
use tokio::time::{Instant, Sleep, sleep_until};

/// Microseconds since the moment it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { epoch: Instant::now() }
    }

    pub(crate) fn now(self) -> Time {
        let elapsed = Instant::now().saturating_duration_since(self.epoch);
        Time::from_micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
    }
}

/// Wakes a task. It decides nothing: what is due is decided by the clock alone.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// When the sleep ends, while it has not ended.
    armed: Option<Time>,
}

impl Timer {
    /// Ready once `until` is reached; until then the task of `cx` is woken, perhaps too early.
    ///
    /// A timer that ends before a later `until` is left alone: moving it for every call costs more than one
    /// early wake.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, clock: Clock, until: Option<Time>) -> Poll<()> {
        let Some(until) = until else { return Poll::Pending };
        loop {
            match (&mut self.sleep, self.armed) {
                (Some(sleep), Some(armed)) if armed <= until => {
                    if sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    self.armed = None;
                    return Poll::Ready(());
                }
                (Some(sleep), _) => sleep.as_mut().reset(instant(clock, until)),
                (sleep @ None, _) => *sleep = Some(Box::pin(sleep_until(instant(clock, until)))),
            }
            self.armed = Some(until);
        }
    }
}

/// Tokio's timer knows no later moment than some years from now; a wait that ends too early does no harm.
fn instant(clock: Clock, until: Time) -> Instant {
    const FAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let wait = until.since(clock.now()).min(FAR);
    Instant::now() + wait
}
