//! Case C115: a write into a closed pipe never ends the host, and the host's signals are as it left them.

use std::{fs, io::ErrorKind, mem::MaybeUninit, ptr};

use sans_mcp_process::{spawn, write};

use crate::support::{alone, line, shell};

const SIGPIPE_BIT: u64 = 1 << (libc::SIGPIPE - 1);

/// Which of the lists in this thread's status have SIGPIPE: ignored, caught, blocked, pending.
fn status() -> [bool; 4] {
    let status = fs::read_to_string("/proc/thread-self/status").expect("Linux");
    let has = |names: &[&str]| {
        let lists = names.iter().map(|name| {
            let list = status.lines().find_map(|line| line.strip_prefix(name)).expect("it has them all");
            u64::from_str_radix(list.trim(), 16).expect("hexadecimal")
        });
        lists.fold(0, |all, list| all | list) & SIGPIPE_BIT != 0
    };
    [has(&["SigIgn:"]), has(&["SigCgt:"]), has(&["SigBlk:"]), has(&["SigPnd:", "ShdPnd:"])]
}

fn restore_default() {
    // SAFETY: the default action needs no handler, and this process runs one test only.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    assert_eq!(status(), [false; 4]);
}

fn block() {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised before it is changed and used, and only this thread's mask changes.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
    }
}

/// Writes into the input of a server that has closed it.
fn write_into_closed() {
    let (_child, pipes) = spawn(&shell("exec <&-; echo closed; exec sleep 1000")).expect("there is a shell");
    assert_eq!(line(&pipes.stdout), "closed");
    for _ in 0..2 {
        let error = write(&pipes.stdin, b"{}\n").expect_err("nobody reads");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}

#[test]
fn c115_the_default_action_survives_writes_into_closed_pipes_and_the_host_too() {
    alone("sigpipe::c115_the_default_action_survives_writes_into_closed_pipes_and_the_host_too", || {
        restore_default();
        for _ in 0..200 {
            write_into_closed();
            assert_eq!(status(), [false; 4], "neither ignored nor caught, blocked or pending");
        }
    });
}

#[test]
fn c115_a_host_that_ignores_the_signal_is_left_alone() {
    alone("sigpipe::c115_a_host_that_ignores_the_signal_is_left_alone", || {
        assert!(status()[0], "Rust programs start so");
        write_into_closed();
        assert_eq!(status(), [true, false, false, false]);
    });
}

#[test]
fn c115_a_thread_that_blocks_the_signal_goes_on_blocking_it_and_gets_none() {
    alone("sigpipe::c115_a_thread_that_blocks_the_signal_goes_on_blocking_it_and_gets_none", || {
        restore_default();
        block();
        write_into_closed();
        assert_eq!(status(), [false, false, true, false]);
    });
}

#[test]
fn c115_a_signal_that_was_pending_before_stays_pending() {
    alone("sigpipe::c115_a_signal_that_was_pending_before_stays_pending", || {
        restore_default();
        block();
        let (reader, writer) = std::io::pipe().expect("descriptors are left");
        drop(reader);
        rustix::io::write(&writer, b"x").expect_err("it raises the signal");
        let pending = [false, false, true, true];
        assert_eq!(status(), pending);
        write_into_closed();
        assert_eq!(status(), pending);
    });
}

#[test]
fn a_write_that_succeeds_leaves_no_trace_either() {
    alone("sigpipe::a_write_that_succeeds_leaves_no_trace_either", || {
        restore_default();
        let (_child, pipes) = spawn(&shell("cat")).expect("there is a shell");
        assert_eq!(write(&pipes.stdin, b"hello\n").expect("room"), 6);
        assert_eq!(line(&pipes.stdout), "hello");
        assert_eq!(status(), [false; 4]);
    });
}
