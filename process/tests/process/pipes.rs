//! The pipes: what they are at both ends, and who else has them.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    os::fd::{AsFd, OwnedFd},
    sync::Barrier,
    thread,
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fstat},
    io::{FdFlags, fcntl_getfd},
};
use sans_mcp::{Exit, Server, StderrMode};
use sans_mcp_process::{Pipes, read, spawn, write};

use crate::support::{alone, exit_of, line, output, shell};

fn ends(pipes: &Pipes) -> Vec<&OwnedFd> {
    [&pipes.stdin, &pipes.stdout].into_iter().chain(&pipes.stderr).collect()
}

/// The numbers of the pipes among the descriptors in `listing`, the output of `ls -l /proc/<pid>/fd`.
fn pipes_in(listing: &str) -> BTreeSet<u64> {
    let after = listing.split("pipe:[").skip(1);
    after
        .map(|text| text.split(']').next().and_then(|number| number.parse().ok()).expect("a number"))
        .collect()
}

fn number(fd: impl AsFd) -> u64 {
    fstat(fd).expect("open").st_ino
}

#[test]
fn l02_the_hosts_ends_are_close_on_exec_and_nonblocking_and_the_servers_block() {
    let (child, pipes) = spawn(&shell("read line")).expect("there is a shell");
    for end in ends(&pipes) {
        assert!(fcntl_getfd(end).expect("open").contains(FdFlags::CLOEXEC));
        assert!(fcntl_getfl(end).expect("open").contains(OFlags::NONBLOCK));
    }
    for fd in 0..3 {
        let info = fs::read_to_string(format!("/proc/{}/fdinfo/{fd}", child.id())).expect("open there");
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).expect("it has flags");
        let flags = u32::from_str_radix(flags.trim(), 8).expect("octal");
        assert!(!OFlags::from_bits_retain(flags).contains(OFlags::NONBLOCK), "descriptor {fd}");
    }
}

/// Sixteen servers started at one time: each has its own three pipes and none of another's.
#[test]
fn l17_servers_started_in_parallel_inherit_nothing_from_each_other() {
    const SERVERS: usize = 16;
    let together = Barrier::new(SERVERS);
    let start = || {
        let server = shell("ls -l /proc/self/fd; cat");
        together.wait();
        let started = spawn(&server).expect("there is a shell");
        together.wait();
        started
    };
    let servers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..SERVERS).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it started")).collect()
    });
    let own: Vec<BTreeSet<u64>> =
        servers.iter().map(|(_, pipes)| ends(pipes).into_iter().map(number).collect()).collect();
    let all: BTreeSet<u64> = own.iter().flatten().copied().collect();
    assert_eq!(all.len(), 3 * SERVERS);
    // One after another, so that an end left open in a later server would keep an earlier one from leaving.
    for ((mut child, pipes), own) in servers.into_iter().zip(own) {
        drop(pipes.stdin);
        let inherited: BTreeSet<u64> = pipes_in(&output(&pipes.stdout)).intersection(&all).copied().collect();
        assert_eq!(inherited, own);
        assert_eq!(exit_of(&mut child), Exit::Code(0));
    }
}

#[test]
fn l22_stderr_goes_where_the_mode_says() {
    alone("pipes::l22_stderr_goes_where_the_mode_says", || {
        let server = shell("readlink /proc/self/fd/2; echo diagnostic >&2");
        let (_child, pipes) = spawn(&server.clone().stderr(StderrMode::Events)).expect("there is a shell");
        let diagnostics = pipes.stderr.expect("a pipe");
        assert_eq!(line(&pipes.stdout), format!("pipe:[{}]", number(&diagnostics)));
        assert_eq!(output(&diagnostics), "diagnostic\n");

        let (_child, pipes) = spawn(&server.clone().stderr(StderrMode::Discard)).expect("there is a shell");
        assert_eq!(line(&pipes.stdout), "/dev/null");
        assert!(pipes.stderr.is_none());

        let (_child, pipes) = spawn(&server.stderr(StderrMode::Inherit)).expect("there is a shell");
        let own = fs::read_link("/proc/self/fd/2").expect("open");
        assert_eq!(line(&pipes.stdout), own.display().to_string());
        assert!(pipes.stderr.is_none());
    });
}

#[test]
fn l17_a_dropped_stdin_is_the_end_of_input() {
    let (mut child, pipes) = spawn(&Server::new("echo", "cat")).expect("cat is installed");
    assert_eq!(write(&pipes.stdin, b"last words").expect("room"), 10);
    drop(pipes.stdin);
    assert_eq!(output(&pipes.stdout), "last words");
    assert_eq!(exit_of(&mut child), Exit::Code(0));
}

#[test]
fn a_full_pipe_would_block_and_an_empty_one_too() {
    let (_child, pipes) = spawn(&shell("exec sleep 1000")).expect("there is a shell");
    let mut written = 0;
    let full = loop {
        match write(&pipes.stdin, &[b'x'; 10_000]) {
            Ok(length) => written += length,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    assert!(written >= 4_096, "{written}");
    assert_eq!(read(&pipes.stdout, &mut [0; 8]).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
}
