//! What a process costs that has nothing to do.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::report::memory;

/// What happened lately may still go on for so long.
const SETTLE: Duration = Duration::from_millis(500);

/// What the threads of this process but the calling one do in so many seconds; what it holds then.
pub(super) fn observe(seconds: u64) -> Map<String, Value> {
    thread::sleep(SETTLE);
    let before = wakeups();
    thread::sleep(Duration::from_secs(seconds));
    let mut observed = Map::new();
    observed.insert("idle_s".to_owned(), seconds.into());
    observed.insert("wakeups".to_owned(), (wakeups() - before).into());
    observed.insert("descriptors".to_owned(), descriptors().into());
    observed.insert("rss_kb".to_owned(), memory().into());
    observed
}

/// What holding `n` of them costs each, where this was held before.
pub(super) fn each(mut observed: Map<String, Value>, before: [u64; 2], n: u64) -> Value {
    let [kilobytes, descriptors] = before;
    let number = |name: &str| observed.get(name).and_then(Value::as_u64).unwrap_or_default();
    let bytes_each = (number("rss_kb").saturating_sub(kilobytes) << 10) / n.max(1);
    let descriptors_each = number("descriptors").saturating_sub(descriptors) as f64 / n.max(1) as f64;
    observed.insert("bytes_each".to_owned(), bytes_each.into());
    observed.insert("descriptors_each".to_owned(), json!(descriptors_each));
    Value::Object(observed)
}

/// How many files, pipes and the like are open.
pub(super) fn descriptors() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |open| open.count() as u64)
}

/// How often a thread other than this one was given the processor.
fn wakeups() -> u64 {
    let own = fs::read_link("/proc/thread-self").ok().and_then(|path| path.file_name().map(PathBuf::from));
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads
        .filter(|thread| Some(PathBuf::from(thread.file_name())) != own)
        .filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok())
        .flat_map(|status| status.lines().map(switches).collect::<Vec<_>>())
        .sum()
}

fn switches(line: &str) -> u64 {
    let count = line.split_once("ctxt_switches:").and_then(|(_, count)| count.trim().parse().ok());
    count.unwrap_or_default()
}
