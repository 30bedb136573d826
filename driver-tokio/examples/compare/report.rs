//! What a run cost.

use std::fs;
use std::mem::MaybeUninit;
use std::time::Instant;

use serde_json::{Map, Value, json};

/// Time, processor time and system calls since the workload began.
pub(super) struct Meter {
    start: Instant,
    user: f64,
    system: f64,
    reads: u64,
    writes: u64,
}

impl Meter {
    pub(super) fn start() -> Meter {
        let (user, system) = processor_seconds();
        let (reads, writes) = (number("io", "syscr:"), number("io", "syscw:"));
        Meter { start: Instant::now(), user, system, reads, writes }
    }

    /// Prints the line that says what `n` operations took, and `more` about them.
    pub(super) fn report(&self, workload: &str, n: usize, more: Value) {
        let wall = self.start.elapsed().as_secs_f64();
        let (user, system) = processor_seconds();
        let mut line = Map::new();
        line.insert("workload".to_owned(), workload.into());
        line.insert("n".to_owned(), n.into());
        line.insert("wall_s".to_owned(), wall.into());
        line.insert("ops_per_s".to_owned(), json!(n as f64 / wall));
        line.insert("user_s".to_owned(), json!(user - self.user));
        line.insert("sys_s".to_owned(), json!(system - self.system));
        let each = |name, before| json!((number("io", name) - before) as f64 / n as f64);
        line.insert("reads_per_op".to_owned(), each("syscr:", self.reads));
        line.insert("writes_per_op".to_owned(), each("syscw:", self.writes));
        line.insert("rss_kb".to_owned(), memory().into());
        line.insert("maxrss_kb".to_owned(), peak_memory().into());
        if let Value::Object(more) = more {
            line.extend(more);
        }
        println!("{}", Value::Object(line));
    }
}

/// User and system time of this process.
fn processor_seconds() -> (f64, f64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes a usage to memory of its type, and all-zero bytes are a valid one if it does not.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

/// Memory that is resident now, in KiB.
pub(super) fn memory() -> u64 {
    number("status", "VmRSS:")
}

/// The most that was ever resident, in KiB. Unlike `ru_maxrss` it does not count what was before the program began.
pub(super) fn peak_memory() -> u64 {
    number("status", "VmHWM:")
}

/// The number that a file about this process has under a name.
fn number(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
