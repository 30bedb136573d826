//! A server that costs as little as it can, so that what is measured is its client. It trusts that what it reads is JSON as
//! clients write it, reads and writes in bulk, and serves on one thread.
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | gives `value` back, a string |
//! | `blob` | gives a text of so many `bytes` |
//! | `sleep` | answers after so many `ms`, unless it is cancelled |
//! | `stats` | says how many calls are `pending`, and how many came |

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

mod members;
mod serve;
mod sleepers;

use serve::Server;

/// What one read takes at first; it grows with the longest line.
const READ: usize = 1 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let mut server = Server::default();
    let mut buffer = vec![0; READ];
    // What was read, and how much of that is known to have no line end.
    let (mut filled, mut searched) = (0, 0);
    loop {
        wait(&mut server)?;
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let space = buffer.get_mut(filled..).unwrap_or_default();
        let count = match rustix::io::read(rustix::stdio::stdin(), space) {
            Ok(0) => return Ok(()),
            Err(Errno::INTR) => continue,
            count => count?,
        };
        filled += count;
        let read = buffer.get(..filled).unwrap_or_default();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', read.get(searched..).unwrap_or_default()) {
            let end = searched + end;
            server.line(read.get(start..end).unwrap_or_default())?;
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        searched = filled;
        server.flush()?;
    }
}

/// Waits until there is something to read, and wakes the sleepers meanwhile.
fn wait(server: &mut Server) -> io::Result<()> {
    while let Some(next) = server.wake(Instant::now())? {
        let stdin = rustix::stdio::stdin();
        let timeout = Timespec::try_from(next.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            ready => {
                ready?;
                break;
            }
        }
    }
    Ok(())
}
