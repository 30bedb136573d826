//! Finds the file to execute, and says why one cannot be (row L06).

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    io::Errno,
};
use sans_mcp::StartFailure;

/// The file that `command` names, as an absolute path.
///
/// As `execvp` does it: a name without a slash is looked up in `path`, whose first executable file wins; all that is
/// relative, entries of `path` included, is relative to `directory`, where the server will run, or to the host's.
pub(crate) fn find(command: &str, path: &OsStr, directory: Option<&Path>) -> Result<PathBuf, StartFailure> {
    if directory.is_some_and(|directory| !may_enter(directory)) {
        return Err(StartFailure::BadWorkingDirectory);
    }
    let directory = directory.unwrap_or(Path::new(""));
    let found =
        if command.contains('/') { directory.join(command) } else { search(command, path, directory)? };
    // What may not be executed anyway is told so by the system, whatever is in it.
    if may_execute(&found) && is_text_without_interpreter(&found) {
        return Err(StartFailure::NotExecutable);
    }
    std::path::absolute(found).map_err(|error| system(&error))
}

/// Why executing `executable` failed with `error`. The system has one error number for several causes: it says "not
/// found" also of the interpreter that a script names.
pub(crate) fn explain(error: &io::Error, executable: &Path, searched_path: bool) -> StartFailure {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => {
            match fs::metadata(executable) {
                Ok(_) => StartFailure::NotExecutable,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => StartFailure::NotPermitted,
                Err(_) => StartFailure::NotFound { searched_path },
            }
        }
        Some(Errno::ACCESS | Errno::PERM) => StartFailure::NotPermitted,
        Some(Errno::NOEXEC) => StartFailure::NotExecutable,
        _ => system(error),
    }
}

/// A failure that has to do neither with the executable nor with the working directory.
pub(crate) fn system(error: &io::Error) -> StartFailure {
    // Without a number the standard library itself refused the text, for a NUL byte in it.
    let errno = Errno::from_io_error(error).unwrap_or(Errno::INVAL);
    match errno {
        Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            StartFailure::NoResources { errno: errno.raw_os_error() }
        }
        _ => StartFailure::System { errno: errno.raw_os_error() },
    }
}

fn search(command: &str, path: &OsStr, directory: &Path) -> Result<PathBuf, StartFailure> {
    let mut failure = StartFailure::NotFound { searched_path: true };
    if path.is_empty() {
        return Err(failure);
    }
    for entry in std::env::split_paths(path) {
        let file = directory.join(entry).join(command);
        if !file.is_file() {
            continue;
        }
        if may_execute(&file) {
            return Ok(file);
        }
        failure = StartFailure::NotPermitted;
    }
    Err(failure)
}

fn may_enter(directory: &Path) -> bool {
    directory.is_dir() && may_execute(directory)
}

fn may_execute(file: &Path) -> bool {
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Whether the file is text that names no interpreter. Some systems' `execvp` and `posix_spawnp` hand such a file to
/// a shell, and nothing is started through a shell (row L02). Every binary format has a NUL byte in its header.
fn is_text_without_interpreter(file: &Path) -> bool {
    const HEADER: u64 = 256;
    let mut header = Vec::new();
    let read = || File::open(file)?.take(HEADER).read_to_end(&mut header);
    // Opening anything but a regular file may wait for ever or have an effect.
    file.is_file() && { read }().is_ok() && !header.starts_with(b"#!") && !header.contains(&0)
}

#[cfg(test)]
mod tests;
