//! What the tests share.

use std::future::Future;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use sans_mcp_tokio::{Counters, Server};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tokio::time::timeout;

/// The server that comes with the tests.
pub(crate) fn docs() -> Server {
    Server::new("docs", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server"))
}

/// A program that reads nothing, says nothing, and leaves at SIGTERM.
pub(crate) fn deaf() -> Server {
    let mut server = Server::new("deaf", "sleep").arg("600");
    server.settings.timeouts.end_of_input = Duration::from_millis(50);
    server
}

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs a test on both flavours and inside a local set, and fails instead of hanging.
pub(crate) fn everywhere<F: Future<Output = ()>>(test: impl Fn() -> F) {
    let bounded = async || timeout(Duration::from_secs(20), test()).await;
    current_thread().block_on(bounded()).unwrap();
    multi_thread().block_on(bounded()).unwrap();
    LocalSet::new().block_on(&current_thread(), bounded()).unwrap();
}

/// Whether there is such a process, a dead one that nobody reaped included.
pub(crate) fn exists(process: u32) -> bool {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    test_kill_process(process).is_ok()
}

/// What must be back at zero once nothing is open.
pub(crate) fn gauges(counters: &Counters) -> [usize; 5] {
    [counters.pending, counters.timers, counters.queued_bytes, counters.reply_bytes, counters.peer_requests]
}
