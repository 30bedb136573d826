//! A server and its pipes.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};
use rustix::pipe::fcntl_setpipe_size;

use crate::Outcome;
use crate::floor::Lines;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"pump","version":"1"}}}"#,
    "\n",
);

const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

pub(crate) struct Pipes {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    reading: Reading,
}

/// What is done with what is read.
enum Reading {
    Counted(Vec<u8>),
    Understood(Lines),
}

impl Pipes {
    /// Starts the server and shakes hands with it.
    pub(crate) fn connect(program: &str, floor: bool) -> Outcome<Pipes> {
        let arguments = std::env::var("BENCH_SERVER_ARGS").unwrap_or_default();
        let mut child = Command::new(program)
            .args(arguments.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a server without pipes".into());
        };
        // As large as the clients have it for long lines at most; where the system has no more room, it stays as it is.
        let _ = fcntl_setpipe_size(&output, 1 << 20);
        let reading =
            if floor { Reading::Understood(Lines::new()) } else { Reading::Counted(vec![0; 256 << 10]) };
        let mut pipes = Pipes { child, input, output, reading };
        pipes.ask(INITIALIZE.as_bytes(), 1)?;
        pipes.write_all(INITIALIZED.as_bytes())?;
        Ok(pipes)
    }

    /// Writes all of this, and reads so many lines.
    pub(crate) fn ask(&mut self, requests: &[u8], answers: usize) -> Outcome {
        self.write_all(requests)?;
        let mut lines = 0;
        while lines < answers {
            lines += self.read()?;
        }
        Ok(())
    }

    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> Outcome {
        while !bytes.is_empty() {
            let count = self.write(bytes)?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Writes some of this; 0 if it would block.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome<usize> {
        Ok(moved(write(&self.input, bytes))?.unwrap_or_default())
    }

    /// Reads some, and says how many lines became whole.
    pub(crate) fn read(&mut self) -> Outcome<usize> {
        Ok(self.try_read()?.unwrap_or_default())
    }

    /// The same; `None` if it would block.
    pub(crate) fn try_read(&mut self) -> Outcome<Option<usize>> {
        let space = match &mut self.reading {
            Reading::Counted(buffer) => buffer.as_mut_slice(),
            Reading::Understood(lines) => lines.space(),
        };
        let Some(count) = moved(read(&self.output, space))? else { return Ok(None) };
        if count == 0 {
            return Err("the server left".into());
        }
        Ok(Some(match &mut self.reading {
            Reading::Counted(buffer) => {
                memchr::memchr_iter(b'\n', buffer.get(..count).unwrap_or_default()).count()
            }
            Reading::Understood(lines) => lines.filled(count)?,
        }))
    }

    /// From now on neither reading nor writing waits.
    pub(crate) fn never_wait(&self) -> Outcome {
        ioctl_fionbio(&self.input, true)?;
        ioctl_fionbio(&self.output, true)?;
        Ok(())
    }

    /// Waits until there is something to read or, if that is wanted, room to write.
    pub(crate) fn wait(&self, to_write: bool) -> Outcome {
        let mut both = [PollFd::new(&self.output, PollFlags::IN), PollFd::new(&self.input, PollFlags::OUT)];
        let wanted = if to_write { 2 } else { 1 };
        match poll(both.get_mut(..wanted).unwrap_or_default(), None) {
            Err(Errno::INTR) => Ok(()),
            ready => Ok(ready.map(drop)?),
        }
    }

    /// Closes the server's input and waits for it to exit.
    pub(crate) fn close(self) -> Outcome {
        let Pipes { mut child, input, .. } = self;
        drop(input);
        child.wait()?;
        Ok(())
    }
}

fn moved(count: Result<usize, Errno>) -> io::Result<Option<usize>> {
    match count {
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        count => Ok(Some(count?)),
    }
}
