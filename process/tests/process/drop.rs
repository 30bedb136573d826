//! Row L18 and cases C126, C132 and C134: a dropped child leaves no process, no zombie and no descriptor.

use std::time::Instant;

use sans_mcp::{Exit, Signal, Tree};
use sans_mcp_process::{Child, spawn};

use crate::support::{
    alone, eventually, exit_of, gone, is_running, line, own_children, own_descriptors, shell, state,
};

#[test]
fn l18_a_drop_kills_the_whole_group_and_reaps() {
    let (child, pipes) = spawn(&shell("trap '' TERM; sleep 1000 & echo $!; wait")).expect("there is a shell");
    let grandchild: u32 = line(&pipes.stdout).parse().expect("a number");
    let leader = child.id();
    drop(child);
    assert_eq!(state(leader), None, "dead and reaped when the drop returns");
    eventually("its end", || (!is_running(grandchild)).then_some(()));
}

#[test]
fn l18_a_drop_after_the_exit_takes_the_rest_of_the_group() {
    let (mut child, pipes) = spawn(&shell("sleep 1000 & echo $!")).expect("there is a shell");
    let grandchild: u32 = line(&pipes.stdout).parse().expect("a number");
    exit_of(&mut child);
    let leader = child.id();
    drop(child);
    assert_eq!(state(leader), None);
    eventually("its end", || (!is_running(grandchild)).then_some(()));
}

/// Nothing but its group says that it is ours.
#[test]
fn l18_a_drop_kills_a_leader_that_has_emptied_its_environment() {
    let (child, pipes) =
        spawn(&shell("exec env -i sh -c 'echo ready; read line'")).expect("there is a shell");
    assert_eq!(line(&pipes.stdout), "ready");
    let leader = child.id();
    drop(child);
    assert_eq!(state(leader), None, "dead and reaped, though its input is still open");
    drop(pipes);
}

/// Case C132, and case C134 for descriptors.
#[test]
fn l18_many_drops_leave_neither_zombies_nor_descriptors() {
    alone("drop::l18_many_drops_leave_neither_zombies_nor_descriptors", || {
        let descriptors = own_descriptors();
        for round in 0..100 {
            let script = if round % 2 == 0 { "read line" } else { "exit 1" };
            let (child, pipes) = spawn(&shell(script)).expect("there is a shell");
            drop(pipes);
            drop(child);
            assert_eq!(own_children(), 0, "round {round}");
        }
        assert_eq!(own_descriptors(), descriptors);
    });
}

/// As the first process of a container: it inherits what its servers leave, and nobody else would reap that.
#[test]
fn l18_a_host_that_inherits_orphans_keeps_no_zombie_of_them() {
    alone("drop::l18_a_host_that_inherits_orphans_keeps_no_zombie_of_them", || {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).expect("Linux 3.4");
        let script = "sh -c 'sleep 1000 & sleep 1000 & echo ready; wait'; true";

        // Who dies first differs from time to time.
        for _ in 0..20 {
            let (child, pipes) = spawn(&shell(script)).expect("there is a shell");
            assert_eq!(line(&pipes.stdout), "ready");
            drop(child);
            assert_eq!(own_children(), 0, "after a drop");
        }

        let (mut child, pipes) = spawn(&shell(script)).expect("there is a shell");
        assert_eq!(line(&pipes.stdout), "ready");
        child.signal(Signal::Kill);
        assert_eq!(exit_of(&mut child), Exit::Signal(9));
        child.reap();
        eventually("an empty group", || (child.probe() == Tree::Gone).then_some(()));
        assert_eq!(own_children(), 0, "after the ladder");
    });
}

/// A dead member whose parent does not reap it is no process that could do anything.
#[test]
fn l17_a_zombie_of_somebody_else_does_not_keep_the_group_alive() {
    // The parent turns into a program that reaps nobody, and then its child leaves at the end of its input.
    let script = "exec 3<&0; (read line <&3) & echo $!; exec sleep 1000";
    let (mut child, pipes) = spawn(&shell(script)).expect("there is a shell");
    let zombie: u32 = line(&pipes.stdout).parse().expect("a number");
    eventually("the other program", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", child.id())).ok()?;
        (name == "sleep\n").then_some(())
    });
    drop(pipes.stdin);
    eventually("a zombie", || (state(zombie) == Some('Z')).then_some(()));
    assert_eq!(child.probe(), Tree::Alive(1), "only the leader lives");
    child.signal(Signal::Kill);
    exit_of(&mut child);
    // Two zombies, and nobody alive.
    gone(&mut child);
}

#[test]
fn l18_a_drop_is_bounded_and_needs_no_live_thread_of_the_host() {
    let (child, _pipes) =
        spawn(&shell("trap '' TERM HUP INT; while :; do sleep 1; done")).expect("there is a shell");
    let start = Instant::now();
    std::thread::spawn(move || drop(child)).join().expect("no panic");
    // The bound is for the wait; the rest is for a busy machine.
    assert!(start.elapsed() < Child::DROP_BOUND * 10, "{:?}", start.elapsed());
}
