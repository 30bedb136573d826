//! How many clients are written at first: a reader that takes a chunk for a message, a parent that never reads
//! stderr, a line that may grow for ever.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::IgnoredAny;

use super::memory;

/// The request that opens every conversation.
const INITIALIZE: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"naive","version":"1"}}}"#,
    "\n"
)
.as_bytes();

/// What calls `echo`, the handshake done.
const CALL: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"value":"x"}}}"#,
    "\n"
)
.as_bytes();

/// A server with pipes that are read carelessly, or not at all. Dropping it kills the process and reaps it.
struct Parent {
    child: Child,
    began: Instant,
    deadline: Instant,
}

impl Drop for Parent {
    fn drop(&mut self) {
        // It may have left by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Parent {
    fn start(command: &[String], bound: Duration) -> io::Result<Parent> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let began = Instant::now();
        Ok(Parent { child, began, deadline: began + bound })
    }

    fn ask(&mut self, request: &[u8]) -> io::Result<()> {
        match &mut self.child.stdin {
            Some(stdin) => stdin.write_all(request),
            None => Ok(()),
        }
    }

    /// One read, or nothing once the time is over or the output has ended.
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(stdout) = &mut self.child.stdout else { return Ok(None) };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(stdout, PollFlags::IN)];
        if poll(&mut fds, Some(&Timespec::try_from(left).unwrap_or_default()))? == 0 {
            return Ok(None);
        }
        Ok(Some(stdout.read(chunk)?).filter(|count| *count > 0))
    }
}

/// What a reader got that takes every chunk for a message.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    pub(super) chunks: usize,
    pub(super) messages: usize,
    /// What the parser said to the first chunk that was no message.
    pub(super) fault: Option<String>,
}

/// Shakes hands with a server, parsing chunk by chunk.
pub(super) fn chunks(command: &[String], bound: Duration) -> io::Result<Chunks> {
    let mut parent = Parent::start(command, bound)?;
    parent.ask(INITIALIZE)?;
    let mut seen = Chunks::default();
    let mut chunk = vec![0; 64 << 10];
    while let Some(count) = parent.read(&mut chunk)? {
        seen.chunks += 1;
        match serde_json::from_slice::<IgnoredAny>(chunk.get(..count).unwrap_or_default()) {
            Ok(_) => seen.messages += 1,
            Err(error) => seen.fault = seen.fault.or_else(|| Some(error.to_string())),
        }
    }
    Ok(seen)
}

/// What a parent got that never reads stderr.
#[derive(Debug)]
pub(super) struct Unread {
    /// How long the first line of stdout took, if it came.
    pub(super) answered: Option<Duration>,
    /// Memory of the server before it was asked and at the end, in bytes, where the system tells.
    pub(super) memory: Option<(u64, u64)>,
}

/// Shakes hands with a server and leaves its stderr alone.
pub(super) fn unread_stderr(command: &[String], bound: Duration) -> io::Result<Unread> {
    let mut parent = Parent::start(command, bound)?;
    let id = parent.child.id();
    let before = settled_memory(id);
    parent.began = Instant::now();
    parent.deadline = parent.began + bound;
    parent.ask(INITIALIZE)?;
    let mut chunk = [0; 4 << 10];
    let answered = parent.read(&mut chunk)?.map(|_| parent.began.elapsed());
    Ok(Unread { answered, memory: before.zip(memory::of_process(id)) })
}

/// Memory of a process once its interpreter has started: when it did not change between two looks.
fn settled_memory(id: u32) -> Option<u64> {
    let mut last = memory::of_process(id)?;
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(50));
        let now = memory::of_process(id)?;
        if now == last && now > 0 {
            return Some(now);
        }
        last = now;
    }
    Some(last)
}

/// How much a reader held that waits for the end of a line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) bytes: usize,
    pub(super) ended: bool,
}

/// Calls `echo` and waits for the line with its answer to end, but holds no more than `most`: a reader without that
/// bound would go on.
pub(super) fn line(command: &[String], most: usize, bound: Duration) -> io::Result<Line> {
    let mut parent = Parent::start(command, bound)?;
    parent.ask(INITIALIZE)?;
    parent.ask(CALL)?;
    let mut held = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    // The answer of the handshake, and that of the call.
    let mut lines = 0;
    while lines < 2 && held.len() < most {
        let Some(count) = parent.read(&mut chunk)? else { break };
        for piece in chunk.get(..count).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            held.extend_from_slice(piece);
            if held.ends_with(b"\n") {
                lines += 1;
                held.clear();
            }
        }
    }
    Ok(Line { bytes: held.len(), ended: lines == 2 })
}
