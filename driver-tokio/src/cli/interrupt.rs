//! SIGHUP, SIGINT and SIGTERM: the server is in a process group of its own and would not see them.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::status::Status;

/// Waits for signals. From when it is made, they no longer end the process by themselves.
#[derive(Debug)]
pub(super) struct Interrupt {
    hang_up: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    pub(super) fn new() -> io::Result<Interrupt> {
        Ok(Interrupt {
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next signal, as the status with which the command is to end. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Status {
        tokio::select! {
            _ = self.hang_up.recv() => Status::HungUp,
            _ = self.interrupt.recv() => Status::Interrupted,
            _ = self.terminate.recv() => Status::Terminated,
        }
    }
}
