//! SIGHUP, SIGINT and SIGTERM: the server is in a process group of its own and would not see them.

use std::fs;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::status::Status;

/// Waits for signals. From when it is made, they no longer end the process by themselves.
#[derive(Debug)]
pub(super) struct Interrupt {
    /// None if it is ignored.
    hang_up: Option<Signal>,
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    pub(super) fn new() -> io::Result<Interrupt> {
        let hang_up = if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Interrupt {
            hang_up,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next signal, as the status with which the command is to end. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Status {
        tokio::select! {
            () = received(&mut self.hang_up) => Status::HungUp,
            _ = self.interrupt.recv() => Status::Interrupted,
            _ = self.terminate.recv() => Status::Terminated,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether this process was started so that it outlives its terminal, as `nohup` does; watching would undo that. Only
/// Linux tells.
fn ignores_hang_up() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1, which is SIGHUP.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
