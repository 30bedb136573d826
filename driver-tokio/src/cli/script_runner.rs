//! All of `script` that is not about a driver: reads commands, prints events, and knows how the process ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;

use sans_mcp::script::{Answers, Operation, Script};
use sans_mcp::{Output, Session, Time};

use super::status::Status;
use super::stdio;

/// Bytes of a script that are read at once.
const CHUNK: usize = 64 << 10;
/// Events that wait for the thread that prints them.
const PRINTING: usize = 64;

/// Where commands come from.
pub(super) type Source = Box<dyn Read + Send>;

/// Why there are no commands.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the script `{}`: {error}", .file.display())]
pub(super) struct Unreadable {
    file: PathBuf,
    error: io::Error,
}

/// Opens the file with the commands, or stdin, before anything is started.
pub(super) fn open(file: &Path) -> Result<Source, Unreadable> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let source = File::open(file).and_then(|source| {
        // Opening a directory works; only reading from it would fail.
        if source.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(source) }
    });
    match source {
        Ok(source) => Ok(Box::new(source)),
        Err(error) => Err(Unreadable { file: file.to_owned(), error }),
    }
}

/// A script between its source, stdout and the session of a driver.
///
/// A driver hands it every output, and has it [`advance`](Runner::advance) whenever there was one, when it was woken, and
/// at its [timeout](Runner::next_timeout), until it [is over](Runner::is_over); then it asks for the
/// [`status`](Runner::status) whenever it was woken, until there is one.
pub(super) struct Runner<W> {
    script: Script,
    wake: W,
    /// None once they have ended.
    commands: Option<Receiver<io::Result<Vec<u8>>>>,
    /// None once nobody reads the events.
    printer: Option<SyncSender<String>>,
    /// How printing ended, once.
    printed: Receiver<io::Result<()>>,
    written: Option<io::Result<()>>,
    /// An event for which the printer had no room.
    held: Option<String>,
    /// Reading the script failed.
    unreadable: bool,
    signal: Option<Status>,
}

impl<W: Fn() + Clone + Send + 'static> Runner<W> {
    /// `wake` has the driver come back; it is called from any thread.
    pub(super) fn new(answers: Answers, source: Source, wake: W) -> Runner<W> {
        let (chunks, commands) = sync_channel(1);
        let (printer, events) = sync_channel(PRINTING);
        let (done, printed) = channel();
        let (woken_by_reader, woken_by_printer) = (wake.clone(), wake.clone());
        thread::spawn(move || read(source, &chunks, woken_by_reader));
        thread::spawn(move || print(events, &done, woken_by_printer));
        Runner {
            script: Script::new(answers),
            wake,
            commands: Some(commands),
            printer: Some(printer),
            printed,
            written: None,
            held: None,
            unreadable: false,
            signal: None,
        }
    }

    /// Takes an output of the session.
    pub(super) fn handle_output(&mut self, output: Output<'_, Operation>) {
        self.script.handle_output(output);
    }

    /// Carries out commands and hands out events.
    pub(super) fn advance(&mut self, session: &mut Session<Operation>, now: Time) {
        self.script.advance(session, now);
        while self.print(session, now) {
            self.script.advance(session, now);
        }
        if self.script.wants_input() && self.read(session, now) {
            // One chunk at a time, so that a long script does not queue more than a session takes.
            (self.wake)();
        }
    }

    /// When to advance at the latest.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.script.next_timeout()
    }

    /// Takes a signal, which closes the session. False: it is the second one, so the close takes too long, and dropping
    /// the connection kills what still runs.
    pub(super) fn handle_signal(
        &mut self,
        session: &mut Session<Operation>,
        now: Time,
        signal: Status,
    ) -> bool {
        if self.signal.is_some() {
            return false;
        }
        self.signal = Some(signal);
        session.close(now);
        true
    }

    /// Whether the session is over and every event is with the printer.
    pub(super) fn is_over(&self) -> bool {
        self.script.is_over() && self.held.is_none()
    }

    /// How the process ends, once every event that was handed to the printer is printed. No more are handed to it.
    pub(super) fn status(&mut self, session: &Session<Operation>) -> Option<Status> {
        self.printer = None;
        let written = self.written.take().or_else(|| self.printed.try_recv().ok())?;
        if let Err(failed @ Status::Reported) = stdio::written(written) {
            return Some(failed);
        }
        let ended = session.end().map_or(Status::Fine, Status::of_end);
        Some(match self.signal {
            Some(signal) => signal,
            None if ended == Status::Fine && (self.unreadable || self.script.bad_lines() > 0) => {
                Status::Usage
            }
            None => ended,
        })
    }

    /// Hands events to the printer; whether any was.
    fn print(&mut self, session: &mut Session<Operation>, now: Time) -> bool {
        if self.written.is_none() {
            // It ends by itself only when it cannot write.
            self.written = self.printed.try_recv().ok();
        }
        if self.printer.is_some() && self.written.is_some() {
            self.printer = None;
            session.close(now);
        }
        let mut any = false;
        while let Some(event) = self.held.take().or_else(|| self.script.poll_event()) {
            // Once it is gone events are for nobody.
            if let Some(Err(TrySendError::Full(event))) = self.printer.as_ref().map(|to| to.try_send(event)) {
                self.held = Some(event);
                break;
            }
            any = true;
        }
        any
    }

    /// Takes the next chunk of the script, if it is there.
    fn read(&mut self, session: &mut Session<Operation>, now: Time) -> bool {
        let Some(read) = self.commands.as_ref().and_then(|commands| commands.try_recv().ok()) else {
            return false;
        };
        match read {
            Ok(bytes) if !bytes.is_empty() => self.script.handle_input(&bytes),
            ended => {
                self.commands = None;
                self.script.handle_end();
                if let Err(error) = ended {
                    stdio::note(&format!("the script cannot be read any more: {error}"));
                    self.unreadable = true;
                    session.close(now);
                }
            }
        }
        true
    }
}

/// Reads on a thread of its own: stdin may be a terminal, and nothing but its end stops a read from it. The last chunk
/// is empty, or an error.
fn read(mut source: Source, chunks: &SyncSender<io::Result<Vec<u8>>>, wake: impl Fn()) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match source.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map(|count| {
                chunk.truncate(count);
                chunk
            }),
        };
        let is_last = read.as_ref().map_or(true, Vec::is_empty);
        let sent = chunks.send(read);
        wake();
        if is_last || sent.is_err() {
            return;
        }
    }
}

/// Prints on a thread of its own, so that a reader who is slow delays neither deadlines nor signals.
fn print(events: Receiver<String>, done: &Sender<io::Result<()>>, wake: impl Fn()) {
    let mut written = Ok(());
    while let (Ok(()), Ok(mut event)) = (&written, events.recv()) {
        event.push('\n');
        written = stdio::write(event.as_bytes());
        // There is room for another one.
        wake();
    }
    // Whoever waited for this may be gone.
    let _ = done.send(written);
    wake();
}
