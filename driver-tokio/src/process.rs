//! The process and its pipes, as tokio's reactor sees them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::task::{Context, Poll};
use std::{io, mem};

use rustix::io::Errno;
use sans_mcp::{Exit, Moved, Server, Signal, Signalled, StartFailure, Tree};
use sans_mcp_process::{Child, LargerPipe, read, spawn, write};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::pipes::Pipes;

/// The process of one session, which the session starts, and its pipes.
///
/// Dropping it kills the process group and reaps, without a runtime.
#[derive(Debug, Default)]
pub struct Process {
    started: Option<Started>,
    larger_pipe: LargerPipe,
    /// Nothing is started any more.
    aborted: bool,
}

#[derive(Debug)]
struct Started {
    leader: AsyncFd<Leader>,
    /// The leader may have exited.
    look_at_leader: bool,
    exit: Option<Exit>,
    stdin: Option<End>,
    /// The input takes bytes again, and the session has not heard it yet.
    writable: bool,
    stdout: Option<End>,
    stderr: Option<End>,
}

impl Process {
    /// Leaves the pipe of the server's output as large as the system makes it. Otherwise it gets one that holds 1 MiB once a
    /// line passes 64 KiB, as long as fewer than eight servers of this process have one, and the system allows it.
    #[must_use]
    pub fn keep_pipe_size(mut self) -> Process {
        self.larger_pipe = LargerPipe::never();
        self
    }
}

/// Lets the reactor watch the leader.
#[derive(Debug)]
struct Leader(Child);

impl AsRawFd for Leader {
    fn as_raw_fd(&self) -> RawFd {
        self.0.pidfd().as_raw_fd()
    }
}

/// Our end of one pipe.
///
/// It is used at once, and the reactor is asked only after it would have blocked. Readiness is cleared before
/// the next use, not after it, so that what comes in between is not lost.
#[derive(Debug)]
struct End {
    fd: AsyncFd<OwnedFd>,
    blocked: bool,
}

/// Has the reactor watch a descriptor.
#[expect(unsafe_code, reason = "tokio offers no safe way for any descriptor")]
fn watch<T: Steady>(source: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: what is `Steady` keeps one open descriptor for as long as it lives, and no `AsyncFd` here has
    // its source exchanged.
    Ok(unsafe { AsyncFd::register_with_interest(source, interest) }?)
}

/// What owns one descriptor, open and the same for as long as it lives.
trait Steady: AsRawFd {}
impl Steady for OwnedFd {}
/// A child watches its leader by one descriptor from its start to its drop.
impl Steady for Leader {}

impl End {
    fn new(fd: OwnedFd, interest: Interest) -> io::Result<End> {
        Ok(End { fd: watch(fd, interest)?, blocked: false })
    }

    /// What a read or a write came to. Only the system's word that it would block counts: a server may have its output
    /// given packet by packet (pipe(7), `O_DIRECT`), so a read that was short has not emptied the pipe.
    fn moved(&mut self, moved: io::Result<usize>) -> Moved {
        match moved {
            Ok(0) => Moved::Ended,
            Ok(count) => Moved::Bytes(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.blocked = true;
                Moved::Blocked
            }
            Err(_) => Moved::Ended,
        }
    }

    /// Whether a pipe that was blocked no longer is.
    fn poll_readable(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.blocked {
            return false;
        }
        // An error means that the runtime is ending, and with it the task that asks.
        if let Poll::Ready(Ok(mut guard)) = self.fd.poll_read_ready(cx) {
            guard.clear_ready();
            self.blocked = false;
        }
        !self.blocked
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.blocked {
            return false;
        }
        if let Poll::Ready(Ok(mut guard)) = self.fd.poll_write_ready(cx) {
            guard.clear_ready();
            self.blocked = false;
        }
        !self.blocked
    }
}

impl Pipes for Process {
    /// Asks the reactor about everything that was blocked, and has the task of `cx` woken for what still is.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(started) = &mut self.started else { return Poll::Pending };
        let mut ready = false;
        for end in [&mut started.stdout, &mut started.stderr].into_iter().flatten() {
            ready |= end.poll_readable(cx);
        }
        if started.exit.is_none() && !started.look_at_leader {
            if let Poll::Ready(Ok(mut guard)) = started.leader.poll_read_ready(cx) {
                guard.clear_ready();
                started.look_at_leader = true;
            }
            ready |= started.look_at_leader;
        }
        if started.stdin.as_mut().is_some_and(|stdin| stdin.poll_writable(cx)) {
            started.writable = true;
            ready = true;
        }
        if ready { Poll::Ready(()) } else { Poll::Pending }
    }

    fn abort(&mut self) {
        self.aborted = true;
        self.larger_pipe = LargerPipe::never();
        let Some(started) = &mut self.started else { return };
        started.leader.get_mut().0.kill_and_wait(Child::DROP_BOUND);
        (started.stdin, started.stdout, started.stderr) = (None, None, None);
        started.look_at_leader = true;
    }

    fn process_id(&self) -> Option<u32> {
        self.started.as_ref().map(|started| started.leader.get_ref().0.id())
    }
}

impl sans_mcp::Pipes for Process {
    fn spawn(&mut self, server: &Server) -> Result<u32, StartFailure> {
        if self.aborted {
            return Err(StartFailure::System { errno: Errno::CANCELED.raw_os_error() });
        }
        let (child, pipes) = spawn(server)?;
        let id = child.id();
        let started = Started::watch(child, pipes)
            .map_err(|error| StartFailure::NoResources { errno: error.raw_os_error().unwrap_or_default() })?;
        self.started = Some(started);
        Ok(id)
    }

    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        match &mut self.started {
            Some(started) => started.read(space, |started| &mut started.stdout),
            None => Moved::Blocked,
        }
    }

    fn long_line(&mut self) {
        if let Some(stdout) = self.started.as_ref().and_then(|started| started.stdout.as_ref()) {
            self.larger_pipe.take(stdout.fd.get_ref());
        }
    }

    fn read_stderr(&mut self, space: &mut [u8]) -> Moved {
        match &mut self.started {
            Some(started) => started.read(space, |started| &mut started.stderr),
            None => Moved::Blocked,
        }
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        let Some(stdin) = self.started.as_mut().and_then(|started| started.stdin.as_mut()) else {
            return Moved::Ended;
        };
        if stdin.blocked {
            return Moved::Blocked;
        }
        let written = write(stdin.fd.get_ref(), bytes);
        stdin.moved(written)
    }

    fn take_writable(&mut self) -> bool {
        self.started.as_mut().is_some_and(|started| mem::take(&mut started.writable))
    }

    fn close_stdin(&mut self) {
        if let Some(started) = &mut self.started {
            started.stdin = None;
        }
    }

    fn signal(&mut self, signal: Signal) -> Signalled {
        match &mut self.started {
            Some(started) => started.leader.get_mut().0.signal(signal),
            None => Signalled::NoProcess,
        }
    }

    fn exit(&mut self) -> Option<Exit> {
        self.started.as_mut()?.exit()
    }

    fn reap(&mut self) -> Exit {
        let reaped = self.started.as_mut().and_then(|started| started.leader.get_mut().0.reap());
        reaped.unwrap_or(Exit::Unknown)
    }

    fn probe(&mut self) -> Tree {
        self.started.as_mut().map_or(Tree::Gone, |started| started.leader.get_mut().0.probe())
    }

    /// A process of which something may be left is kept: dropping it would wait.
    fn release(&mut self) {
        self.larger_pipe = LargerPipe::never();
        let Some(started) = &mut self.started else { return };
        (started.stdin, started.stdout, started.stderr) = (None, None, None);
        if started.leader.get_ref().0.is_over() {
            self.started = None;
        }
    }
}

impl Started {
    /// Registers everything with the reactor. If that fails the child is dropped, which kills it.
    fn watch(child: Child, pipes: sans_mcp_process::Pipes) -> io::Result<Started> {
        Ok(Started {
            leader: watch(Leader(child), Interest::READABLE)?,
            look_at_leader: false,
            exit: None,
            stdin: Some(End::new(pipes.stdin, Interest::WRITABLE)?),
            writable: false,
            stdout: Some(End::new(pipes.stdout, Interest::READABLE)?),
            stderr: pipes.stderr.map(|stderr| End::new(stderr, Interest::READABLE)).transpose()?,
        })
    }

    fn exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() && self.look_at_leader {
            self.look_at_leader = false;
            self.exit = self.leader.get_mut().0.exit();
            if self.exit.is_some() {
                // What it left may not have reached the reactor yet, and is to be read before the exit is
                // told.
                for end in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
                    end.blocked = false;
                }
            }
        }
        self.exit
    }

    fn read(&mut self, space: &mut [u8], which: impl FnOnce(&mut Started) -> &mut Option<End>) -> Moved {
        let end = which(self);
        let Some(open) = end else { return Moved::Blocked };
        if open.blocked {
            return Moved::Blocked;
        }
        let count = read(open.fd.get_ref(), space);
        let moved = open.moved(count);
        if moved == Moved::Ended {
            *end = None;
        }
        moved
    }
}
