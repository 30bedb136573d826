//! Row L15 and the foreign reapers: how a leader ended is seen without reaping it.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{WaitOptions, wait},
};
use sans_mcp::{Exit, Signal, Signalled, Tree};
use sans_mcp_process::{Child, spawn};

use crate::support::{alone, eventually, exit_of, gone, shell, state};

fn is_readable(child: &Child, timeout: Timespec) -> bool {
    poll(&mut [PollFd::from_borrowed_fd(child.pidfd(), PollFlags::IN)], Some(&timeout)).expect("poll works")
        == 1
}

#[test]
fn l15_code_and_signal_are_seen_and_the_leader_stays_unreaped() {
    for (script, exit) in [("exit 7", Exit::Code(7)), ("kill -KILL $$", Exit::Signal(9))] {
        let (mut child, _pipes) = spawn(&shell(script)).expect("there is a shell");
        assert_eq!(exit_of(&mut child), exit);
        assert_eq!(child.exit(), Some(exit), "asked again");
        assert_eq!(state(child.id()), Some('Z'), "not reaped");
        assert_eq!(child.reap(), Some(exit));
        assert_eq!(state(child.id()), None, "reaped");
        assert_eq!((child.exit(), child.reap()), (Some(exit), Some(exit)), "it is remembered");
    }
}

#[test]
fn l15_the_descriptor_is_readable_once_the_leader_has_exited_and_stays_so() {
    let (mut child, pipes) = spawn(&shell("read line; exit 3")).expect("there is a shell");
    assert!(!is_readable(&child, Timespec { tv_sec: 0, tv_nsec: 0 }));
    assert_eq!(child.exit(), None);
    drop(pipes.stdin);
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    assert!(is_readable(&child, limit));
    assert_eq!(child.exit(), Some(Exit::Code(3)), "known at once");
    child.reap();
    assert!(is_readable(&child, limit), "a driver that asks late is told too");
}

#[test]
fn l17_a_running_leader_is_not_reaped() {
    let (mut child, _pipes) = spawn(&shell("read line")).expect("there is a shell");
    assert_eq!(child.reap(), None);
    assert_eq!(child.signal(Signal::Kill), Signalled::Delivered, "it is still ours");
    assert_eq!(exit_of(&mut child), Exit::Signal(9));
}

#[test]
fn l15_a_host_that_waits_for_any_child_leaves_an_unknown_exit_and_nothing_is_signalled() {
    alone(
        "exit::l15_a_host_that_waits_for_any_child_leaves_an_unknown_exit_and_nothing_is_signalled",
        || {
            // The rest of the group lives on, so that a signal would have a target.
            let (mut child, pipes) =
                spawn(&shell("exec 3<&0; (read line <&3) & exit 4")).expect("there is a shell");
            wait(WaitOptions::empty()).expect("one child");
            assert_eq!(child.signal(Signal::Kill), Signalled::NoProcess, "noticed before the signal");
            assert_eq!(child.exit(), Some(Exit::Unknown));
            assert_eq!(child.reap(), Some(Exit::Unknown));
            assert_eq!(child.probe(), Tree::Alive(1), "it was spared");
            drop(pipes);
            gone(&mut child);
        },
    );
}

#[test]
fn l15_a_status_that_was_seen_is_kept_when_the_host_takes_it() {
    alone("exit::l15_a_status_that_was_seen_is_kept_when_the_host_takes_it", || {
        let (mut child, _pipes) = spawn(&shell("exit 5")).expect("there is a shell");
        assert_eq!(exit_of(&mut child), Exit::Code(5));
        wait(WaitOptions::empty()).expect("one child");
        assert_eq!(child.reap(), Some(Exit::Code(5)));
        assert_eq!(child.signal(Signal::Kill), Signalled::NoProcess);
    });
}

#[test]
fn l15_a_stopped_leader_has_not_exited() {
    let (mut child, _pipes) = spawn(&shell("kill -STOP $$; exit 1")).expect("there is a shell");
    eventually("a stop", || (state(child.id()) == Some('T')).then_some(()));
    assert_eq!(child.exit(), None);
    assert_eq!(child.signal(Signal::Kill), Signalled::Delivered);
    assert_eq!(exit_of(&mut child), Exit::Signal(9));
}
