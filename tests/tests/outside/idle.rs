//! Sessions that have nothing to do.

use std::fs;
use std::time::Duration;

use crate::host::{Client, Host, assert_over, mode};

/// Waiting ten seconds takes no more wake-ups than waiting one, where none of ten sessions needs any.
pub(crate) fn ten_sessions<H: Host>() {
    let mut host = H::new();
    let clients: Vec<Client> = (0..10).map(|_| host.connected(mode("plain"))).collect();
    // What connecting has left to do.
    host.turn(Duration::from_millis(500));
    let mut wakeups = |time| {
        let before = switches();
        host.turn(time);
        switches() - before
    };
    let (short, long) = (wakeups(Duration::from_secs(1)), wakeups(Duration::from_secs(10)));
    println!("{short} wake-ups in one second, {long} in ten");
    // Which of its threads a runtime puts to sleep last is not the same each time.
    assert!(long <= short + 2, "{short} wake-ups in one second, {long} in ten");
    for client in clients {
        assert_over(&host.leave(client));
    }
}

/// How often threads of this process went to sleep.
fn switches() -> u64 {
    let threads = fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let count = |status: String| -> u64 {
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|count| count.trim().parse().ok()).expect("it is told")
    };
    threads.map(|thread| fs::read_to_string(thread.path().join("status")).map_or(0, count)).sum()
}
