use std::{
    process::{Command, Stdio},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Pid,
};

use super::Watch;

fn is_readable(watch: &Watch, limit: Duration) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(watch.fd(), PollFlags::IN)];
    let limit = Timespec::try_from(limit).expect("a few seconds");
    poll(&mut fds, Some(&limit)).expect("poll works") == 1
}

/// What macOS and old kernels get, proven where the tests run.
#[test]
fn p01_the_waiting_thread_tells_of_an_exit_and_leaves_the_status() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is installed");
    let watch = Watch::by_thread(Pid::from_child(&child)).expect("a thread can start");
    assert!(!is_readable(&watch, Duration::from_millis(200)), "it still runs");

    drop(child.stdin.take());
    assert!(is_readable(&watch, Duration::from_secs(20)), "it has left");
    assert!(child.wait().expect("nobody has reaped it").success());
}

#[test]
fn p01_a_leader_that_somebody_else_reaped_counts_as_exited() {
    let mut child = Command::new("true").spawn().expect("true is installed");
    child.wait().expect("own child");
    let watch = Watch::open(Pid::from_child(&child)).expect("that is no failure");
    assert!(matches!(watch, Watch::Pipe(_)));
    assert!(is_readable(&watch, Duration::ZERO));
}
