//! Bodies of the fuzz targets. Each takes any bytes, and panics when something that must hold does not.
//!
//! They are ordinary functions that build with any compiler: cargo-fuzz drives them for as long as it is told, and
//! `cargo test` replays what `corpus/` keeps of that.
//!
//! | target | bytes are | what must hold |
//! |---|---|---|
//! | [`lines`] | output of a server | cut in any way, and split by a naive reader, it comes to the same |
//! | [`envelope`] | one line of output | it means what a naive reader takes it for |
//! | [`session`] | a timeline of commands and of raw output | the invariants; the same when all bytes move in pieces |
//! | [`history`] | steps of a history | the invariants; the same when it is played again |
//! | [`encoding`] | what a host hands in | what is written is one message, and means what was handed in |
//! | [`catalog`] | lists of tools, and values | the catalog is that of a naive reader; no value is refused that fits |
//! | [`stderr`] | secrets, and standard error output | nothing of a secret is shown; what is shown is harmless |
//! | [`script`] | a script | every command completes once; events are JSON; the same when it comes in pieces |

pub mod catalog;
pub mod encoding;
pub mod envelope;
pub mod history;
pub mod lines;
pub mod script;
pub mod session;
mod source;
mod stage;
pub mod stderr;

use std::fs;
use std::io;
use std::path::Path;

/// A target's body.
pub type Run = fn(&[u8]);

/// Every target, by its name.
pub const TARGETS: [(&str, Run); 8] = [
    ("lines", lines::run),
    ("envelope", envelope::run),
    ("session", session::run),
    ("history", history::run),
    ("encoding", encoding::run),
    ("catalog", catalog::run),
    ("stderr", stderr::run),
    ("script", script::run),
];

/// Runs a target over the files at `path`, which is one or a folder of them, and gives their number.
///
/// # Errors
/// A file cannot be read.
pub fn replay(run: Run, path: &Path) -> io::Result<usize> {
    if !path.is_dir() {
        run(&fs::read(path)?);
        return Ok(1);
    }
    let mut count = 0;
    for entry in fs::read_dir(path)? {
        count += replay(run, &entry?.path())?;
    }
    Ok(count)
}

/// Makes the program of a target.
#[macro_export]
macro_rules! target {
    ($run:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $run(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for path in std::env::args_os().skip(1) {
                $crate::replay($run, path.as_ref())?;
            }
            Ok(())
        }
    };
}
