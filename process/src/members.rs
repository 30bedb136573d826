//! Who is in a process group, on Linux.
//!
//! A signal number of 0 tells whether a group has a member, but a dead one that nobody reaps counts: a container
//! whose first process reaps nothing would keep every group for ever.

use std::io;

use rustix::process::Pid;

use crate::stat::{Stat, processes};

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
    for process in processes()? {
        // It may be gone by now.
        match Stat::read(process?) {
            Some(stat) if stat.group != group.as_raw_pid() => {}
            Some(stat) if stat.is_alive() => members.alive += 1,
            Some(_) => members.dead += 1,
            None => {}
        }
    }
    Ok(members)
}
