//! What a session learns about the life of its process, in words that need no operating system.

use std::fmt;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It is gone, and somebody else took the status: the host reaps children on its own.
    Unknown,
}

impl Exit {
    /// Whether it exited with code 0.
    pub const fn is_success(self) -> bool {
        matches!(self, Exit::Code(0))
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Unknown => f.write_str("unknown exit status"),
        }
    }
}

/// A signal for the whole process group of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGTERM: please leave.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signalled {
    /// At least one process of the group got it.
    Delivered,
    /// The group has no process.
    NoProcess,
    /// The system forbids it.
    NotPermitted,
}

/// What is known of the processes that a server started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// None is left.
    Gone,
    /// At least this many are left.
    Alive(u32),
    /// It could not be found out, for instance for want of permission.
    Unknown,
}

/// Why a process could not be started (row L06). Nothing is running.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartFailure {
    /// There is no such executable.
    NotFound {
        /// Whether it was looked up in PATH, because it was given as a bare name.
        searched_path: bool,
    },
    /// The executable may not be executed.
    NotPermitted,
    /// The file is not in a format that the system can execute: an interpreter line is missing, or it is for
    /// another machine.
    NotExecutable,
    /// The working directory does not exist, is no directory, or may not be entered.
    BadWorkingDirectory,
    /// The system has no process, descriptor or memory left.
    NoResources {
        /// The system's error number.
        errno: i32,
    },
    /// Anything else.
    System {
        /// The system's error number.
        errno: i32,
    },
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartFailure::NotFound { searched_path: true } => {
                f.write_str("not found in PATH: install it, or give its full path")
            }
            StartFailure::NotFound { searched_path: false } => {
                f.write_str("there is no such file: check the path")
            }
            StartFailure::NotPermitted => {
                f.write_str("not permitted to execute it: check the file's mode and owner")
            }
            StartFailure::NotExecutable => f.write_str(
                "not an executable for this system: a script needs a `#!` line naming an interpreter that is there",
            ),
            StartFailure::BadWorkingDirectory => f.write_str(
                "the working directory is missing, no directory, or may not be entered: check its path",
            ),
            StartFailure::NoResources { errno } => {
                write!(
                    f,
                    "the system has no process, descriptor or memory left (errno {errno}): raise the limit or close something"
                )
            }
            StartFailure::System { errno } => write!(f, "the system refused (errno {errno})"),
        }
    }
}
