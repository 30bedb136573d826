//! What people see: results on stdout, everything else on stderr.

use std::io::{self, IsTerminal, Write};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::status::Status;
use super::{stdio, text};

/// Work that is done sooner needs no progress line.
const LONG: Duration = Duration::from_secs(1);
/// Between two looks at the progress.
const LOOK: Duration = Duration::from_millis(250);

/// Stdout for results and nothing else, stderr for all that is said about them.
#[derive(Debug)]
pub(super) struct Console {
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    /// The progress line that is shown, in characters.
    progress: Mutex<usize>,
}

impl Console {
    pub(super) fn new() -> Console {
        Console {
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            progress: Mutex::new(0),
        }
    }

    /// Whether somebody may be watching.
    pub(super) fn is_watched(&self) -> bool {
        self.stderr_is_terminal
    }

    /// Writes a result. What a server sent does not act on a terminal; to anything else it goes as it is. If it could
    /// not be written, the command ends with the status that is given; that a reader has left is no fault.
    ///
    /// A reader may be slow for as long as it likes, so this can be dropped: a signal is not kept waiting.
    pub(super) async fn result(&self, result: String) -> Result<(), Status> {
        self.clear_progress();
        let result = if self.stdout_is_terminal { text::visible(&result) } else { result };
        let (done, written) = oneshot::channel();
        // Whoever waited for it may be gone.
        thread::spawn(move || done.send(stdio::write(result.as_bytes())));
        written.await.map_or(Err(Status::Reported), stdio::written)
    }

    /// Says something about what is going on.
    pub(super) fn note(&self, text: &str) {
        let mut progress = self.progress();
        clear(&mut progress);
        stdio::note(text);
    }

    /// Shows how far something is, in place of what was shown before.
    fn progress_line(&self, line: &str) {
        let mut progress = self.progress();
        let line = text::one_line(line, 78);
        let length = line.chars().count();
        let covered = progress.saturating_sub(length);
        let _ = write!(io::stderr(), "\r{line}{:covered$}", "");
        *progress = length;
    }

    /// Awaits work, and after a while shows how long it takes and what `so_far` says of it; only on a terminal.
    pub(super) async fn watch<R>(
        &self,
        name: &str,
        so_far: impl Fn() -> String,
        work: impl Future<Output = R>,
    ) -> R {
        if !self.stderr_is_terminal {
            return work.await;
        }
        let began = Instant::now();
        let mut looks = tokio::time::interval(LOOK);
        let mut work = pin!(work);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = looks.tick() => {}
            }
            let elapsed = began.elapsed();
            if elapsed >= LONG {
                self.progress_line(&format!("{name}: {} s{}", elapsed.as_secs(), so_far()));
            }
        };
        self.clear_progress();
        done
    }

    /// Takes the progress line away.
    pub(super) fn clear_progress(&self) {
        clear(&mut self.progress());
    }

    fn progress(&self) -> MutexGuard<'_, usize> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clear(progress: &mut usize) {
    let length = std::mem::take(progress);
    if length > 0 {
        let _ = write!(io::stderr(), "\r{:length$}\r", "");
    }
}
