//! Writing to stdout and stderr, and what it means when that fails.

use std::io::{self, Write};

use super::status::Status;
use super::text;

/// Writes all of it to stdout, now.
pub(super) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Says why a result could not be written, and with which status the command ends then; that a reader has left is no
/// fault.
pub(super) fn written(written: io::Result<()>) -> Result<(), Status> {
    written.map_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Status::Fine;
        }
        note(&format!("cannot write the result: {error}"));
        Status::Reported
    })
}

/// Says something about what is going on, on stderr.
pub(super) fn note(text: &str) {
    // Nobody can be told that stderr cannot be written.
    let _ = writeln!(io::stderr(), "sans-mcp: {}", text::visible(text));
}
