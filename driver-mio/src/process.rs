//! The server's process and its pipes, as event sources of the host's poll.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use sans_mcp::{Exit, Moved, Pipes, Server, Signal, Signalled, StartFailure, Tree};
use sans_mcp_process::{Child, LargerPipe, read, spawn, write};

/// How many tokens one process takes: one for each of its standard streams, in their usual order, and one for its exit.
pub(crate) const TOKENS: usize = 4;

const STDIN: usize = 0;
const STDOUT: usize = 1;
const STDERR: usize = 2;
const EXIT: usize = 3;

/// The process of one session, which a [`Connection`](crate::Connection) starts, and its pipes.
///
/// Dropping it deregisters everything and kills the process group.
#[derive(Debug)]
pub struct Process {
    registry: Arc<Registry>,
    first: Token,
    larger_pipe: LargerPipe,
    started: Option<Started>,
}

/// The fields are dropped in this order: the input is closed before the group is killed.
#[derive(Debug)]
struct Started {
    stdin: Option<Source<OwnedFd>>,
    /// The poll said that the input takes bytes, and the session has not heard it yet.
    writable: bool,
    stdout: Option<Output>,
    stderr: Option<Output>,
    leader: Source<Leader>,
    /// The poll said that the leader has exited, and it was not looked at yet.
    exited: bool,
    exit: Option<Exit>,
}

/// A descriptor that the host's poll watches for as long as this exists.
#[derive(Debug)]
struct Source<F: AsRawFd> {
    fd: F,
    registry: Arc<Registry>,
}

/// The leader as the poll sees it: a descriptor that becomes readable when it has exited.
#[derive(Debug)]
struct Leader(Child);

/// One of the server's outputs.
#[derive(Debug)]
struct Output {
    source: Source<OwnedFd>,
    /// There may be something to read. Readiness is told once, so it is kept until a read finds nothing more.
    ready: bool,
}

impl Process {
    pub(crate) fn new(registry: Registry, first: Token) -> Process {
        let larger_pipe = LargerPipe::default();
        Process { registry: Arc::new(registry), first, larger_pipe, started: None }
    }

    /// Leaves the pipes as large as they are.
    pub(crate) fn keep_pipe_size(&mut self) {
        self.larger_pipe = LargerPipe::never();
    }

    /// Remembers what the poll said. False: it was not about this process.
    ///
    /// It does not matter if it was said in vain, or about a source that is closed by now.
    pub(crate) fn handle_event(&mut self, event: &Event) -> bool {
        let source = event.token().0.wrapping_sub(self.first.0);
        if source >= TOKENS {
            return false;
        }
        if let Some(started) = &mut self.started {
            match source {
                STDIN => started.writable = true,
                STDOUT => started.stdout.iter_mut().for_each(|stdout| stdout.ready = true),
                STDERR => started.stderr.iter_mut().for_each(|stderr| stderr.ready = true),
                _ => started.exited = true,
            }
        }
        true
    }

    /// The leader's process number.
    pub(crate) fn id(&self) -> Option<u32> {
        self.started.as_ref().map(|started| started.leader.fd.0.id())
    }

    /// Registers everything. If that fails nothing stays registered, and the process is killed.
    fn watch(&self, child: Child, pipes: sans_mcp_process::Pipes) -> io::Result<Started> {
        Ok(Started {
            leader: self.source(Leader(child), EXIT, Interest::READABLE)?,
            exited: false,
            exit: None,
            stdin: Some(self.source(pipes.stdin, STDIN, Interest::WRITABLE)?),
            writable: false,
            stdout: Some(self.output(pipes.stdout, STDOUT)?),
            stderr: pipes.stderr.map(|stderr| self.output(stderr, STDERR)).transpose()?,
        })
    }

    fn output(&self, fd: OwnedFd, source: usize) -> io::Result<Output> {
        let source = self.source(fd, source, Interest::READABLE)?;
        Ok(Output { source, ready: false })
    }

    fn source<F: AsRawFd>(&self, fd: F, source: usize, interest: Interest) -> io::Result<Source<F>> {
        let token = Token(self.first.0.wrapping_add(source));
        self.registry.register(&mut SourceFd(&fd.as_raw_fd()), token, interest)?;
        Ok(Source { fd, registry: Arc::clone(&self.registry) })
    }
}

impl Pipes for Process {
    fn spawn(&mut self, server: &Server) -> Result<u32, StartFailure> {
        let (child, pipes) = spawn(server)?;
        let id = child.id();
        let started = self.watch(child, pipes);
        self.started = Some(started.map_err(|error| StartFailure::NoResources {
            errno: error.raw_os_error().unwrap_or_default(),
        })?);
        Ok(id)
    }

    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        self.started.as_mut().map_or(Moved::Blocked, |started| Output::read(&mut started.stdout, space))
    }

    fn long_line(&mut self) {
        if let Some(stdout) = self.started.as_ref().and_then(|started| started.stdout.as_ref()) {
            self.larger_pipe.take(&stdout.source.fd);
        }
    }

    fn read_stderr(&mut self, space: &mut [u8]) -> Moved {
        self.started.as_mut().map_or(Moved::Blocked, |started| Output::read(&mut started.stderr, space))
    }

    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        let Some(stdin) = self.started.as_ref().and_then(|started| started.stdin.as_ref()) else {
            return Moved::Ended;
        };
        match write(&stdin.fd, bytes) {
            Ok(count) => Moved::Bytes(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Moved::Blocked,
            Err(_) => Moved::Ended,
        }
    }

    fn take_writable(&mut self) -> bool {
        self.started.as_mut().is_some_and(|started| std::mem::take(&mut started.writable))
    }

    fn close_stdin(&mut self) {
        if let Some(started) = &mut self.started {
            started.stdin = None;
        }
    }

    fn signal(&mut self, signal: Signal) -> Signalled {
        self.started.as_mut().map_or(Signalled::NoProcess, |started| started.leader.fd.0.signal(signal))
    }

    fn exit(&mut self) -> Option<Exit> {
        self.started.as_mut()?.exit()
    }

    fn reap(&mut self) -> Exit {
        self.started.as_mut().and_then(|started| started.leader.fd.0.reap()).unwrap_or(Exit::Unknown)
    }

    fn probe(&mut self) -> Tree {
        self.started.as_mut().map_or(Tree::Gone, |started| started.leader.fd.0.probe())
    }

    /// A process of which something may be left is kept: dropping it would wait.
    fn release(&mut self) {
        self.larger_pipe = LargerPipe::never();
        let Some(started) = &mut self.started else { return };
        (started.stdin, started.stdout, started.stderr) = (None, None, None);
        if started.leader.fd.0.is_over() {
            self.started = None;
        }
    }
}

impl Started {
    fn exit(&mut self) -> Option<Exit> {
        if std::mem::take(&mut self.exited) && self.exit.is_none() {
            self.exit = self.leader.fd.0.exit();
            if self.exit.is_some() {
                // The news of what it wrote last may come after the news of its exit, but is to be read before.
                for output in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
                    output.ready = true;
                }
            }
        }
        self.exit
    }
}

impl Output {
    /// Reads from an output that may be closed already, and closes it at its end.
    fn read(output: &mut Option<Output>, space: &mut [u8]) -> Moved {
        let Some(open) = output.as_mut().filter(|open| open.ready) else { return Moved::Blocked };
        match read(&open.source.fd, space) {
            Ok(count @ 1..) => Moved::Bytes(count),
            // Only this says that it is empty: a server may have its output given packet by packet (pipe(7), `O_DIRECT`).
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                open.ready = false;
                Moved::Blocked
            }
            Ok(_) | Err(_) => {
                *output = None;
                Moved::Ended
            }
        }
    }
}

impl AsRawFd for Leader {
    fn as_raw_fd(&self) -> RawFd {
        self.0.pidfd().as_raw_fd()
    }
}

impl<F: AsRawFd> Drop for Source<F> {
    fn drop(&mut self) {
        // It fails only if the host's poll is broken, and closing the descriptor ends the registration too.
        let _ = self.registry.deregister(&mut SourceFd(&self.fd.as_raw_fd()));
    }
}
