//! Rows L17 and L18 for descendants that left the process group, and whom that may not hit.

use std::{fs, os::unix::process::CommandExt, process::Command};

use rustix::process::{Pid, getpgid};
use sans_mcp::{Descendants, Server, Signal, Tree};
use sans_mcp_process::{Child, Pipes, spawn};

use crate::support::{
    COOKIE, Folder, alone, eventually, exit_of, gone, is_running, kill, line, output, own_children,
    own_descriptors, shell, unprivileged,
};

/// A server that starts a process in a session of its own, prints its number, and waits for the end of its input.
const ESCAPE: &str = "setsid sleep 1000 & echo $!; read line";

/// Starts a server and waits until the process whose number it prints has left the group.
fn escaped(server: &Server) -> (Child, Pipes, u32) {
    let (child, pipes) = spawn(server).expect("there is a shell");
    let pid: u32 = line(&pipes.stdout).parse().expect("a number");
    let process = Pid::from_raw(pid.cast_signed()).expect("not zero");
    eventually("its leave", || {
        let group = getpgid(Some(process)).expect("it runs");
        (group.as_raw_pid() != child.id().cast_signed()).then_some(())
    });
    (child, pipes, pid)
}

/// As the session does it.
fn end_group(child: &mut Child) {
    assert_eq!(child.probe(), Tree::Alive(1), "the leader, and nobody looked further");
    child.signal(Signal::Kill);
    exit_of(child);
    child.reap();
}

#[test]
fn l17_what_left_the_group_is_gone_when_the_tree_is() {
    let double_fork = "setsid sh -c 'sleep 1000 & echo $!'; read line";
    for script in [ESCAPE, double_fork] {
        let (mut child, _pipes, pid) = escaped(&shell(script));
        end_group(&mut child);
        assert!(is_running(pid), "no signal to the group reaches it: {script}");
        gone(&mut child);
        assert!(!is_running(pid), "{script}");
    }
}

/// Daemons that fork again while they are looked for, and begin another program meanwhile: at no moment is any of their
/// processes in a list of all and still there when it is looked at.
#[test]
fn l17_what_is_just_leaving_is_not_taken_for_gone() {
    const MARK: &str = "SANS_MCP_TEST_DAEMON";
    let mark = std::process::id().to_string();
    for round in 0..100 {
        let busy = 1_000 * (round % 20);
        let script =
            format!("setsid sh -c 'i=0; while [ $i -lt {busy} ]; do i=$((i+1)); done; sleep 60 &' &");
        let (mut child, _pipes) = spawn(&shell(&script).variable(MARK, &*mark)).expect("there is a shell");
        exit_of(&mut child);
        child.signal(Signal::Kill);
        child.reap();
        gone(&mut child);
    }
    // One that was missed has had the time of many rounds to show itself.
    let entry = format!("{MARK}={mark}");
    let left: Vec<_> = fs::read_dir("/proc")
        .expect("Linux")
        .filter_map(|process| process.ok().map(|process| process.path()))
        .filter(|process| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == entry.as_bytes())
        })
        .collect();
    assert_eq!(left, <[std::path::PathBuf; 0]>::default());
}

#[test]
fn l17_all_that_left_the_group_are_found() {
    let script = "pids=$(for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'sleep 1000 >&2 & echo $!'; done); echo $pids; read line";
    let (mut child, pipes) = spawn(&shell(script)).expect("there is a shell");
    let pids: Vec<u32> =
        line(&pipes.stdout).split(' ').map(|number| number.parse().expect("a number")).collect();
    assert_eq!(pids.iter().filter(|&&pid| is_running(pid)).count(), 8);
    end_group(&mut child);
    gone(&mut child);
    assert!(!pids.iter().any(|&pid| is_running(pid)));
}

#[test]
fn l18_a_drop_also_ends_what_left_the_group() {
    let (child, _pipes, pid) = escaped(&shell(ESCAPE));
    drop(child);
    assert!(!is_running(pid));

    let (mut child, _pipes, pid) = escaped(&shell(ESCAPE));
    end_group(&mut child);
    drop(child);
    assert!(!is_running(pid), "after a reap and without a probe");
}

/// The group may not be signalled by its number any more, but each process by a descriptor.
#[test]
fn l18_a_drop_ends_the_rest_of_a_group_whose_leader_was_reaped() {
    let (mut child, pipes) = spawn(&shell("sleep 1000 & echo $!")).expect("there is a shell");
    let grandchild: u32 = line(&pipes.stdout).parse().expect("a number");
    exit_of(&mut child);
    child.reap();
    drop(child);
    assert!(!is_running(grandchild));
}

#[test]
fn l18_a_host_that_inherits_what_left_the_group_keeps_no_zombie_and_no_descriptor() {
    alone("escaped::l18_a_host_that_inherits_what_left_the_group_keeps_no_zombie_and_no_descriptor", || {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).expect("Linux 3.4");
        let descriptors = own_descriptors();
        let (child, pipes, pid) = escaped(&shell("setsid sh -c 'sleep 1000 & echo $!; wait' & read line"));
        drop((child, pipes));
        assert!(!is_running(pid));
        assert_eq!((own_children(), own_descriptors()), (0, descriptors));
    });
}

#[test]
fn l17_daemons_live_where_only_the_group_is_to_be_ended() {
    let (mut child, _pipes, pid) = escaped(&shell(ESCAPE).descendants(Descendants::Group));
    end_group(&mut child);
    gone(&mut child);
    drop(child);
    let (child, _pipes, other) = escaped(&shell(ESCAPE).descendants(Descendants::Group));
    drop(child);
    assert!(is_running(pid) && is_running(other));
    kill(pid);
    kill(other);
}

/// A process that has no cookie of ours is never hit, however alike it looks.
#[test]
fn l17_only_the_whole_cookie_of_this_start_counts() {
    let (mut child, _pipes, pid) = escaped(&shell(ESCAPE));
    let environment = fs::read(format!("/proc/{}/environ", child.id())).expect("own child");
    let cookie = environment.split(|&byte| byte == 0).find(|entry| entry.starts_with(COOKIE.as_bytes()));
    let cookie = str::from_utf8(cookie.expect("it has one")).expect("text");
    let value = cookie.split_once('=').expect("NAME=value").1;

    let alike = [(COOKIE, "other"), (COOKIE, ""), (COOKIE, &format!("{value}0")), ("OTHER", cookie)];
    let mut strangers: Vec<_> = alike
        .iter()
        .map(|&(name, value)| {
            Command::new("sleep").arg("1000").env(name, value).spawn().expect("sleep is installed")
        })
        .collect();
    strangers
        .push(Command::new("sleep").arg("1000").env("X", format!("X{cookie}")).spawn().expect("as before"));
    let (mut sibling, _sibling_pipes, of_sibling) = escaped(&shell(ESCAPE));

    end_group(&mut child);
    gone(&mut child);
    drop(child);
    assert!(!is_running(pid));
    for stranger in &mut strangers {
        assert!(stranger.try_wait().expect("own child").is_none());
        stranger.kill().and_then(|()| stranger.wait()).expect("own child");
    }
    assert_eq!(sibling.probe(), Tree::Alive(1));
    assert!(is_running(of_sibling), "each start has a cookie of its own");
}

/// What the documentation of `Child` says.
#[test]
fn l17_a_process_that_clears_its_environment_is_not_found() {
    let script = "setsid env -i \"$(command -v sleep)\" 1000 & echo $!; read line";
    let (mut child, _pipes, pid) = escaped(&shell(script));
    eventually("another program", || {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        (name == "sleep\n").then_some(())
    });
    end_group(&mut child);
    gone(&mut child);
    assert!(is_running(pid));
    kill(pid);
}

#[test]
fn l04_the_cookie_is_new_for_each_start_and_cannot_be_overridden() {
    let seen = |server: &Server| {
        let (_child, pipes) = spawn(server).expect("printenv is installed");
        output(&pipes.stdout)
    };
    let server = Server::new("printenv", "printenv").arg(COOKIE).variable(COOKIE, "mine").inherit(COOKIE);
    let (first, second) = (seen(&server), seen(&server));
    assert!(first.len() > 1 && second.len() > 1 && first != second, "{first}, {second}");
    assert!(first != "mine\n" && second != "mine\n");
    let without = Server::new("printenv", "printenv").arg(COOKIE).descendants(Descendants::Group);
    assert_eq!(seen(&without), "", "not set");
}

/// A program that may not be read shows its environment to nobody but the superuser.
#[test]
fn l17_what_may_be_ours_and_cannot_be_looked_at_is_unknown() {
    unprivileged("escaped::l17_what_may_be_ours_and_cannot_be_looked_at_is_unknown", || {
        let folder = Folder::new();
        let closed = folder.path().join("closed");
        let script = "cp \"$(command -v sleep)\" \"$0\" && chmod 111 \"$0\"";
        let copied = Command::new("sh").args(["-c", script]).arg(&closed).status().expect("there is a shell");
        assert!(copied.success());
        let path = closed.to_str().expect("a path in UTF-8");

        // One that a process without the cookie has started, and keeps.
        let (mut child, _pipes, pid) = escaped(&shell(ESCAPE));
        let keeper = format!("exec >/dev/null 2>&1; {path} 1000 & wait");
        let mut keeper = Command::new("sh").args(["-c", &keeper]).process_group(0).spawn().expect("a shell");
        eventually("the closed program", || {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", keeper.id())).ok()?;
            fs::read(format!("/proc/{}/environ", children.trim())).err().filter(|_| !children.is_empty())
        });
        end_group(&mut child);
        gone(&mut child);
        assert!(!is_running(pid));
        let group = Pid::from_child(&keeper);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).expect("it runs");
        keeper.wait().expect("own child");

        let script = format!("setsid {path} 1000 & echo $!; read line");
        let (mut child, _pipes, pid) = escaped(&shell(&script));
        eventually("the closed program", || fs::read(format!("/proc/{pid}/environ")).err());
        end_group(&mut child);
        assert_eq!(child.probe(), Tree::Unknown);
        kill(pid);
        gone(&mut child);
    });
}
