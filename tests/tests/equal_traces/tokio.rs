//! The bare machine under tokio, whose time is paused: it jumps to the next moment for which anybody has set a timer.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use sans_mcp::{Output, Time};
use sans_mcp_tests::Token;
use sans_mcp_tokio::Connection;
use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use crate::host::Host;
use crate::recorded::{Log, Recorded};
use crate::script;

/// More polls than any history needs.
const ROUNDS: usize = 100_000;

pub(crate) fn play(seed: u64) -> Vec<String> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(drive(seed))
}

async fn drive(seed: u64) -> Vec<String> {
    let log = Log::new();
    let mut host = Host::new(seed, log.clone());
    let pipes = Recorded::new(seed, log.clone());
    let start = Instant::now();
    let mut connection = Connection::<Token, Recorded>::over(script::server(), pipes).unwrap();
    for _ in 0..ROUNDS {
        let now = Time::ZERO + start.elapsed();
        assert_eq!(now, connection.now());
        log.set(now);
        let before = log.len();
        let polled = poll_fn(|cx| {
            let next = connection.next(|output| {
                host.output(output);
                None::<()>
            });
            Poll::Ready(pin!(next).poll(cx))
        });
        if polled.await.is_ready() {
            host.ended(connection.session());
            return log.lines();
        }
        if log.len() > before || host.acts(connection.session_mut()) {
            // It may have stopped only to give others their turn.
            yield_now().await;
            continue;
        }
        // It says the same again, for it is asleep.
        let Output::Wait { until, why } = connection.session_mut().poll_output() else {
            unreachable!("the driver sleeps on something that is to be done")
        };
        host.waits(connection.session(), until, why);
        let mut command = pin!(sleep_until(start + host.next().unwrap_or(now).since(Time::ZERO)));
        let mut asleep = false;
        poll_fn(|cx| {
            let woken = std::mem::replace(&mut asleep, true);
            let due = host.next().is_some() && command.as_mut().poll(cx).is_ready();
            if woken || due { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
    unreachable!("the driver never sleeps: {:?}", log.lines().last())
}
