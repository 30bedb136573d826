//! What a process holds, as the system tells it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Threads, descriptors and children of this process, and tasks of its runtime.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Holdings {
    pub(crate) threads: usize,
    pub(crate) descriptors: usize,
    pub(crate) children: usize,
    pub(crate) tasks: usize,
}

impl Holdings {
    pub(crate) fn count(tasks: usize) -> Holdings {
        let entries = |folder: &str| fs::read_dir(folder).expect("Linux").count();
        Holdings {
            threads: entries("/proc/self/task"),
            descriptors: entries("/proc/self/fd"),
            children: children().len(),
            tasks,
        }
    }
}

/// The children of this process that were not reaped.
pub(crate) fn children() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let numbers = |list: String| -> Vec<i32> {
        list.split_ascii_whitespace().map(|number| number.parse().expect("a number")).collect()
    };
    lists.flat_map(numbers).collect()
}

/// Waits until there is no such process, not even a dead one that nobody reaped: half a second, which is more than a drop
/// waits for it, and as much on a busy machine.
pub(crate) fn assert_gone(process: u32, after: &str) {
    let start = Instant::now();
    while Path::new(&format!("/proc/{process}")).exists() {
        assert!(start.elapsed() < Duration::from_secs(1), "process {process} is left: {after}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The most memory that this process ever had, in bytes.
pub(crate) fn peak() -> u64 {
    number("/proc/self/status", "VmHWM:") << 10
}

/// The memory that this process has now, in bytes.
pub(crate) fn resident() -> u64 {
    number("/proc/self/status", "VmRSS:") << 10
}

/// All bytes that this process ever read.
pub(crate) fn bytes_read() -> u64 {
    number("/proc/self/io", "rchar:")
}

fn number(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).expect("Linux");
    let value = text.lines().find_map(|line| line.strip_prefix(name)).expect("it is told");
    value.split_ascii_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
