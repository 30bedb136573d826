//! How much memory a process holds, where the system tells.

use std::fs;

/// Resident memory of a process now, in bytes.
pub(super) fn of_process(id: u32) -> Option<u64> {
    field(&format!("/proc/{id}/status"), "VmRSS:")
}

/// The most that this process ever held, in bytes.
pub(super) fn own_peak() -> Option<u64> {
    field("/proc/self/status", "VmHWM:")
}

fn field(file: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(file).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}
