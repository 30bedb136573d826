//! SIGHUP that is ignored has to stay so.

use std::fs;

/// Whether this process was started so that it outlives its terminal, as `nohup` does; watching would undo that. Only
/// Linux tells.
pub(super) fn is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1, which is SIGHUP.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
