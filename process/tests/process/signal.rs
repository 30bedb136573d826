//! Row L17 and cases C126, C129 and C130: signals reach the whole group, and nothing else.

use std::{os::unix::process::CommandExt, process::Command, time::Instant};

use rustix::process::{Pid, geteuid, getpgid, setpgid};
use sans_mcp::{Descendants, Exit, Signal, Signalled, Tree};
use sans_mcp_process::{Child, spawn};

use crate::support::{ALONE, alone, as_server, eventually, exit_of, gone, is_running, kill, line, shell};

/// A shell that waits for a child of its own, and prints the child's number.
const SHELL_WITH_CHILD: &str = "sleep 1000 & echo $!; wait";

#[test]
fn c130_a_server_leads_a_group_of_its_own() {
    let (child, _pipes) = spawn(&shell("read line")).expect("there is a shell");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("not zero");
    assert_eq!(getpgid(Some(pid)), Ok(pid));
}

#[test]
fn c126_a_signal_reaches_the_grandchildren() {
    for (signal, number) in [(Signal::Terminate, 15), (Signal::Kill, 9)] {
        let (mut child, pipes) = spawn(&shell(SHELL_WITH_CHILD)).expect("there is a shell");
        let grandchild: u32 = line(&pipes.stdout).parse().expect("a number");
        assert_eq!(child.probe(), Tree::Alive(2));
        assert_eq!(child.signal(signal), Signalled::Delivered);
        assert_eq!(exit_of(&mut child), Exit::Signal(number));
        eventually("its end", || (!is_running(grandchild)).then_some(()));
        assert_eq!(child.reap(), Some(Exit::Signal(number)));
        gone(&mut child);
    }
}

#[test]
fn l17_a_group_outlives_its_leader_and_is_still_killed() {
    let (mut child, pipes) = spawn(&shell("sleep 1000 & echo $!")).expect("there is a shell");
    let grandchild: u32 = line(&pipes.stdout).parse().expect("a number");
    assert_eq!(exit_of(&mut child), Exit::Code(0));
    assert_eq!(child.probe(), Tree::Alive(1), "the leader itself counts no more");
    assert!(is_running(grandchild));
    assert_eq!(child.signal(Signal::Kill), Signalled::Delivered);
    eventually("its end", || (!is_running(grandchild)).then_some(()));
    child.reap();
    gone(&mut child);
}

#[test]
fn c129_nothing_is_signalled_after_the_reap() {
    let server = shell("sleep 1000 & echo $!").descendants(Descendants::Group);
    let (mut child, pipes) = spawn(&server).expect("there is a shell");
    let grandchild: u32 = line(&pipes.stdout).parse().expect("a number");
    exit_of(&mut child);
    child.reap();
    for signal in [Signal::Terminate, Signal::Kill] {
        assert_eq!(child.signal(signal), Signalled::NoProcess);
    }
    assert_eq!(child.probe(), Tree::Alive(1), "found, and left alone");
    drop(child);
    assert!(is_running(grandchild), "not even a drop signals");
    kill(grandchild);
}

/// The number of an empty group can be given to another group, so what was gone once is gone for good.
#[test]
fn c129_a_group_that_was_seen_empty_stays_gone() {
    let (mut child, _pipes) = spawn(&shell("exit 0")).expect("there is a shell");
    exit_of(&mut child);
    child.reap();
    gone(&mut child);
    assert_eq!(child.signal(Signal::Kill), Signalled::NoProcess);
    assert_eq!(child.probe(), Tree::Gone);
}

/// A server that moves into the group of a child of its own, where no signal to its first group can find it.
#[test]
fn l17_a_leader_that_left_its_group_is_still_found() {
    const TEST: &str = "signal::l17_a_leader_that_left_its_group_is_still_found";
    if std::env::var_os(ALONE).is_some() {
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().expect("it is there");
        setpgid(None, Some(Pid::from_child(&child))).expect("the same session");
        println!("\nmoved");
        child.wait().expect("it is its child");
        return;
    }
    let (mut child, pipes) = spawn(&as_server(TEST)).expect("own file");
    eventually("its move", || line(&pipes.stdout).contains("moved").then_some(()));
    assert_eq!(child.probe(), Tree::Alive(1));
    assert_eq!(child.signal(Signal::Terminate), Signalled::Delivered);
    assert_eq!(exit_of(&mut child), Exit::Signal(15));
    child.reap();
    gone(&mut child);
}

/// A server that became another user's, as a program like `sudo` does: here it is the host that becomes another.
#[test]
fn l17_a_signal_that_the_system_forbids_is_told_and_holds_up_no_drop() {
    if !geteuid().is_root() {
        println!("not proved without privileges: a signal that the system forbids");
        return;
    }
    alone("signal::l17_a_signal_that_the_system_forbids_is_told_and_holds_up_no_drop", || {
        let (mut child, pipes) = spawn(&shell("read line")).expect("there is a shell");
        let leader = child.id();
        become_user(65_534);
        assert_eq!(child.signal(Signal::Kill), Signalled::NotPermitted);
        assert_eq!((child.exit(), child.probe()), (None, Tree::Alive(1)));
        let start = Instant::now();
        drop(child);
        // The bound is for the wait; the rest is for a busy machine.
        assert!(start.elapsed() < Child::DROP_BOUND * 10, "{:?}", start.elapsed());
        become_user(0);
        assert!(is_running(leader));
        drop(pipes);
        eventually("its end", || (!is_running(leader)).then_some(()));
    });
}

/// Makes this thread, and no other, act for that user; it can become root again.
fn become_user(user: libc::uid_t) {
    // SAFETY: the call takes three integers, and changes what the system lets this thread do.
    let changed = unsafe { libc::syscall(libc::SYS_setresuid, user, user, 0) };
    assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
}
