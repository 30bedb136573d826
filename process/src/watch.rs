//! A descriptor that becomes readable when a server has exited.

use std::{
    io::{self, PipeReader},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread,
};

use rustix::{
    io::retry_on_intr,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};

/// How the exit of a leader is noticed.
#[derive(Debug)]
pub(crate) enum Watch {
    /// By the system.
    #[cfg(target_os = "linux")]
    Pidfd(OwnedFd),
    /// By the end of a pipe whose other end is closed once the leader has exited.
    Pipe(OwnedFd),
}

impl Watch {
    #[cfg(target_os = "linux")]
    pub(crate) fn open(leader: Pid) -> io::Result<Watch> {
        use rustix::{
            io::Errno,
            process::{PidfdFlags, pidfd_open},
        };

        match pidfd_open(leader, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Watch::Pidfd(pidfd)),
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(error.into()),
            // Somebody else has reaped the leader already, so there is nothing to wait for.
            Err(Errno::SRCH) => Watch::over(),
            // The kernel is too old, or a sandbox forbids it.
            Err(_) => Watch::by_thread(leader),
        }
    }

    #[cfg(target_os = "macos")]
    pub(crate) fn open(leader: Pid) -> io::Result<Watch> {
        Watch::by_thread(leader)
    }

    /// Which process `waitid` is to look at. A pidfd cannot mean another process that got the same number later.
    pub(crate) fn leader(&self, leader: Pid) -> WaitId<'_> {
        match self {
            #[cfg(target_os = "linux")]
            Watch::Pidfd(pidfd) => WaitId::PidFd(pidfd.as_fd()),
            Watch::Pipe(_) => WaitId::Pid(leader),
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            #[cfg(target_os = "linux")]
            Watch::Pidfd(fd) => fd.as_fd(),
            Watch::Pipe(fd) => fd.as_fd(),
        }
    }

    /// A pipe whose other end is closed.
    #[cfg(target_os = "linux")]
    fn over() -> io::Result<Watch> {
        Ok(Watch::Pipe(io::pipe()?.0.into()))
    }

    fn by_thread(leader: Pid) -> io::Result<Watch> {
        const STACK: usize = 64 << 10;
        let (host, thread): (PipeReader, _) = io::pipe()?;
        thread::Builder::new().name("mcp-exit".to_owned()).stack_size(STACK).spawn(move || {
            // Whatever it says, there is nothing left to wait for; it reaps nothing.
            let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| waitid(WaitId::Pid(leader), exited));
            drop(thread);
        })?;
        Ok(Watch::Pipe(host.into()))
    }
}

#[cfg(test)]
mod tests;
