//! The pipes between the host and a server, and how bytes move through them.

use std::{
    io::{self, PipeReader, PipeWriter, pipe},
    os::fd::{AsFd, OwnedFd},
};

use rustix::io::{ioctl_fionbio, retry_on_intr};

use crate::sigpipe;

/// The host's ends of a server's pipes: close-on-exec and nonblocking. The server's ends block, as programs expect.
///
/// Dropping `stdin` is how the server is told that no more requests come.
#[derive(Debug)]
pub struct Pipes {
    /// Where requests go.
    pub stdin: OwnedFd,
    /// Where answers come from.
    pub stdout: OwnedFd,
    /// Where diagnostics come from: only with `StderrMode::Tail` and `StderrMode::Events`.
    pub stderr: Option<OwnedFd>,
}

/// Writes as many of `bytes` as the pipe takes now, and never raises SIGPIPE in the host.
///
/// Drivers call it with what `Output::Write` lends. An interrupted write is repeated.
///
/// The host's disposition of SIGPIPE is never changed: only where it is the default action, which would end the
/// host, the signal is blocked on this thread around the write and taken back.
///
/// # Errors
///
/// [`io::ErrorKind::WouldBlock`] when the pipe is full, [`io::ErrorKind::BrokenPipe`] when the server has closed its
/// input or is gone.
///
/// ```
/// use sans_mcp::Server;
///
/// let (child, pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
/// assert_eq!(sans_mcp_process::write(&pipes.stdin, b"ping\n").expect("the pipe is empty"), 5);
/// # drop(child);
/// ```
pub fn write(stdin: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| sigpipe::write(stdin.as_fd(), bytes))?)
}

/// Reads as much as is there and fits into `buffer`; 0 is the end of output. An interrupted read is repeated.
///
/// Drivers call it for the server's output with what `Session::read_space` lends, never with an empty buffer.
///
/// # Errors
///
/// [`io::ErrorKind::WouldBlock`] when nothing is there.
///
/// ```
/// use sans_mcp::Server;
/// use std::io::ErrorKind;
///
/// let (child, pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
/// let nothing = sans_mcp_process::read(&pipes.stdout, &mut [0; 64]).map_err(|error| error.kind());
/// assert_eq!(nothing, Err(ErrorKind::WouldBlock));
/// # drop(child);
/// ```
pub fn read(output: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::io::read(output.as_fd(), &mut *buffer))?)
}

/// A pipe into the server: its end and the host's.
pub(crate) fn input() -> io::Result<(PipeReader, OwnedFd)> {
    let (server, host) = pipe()?;
    ioctl_fionbio(&host, true)?;
    Ok((server, host.into()))
}

/// A pipe out of the server: its end and the host's.
pub(crate) fn output() -> io::Result<(PipeWriter, OwnedFd)> {
    let (host, server) = pipe()?;
    ioctl_fionbio(&host, true)?;
    Ok((server, host.into()))
}
