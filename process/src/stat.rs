//! What is known of a process by its number, on Linux.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
};

use rustix::process::Pid;

/// The numbers of the processes that this process may see. Processes started meanwhile may be missed.
pub(crate) fn processes() -> io::Result<impl Iterator<Item = io::Result<Pid>>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| entry.map(|entry| number(&entry.file_name())).transpose()))
}

fn number(name: &OsStr) -> Option<Pid> {
    name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
}

/// What is needed of `/proc/<pid>/stat` (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    state: u8,
    /// The parent's number; 0 if it cannot be seen from here.
    pub(crate) parent: i32,
    pub(crate) group: i32,
    threads: u32,
    /// Whether it is a thread of the kernel's own, which has no memory and so no environment.
    pub(crate) is_kernel: bool,
    /// When it started, in ticks since the system did.
    pub(crate) start: u64,
    /// Whether its environment is set up: not while it begins another program, and not once it has begun to exit.
    pub(crate) has_environment: bool,
}

/// `PF_KTHREAD`.
const KERNEL: u64 = 0x0020_0000;

impl Stat {
    /// `None` if there is no such process any more.
    pub(crate) fn read(process: Pid) -> Option<Stat> {
        // Fifty numbers of 20 digits at most and a short name, which the system gives whole to one read.
        let mut text = [0; 2 << 10];
        let length =
            File::open(format!("/proc/{process}/stat")).and_then(|mut stat| stat.read(&mut text)).ok()?;
        Stat::parse(text.get(..length)?)
    }

    fn parse(text: &[u8]) -> Option<Stat> {
        // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
        let name_end = text.iter().rposition(|&byte| byte == b')')?;
        let text = std::str::from_utf8(text.get(name_end + 1..)?).ok()?;
        let mut fields = text.split_ascii_whitespace(); // from the third field on
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?; // the fourth
        let group = fields.next()?.parse().ok()?; // the fifth
        let flags: u64 = fields.nth(3)?.parse().ok()?; // the ninth
        let threads = fields.nth(10)?.parse().ok()?; // the twentieth
        let start = fields.nth(1)?.parse().ok()?; // the twenty-second
        let environment_end: u64 = fields.nth(28)?.parse().ok()?; // the fifty-first
        Some(Stat {
            state,
            parent,
            group,
            threads,
            is_kernel: flags & KERNEL != 0,
            start,
            has_environment: environment_end != 0,
        })
    }

    /// A process whose first thread ended looks like a zombie while its other threads run on.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X') || self.threads > 1
    }
}

#[cfg(test)]
mod tests;
