//! SIGHUP, SIGINT and SIGTERM: the server is in a process group of its own and would not see them.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::hang_up;
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
        let hang_up = if hang_up::is_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
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
