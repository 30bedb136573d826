//! `script`: the interpreter between stdin, a connection and stdout.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::Duration;

use sans_mcp::script::{Answers, Operation, Script};
use sans_mcp::{Output, Server};
use tokio::sync::{mpsc, oneshot};

use super::console::{self, Console};
use super::interrupt::Interrupt;
use super::options;
use super::report;
use super::status::Status;
use crate::Connection;

/// Bytes of a script that are read at once.
const CHUNK: usize = 64 << 10;
/// Events that wait for the thread that prints them.
const PRINTING: usize = 64;

/// Where commands come from.
pub(super) type Source = Box<dyn Read + Send>;

/// Opens the file with the commands, or stdin, before anything is started.
pub(super) fn open(file: &Path) -> io::Result<Source> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let source = File::open(file)?;
    // Opening a directory works; only reading from it would fail.
    if source.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(Box::new(source))
}

pub(super) async fn script(
    console: &Console,
    interrupt: &mut Interrupt,
    mut server: Server,
    source: Source,
    answers: Answers,
    options: &options::Script,
) -> Status {
    let settings = &mut server.settings;
    settings.capabilities = answers.capabilities();
    settings.list_on_connect = true;
    settings.check_arguments = !options.tools.no_validate;
    settings.check_results = !options.tools.no_validate;
    if options.max_total.is_some() {
        settings.timeouts.maximum = options.max_total;
    }
    let connection = match Connection::new(server) {
        Ok(connection) => connection,
        Err(error) => {
            console.note(&report::config(&error));
            return Status::Usage;
        }
    };
    let (printer, printed) = print();
    let run = Run {
        console,
        connection,
        script: Script::new(answers),
        lines: Some(read(source)),
        printer: Some(printer),
        closed: false,
        unreadable: false,
        signal: None,
    };
    let status = run.finish(interrupt).await;
    // What was handed to the printer is printed before the process ends, unless nobody wants to wait for that.
    tokio::select! {
        printed = printed => match console.written(printed.unwrap_or(Ok(()))) {
            Err(failed) if failed != Status::Fine => failed,
            _ => status,
        },
        signal = interrupt.next() => signal,
    }
}

struct Run<'a> {
    console: &'a Console,
    connection: Connection<Operation>,
    script: Script,
    /// None once they have ended.
    lines: Option<mpsc::Receiver<io::Result<Vec<u8>>>>,
    /// None once nobody reads the events.
    printer: Option<mpsc::Sender<String>>,
    /// The session is over.
    closed: bool,
    /// Reading the script failed.
    unreadable: bool,
    signal: Option<Status>,
}

/// What was waited for.
enum Next {
    Output,
    Lines(Option<io::Result<Vec<u8>>>),
    Printer,
    Time,
    Signal(Status),
}

impl Run<'_> {
    async fn finish(mut self, interrupt: &mut Interrupt) -> Status {
        while !self.script.is_over() {
            let printer_is_full = !self.advance();
            if self.script.is_over() {
                break;
            }
            match self.next(interrupt, printer_is_full).await {
                Next::Lines(Some(Ok(bytes))) => self.script.handle_input(&bytes),
                Next::Lines(ended) => {
                    self.lines = None;
                    self.script.handle_end();
                    if let Some(Err(error)) = ended {
                        self.console.note(&format!("the script cannot be read any more: {error}"));
                        self.unreadable = true;
                        let now = self.connection.now();
                        self.connection.session_mut().close(now);
                    }
                }
                // Being told once more means that the close takes too long: what still runs is killed by the drop.
                Next::Signal(_) if self.signal.is_some() => break,
                Next::Signal(signal) => {
                    self.signal = Some(signal);
                    let now = self.connection.now();
                    self.connection.session_mut().close(now);
                }
                Next::Output | Next::Printer | Next::Time => {}
            }
        }
        self.status()
    }

    /// Carries out commands and hands out events; false if the printer has no room for them.
    fn advance(&mut self) -> bool {
        loop {
            let now = self.connection.now();
            self.script.advance(self.connection.session_mut(), now);
            let Some(printer) = &self.printer else {
                while self.script.poll_event().is_some() {}
                return true;
            };
            if printer.is_closed() {
                self.printer = None;
                self.connection.session_mut().close(now);
            } else if printer.capacity() == 0 {
                return false;
            } else if let Some(event) = self.script.poll_event() {
                // There is room, since nobody else sends; and if the printer has just gone the next turn finds out.
                let _ = printer.try_send(event);
            } else {
                return true;
            }
        }
    }

    async fn next(&mut self, interrupt: &mut Interrupt, printer_is_full: bool) -> Next {
        let Run { connection, script, lines, printer, closed, .. } = self;
        let sleep = script.next_timeout().map(|time| time.since(connection.now()));
        let wants_input = script.wants_input() && lines.is_some();
        let is_open = !*closed;
        tokio::select! {
            _ = connection.next(|output| {
                *closed |= matches!(output, Output::Closed(_));
                script.handle_output(output);
                Some(())
            }), if is_open => Next::Output,
            read = receive(lines), if wants_input => Next::Lines(read),
            () = changed(printer, printer_is_full), if printer.is_some() => Next::Printer,
            () = tokio::time::sleep(sleep.unwrap_or(Duration::MAX)), if sleep.is_some() => Next::Time,
            signal = interrupt.next() => Next::Signal(signal),
        }
    }

    fn status(&self) -> Status {
        let ended = self.connection.session().end().map_or(Status::Fine, Status::of_end);
        match self.signal {
            Some(signal) => signal,
            None if ended == Status::Fine && (self.unreadable || self.script.bad_lines() > 0) => {
                Status::Usage
            }
            None => ended,
        }
    }
}

async fn receive(lines: &mut Option<mpsc::Receiver<io::Result<Vec<u8>>>>) -> Option<io::Result<Vec<u8>>> {
    match lines {
        Some(lines) => lines.recv().await,
        None => None,
    }
}

/// Waits until a printer that was full has room, or until it is gone.
async fn changed(printer: &Option<mpsc::Sender<String>>, was_full: bool) {
    match printer {
        Some(printer) if was_full => drop(printer.reserve().await),
        Some(printer) => printer.closed().await,
        None => {}
    }
}

/// Reads on a thread of its own: stdin may be a terminal, and nothing but its end stops a read from it.
fn read(mut source: Source) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        loop {
            let mut chunk = vec![0; CHUNK];
            let read = source.read(&mut chunk).map(|count| chunk.truncate(count));
            let last = !matches!(read, Ok(()) if !chunk.is_empty());
            let sent = match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(()) if chunk.is_empty() => return,
                read => sender.blocking_send(read.map(|()| chunk)),
            };
            if last || sent.is_err() {
                return;
            }
        }
    });
    receiver
}

/// Prints on a thread of its own, so that a reader who is slow delays neither deadlines nor signals.
fn print() -> (mpsc::Sender<String>, oneshot::Receiver<io::Result<()>>) {
    let (sender, mut receiver) = mpsc::channel::<String>(PRINTING);
    let (done, printed) = oneshot::channel();
    thread::spawn(move || {
        let mut written = Ok(());
        while let (Ok(()), Some(mut event)) = (&written, receiver.blocking_recv()) {
            event.push('\n');
            written = console::write(event.as_bytes());
        }
        // Whoever waited for this may be gone.
        let _ = done.send(written);
    });
    (sender, printed)
}
