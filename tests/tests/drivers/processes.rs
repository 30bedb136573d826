//! The processes of a server as a tree, and the process of the host (row L18).

use std::fs::DirEntry;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgrp, kill_process, kill_process_group, setpgid};
use sans_mcp::Server;

use super::alone::{Hosting, alone, path_of};
use super::support::{
    GONE, LIMIT, Mark, SLACK, assert_closes, called, close_bound, connected, echo, everywhere, fixture, mode,
    shell,
};
use crate::host::Kind;

/// Whether there is such a process, and not only its status that somebody has yet to take.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|fields| !fields.is_empty() && !fields.starts_with(['Z', 'X']))
}

/// A shell that starts the server in these modes as a child and waits for it.
fn behind_a_shell(switches: &str) -> Server {
    // What a shell starts in the background has no input of its own accord, and only the server is to hold it.
    let fixture = env!("CARGO_BIN_EXE_fixture");
    shell(&format!("exec 3<&0; {fixture} {switches} <&3 3<&- & exec 3<&- <&-; wait"))
}

/// The client has a shell, the shell a server, and the server a helper that ignores the end of input; the helper is in the
/// group, or in a session of its own.
#[test]
fn c126_a_close_and_a_drop_end_the_whole_tree() {
    everywhere(|kind| {
        for switches in
            ["--mode grandchild-close", "--mode grandchild-escape", "--ignore-eof --ignore-sigterm"]
        {
            for closes in [true, false] {
                let (server, mark) = Mark::on(behind_a_shell(switches));
                let mut host = connected(kind, server);
                called(&mut host, echo("x")).unwrap();
                let helper = usize::from(switches.contains("grandchild"));
                assert_eq!(mark.processes().len(), 2 + helper, "{switches}");
                let began = Instant::now();
                if closes {
                    assert!(host.close().gone());
                    assert!(began.elapsed() < close_bound(), "{:?}", began.elapsed());
                    mark.assert_none();
                } else {
                    let _lives_on = host.abandon();
                    mark.assert_gone(began, GONE);
                }
            }
        }
    });
}

/// As a whole process, which leads a group of its own, as a shell starts it in a terminal.
#[test]
fn c130_an_interrupt_of_the_host_is_none_of_its_server() {
    alone(path_of!(c130_an_interrupt_of_the_host_is_none_of_its_server), || {
        setpgid(None, None).unwrap();
        let interrupted = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone()).unwrap();
        let mut hosts: Vec<_> = Kind::ALL.map(|kind| connected(kind, fixture(&[]))).into();
        kill_process_group(getpgrp(), Signal::INT).unwrap();
        for host in &mut hosts {
            host.turn(Duration::from_millis(300));
            assert!(interrupted.load(Ordering::Relaxed));
            assert_eq!(called(host, echo("alive")).unwrap().text(), "alive");
        }
        hosts.into_iter().for_each(|host| drop(assert_closes(host)));
    });
}

/// As a whole process, so that its children can be counted.
#[test]
fn c132_a_hundred_drops_leave_no_child_and_no_defunct_one() {
    alone(path_of!(c132_a_hundred_drops_leave_no_child_and_no_defunct_one), || {
        everywhere(|kind| {
            let (_, mark) = Mark::on(fixture(&[]));
            for _ in 0..100 {
                let mut host = connected(kind, mark.put_on(fixture(&[])));
                called(&mut host, echo("x")).unwrap();
            }
            let began = Instant::now();
            loop {
                let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
                let children = tasks.map(|task| std::fs::read_to_string(task.path().join("children")));
                let children = children.filter_map(Result::ok).collect::<String>();
                if children.is_empty() {
                    break;
                }
                assert!(began.elapsed() < GONE, "children {children} are left");
                std::thread::sleep(Duration::from_millis(5));
            }
            mark.assert_none();
        });
    });
}

/// The host is killed while three servers are connected: who heeds the end of input leaves. There is no switch that ends the
/// others with their host, so this test does.
#[test]
fn c133_servers_that_heed_the_end_of_input_leave_when_the_host_is_killed() {
    let path = path_of!(c133_servers_that_heed_the_end_of_input_leave_when_the_host_is_killed);
    let hosting = Hosting::start(path, || {
        let servers = [mode("plain"), fixture(&["--ignore-eof", "--lifetime", "30"]), behind_a_shell("")];
        let mut hosts = Vec::new();
        for kind in Kind::ALL {
            for server in &servers {
                let mut host = connected(kind, server.clone());
                called(&mut host, echo("x")).unwrap();
                println!("server {}", host.process_id().unwrap());
                hosts.push(host);
            }
        }
        println!("all connected");
        std::thread::sleep(LIMIT);
    });
    let Some(mut hosting) = hosting else { return };
    let pids: Vec<u32> = (0..3 * Kind::ALL.len()).map(|_| hosting.line("server ").parse().unwrap()).collect();
    hosting.line("all connected");
    assert!(pids.iter().copied().all(is_running));
    hosting.kill();
    let began = Instant::now();
    for (at, pid) in pids.into_iter().enumerate() {
        if at % 3 == 1 {
            assert!(is_running(pid), "it ignores the end of input");
            let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL);
        }
        while is_running(pid) {
            assert!(began.elapsed() < Duration::from_secs(1) + SLACK, "server {pid} is left");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn l18_a_drop_while_connecting_leaves_no_process() {
    everywhere(|kind| {
        for server in [fixture(&["--start-delay", "10000"]), mode("init-never")] {
            let (server, mark) = Mark::on(server);
            let mut host = crate::host::Host::new(kind, server, &[]).unwrap();
            let connecting = host.begin_connect();
            super::support::until(&mut host, "the process", |host| host.process_id().is_some());
            let began = Instant::now();
            drop(connecting);
            let _lives_on = host.abandon();
            mark.assert_gone(began, GONE);
        }
    });
}

/// Sixteen servers that are started at once by as many threads hold none of each other's pipes: each leaves when its own input
/// ends, with the others still connected.
#[test]
fn l18_servers_that_start_together_inherit_nothing_of_each_other() {
    everywhere(|kind| {
        let mut hosts: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> =
                (0..16).map(|_| scope.spawn(move || connected(kind, fixture(&[])))).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        let files: Vec<_> = hosts.iter().map(|host| files_of(host.process_id().unwrap())).collect();
        for (at, (own, _)) in files.iter().enumerate() {
            assert_eq!(own.len(), 3);
            for (other, (others, inherited)) in files.iter().enumerate() {
                let shares = at != other && own.iter().any(|file| others.contains(file));
                assert!(!shares && !own.iter().any(|file| inherited.contains(file)), "{at} and {other}");
            }
        }
        while let Some(host) = hosts.pop() {
            let began = Instant::now();
            assert_closes(host);
            assert!(began.elapsed() < Duration::from_secs(1) + SLACK, "{:?}", began.elapsed());
        }
    });
}

/// What is behind the standard streams of a process, and behind its other descriptors.
fn files_of(pid: u32) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let folder = format!("/proc/{pid}/fd");
    let descriptors = std::fs::read_dir(folder).unwrap().flatten();
    let (standard, others): (Vec<_>, Vec<_>) =
        descriptors.partition(|entry| ["0", "1", "2"].iter().any(|stream| entry.file_name() == *stream));
    let files = |entries: Vec<DirEntry>| {
        entries.iter().filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
    };
    (files(standard), files(others))
}
