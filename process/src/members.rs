//! Who is in a process group, on Linux.
//!
//! A signal number of 0 tells whether a group has a member, but a dead one that nobody reaps counts: a container
//! whose first process reaps nothing would keep every group for ever.

use std::{ffi::OsStr, fs, io};

use rustix::process::Pid;

/// The members of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members {
    /// Processes that run.
    pub(crate) alive: u32,
    /// Processes that ended and wait for their parent to reap them.
    pub(crate) dead: u32,
}

/// Counts the members of `group` that this process may see. Processes started meanwhile may be missed.
pub(crate) fn members(group: Pid) -> io::Result<Members> {
    let mut members = Members::default();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        if !is_number(&entry.file_name()) {
            continue;
        }
        // It may be gone by now.
        let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
        match Stat::parse(&stat) {
            Some(stat) if stat.group != group.as_raw_pid() => {}
            Some(stat) if stat.is_alive() => members.alive += 1,
            Some(_) => members.dead += 1,
            None => {}
        }
    }
    Ok(members)
}

fn is_number(name: &OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

/// What is needed of `/proc/<pid>/stat` (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    group: i32,
    threads: u32,
}

impl Stat {
    fn parse(text: &[u8]) -> Option<Stat> {
        // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
        let name_end = text.iter().rposition(|&byte| byte == b')')?;
        let text = std::str::from_utf8(text.get(name_end + 1..)?).ok()?;
        let mut fields = text.split_ascii_whitespace(); // from the third field on
        let state = *fields.next()?.as_bytes().first()?;
        let group = fields.nth(1)?.parse().ok()?; // the fifth
        let threads = fields.nth(14)?.parse().ok()?; // the twentieth
        Some(Stat { state, group, threads })
    }

    /// A process whose first thread ended looks like a zombie while its other threads run on.
    fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X') || self.threads > 1
    }
}

#[cfg(test)]
mod tests;
