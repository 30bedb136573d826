//! What a session costs while nothing happens.

use std::fs;
use std::time::Duration;

use super::alone::{alone, path_of};
use super::support::{assert_closes, called, connected, echo, everywhere, fixture};

/// How often threads of this process have fallen asleep: each that was woken does so again.
fn sleeps() -> u64 {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    threads
        .map(|thread| {
            let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            count.unwrap().trim().parse::<u64>().unwrap()
        })
        .sum()
}

/// Issue 5: no wake-ups while idle. A host that waits two seconds falls asleep for that, on each of its threads once or
/// twice; one that looked every quarter of a second would do it more often.
#[test]
fn an_idle_session_wakes_nobody() {
    alone(path_of!(an_idle_session_wakes_nobody), || {
        everywhere(|kind| {
            let mut host = connected(kind, fixture(&[]));
            called(&mut host, echo("x")).unwrap();
            host.turn(Duration::from_millis(100));
            let before = sleeps();
            host.turn(Duration::from_secs(2));
            let slept = sleeps() - before;
            println!("{slept}");
            assert!(slept < 8, "{slept} times");
            assert_closes(host);
        });
    });
}
