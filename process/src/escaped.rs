//! The descendants of a server that left its process group, on Linux.
//!
//! What a server starts inherits its environment, and so a variable that only one start has: the cookie. Nothing else
//! of a process stays when it leaves the group, the session and its parent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, ErrorKind, Read},
    os::fd::{AsFd, OwnedFd},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, retry_on_intr},
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getuid, pidfd_open, pidfd_send_signal, waitid,
    },
};
use sans_mcp::Tree;

use crate::stat::{Stat, processes};

/// The name of the variable.
pub(crate) const VARIABLE: &str = "SANS_MCP_COOKIE";

/// 3 passes over all processes: the first kills, the second finds what the killed ones started meanwhile, the third
/// what those did.
const ROUNDS: u32 = 3;

/// 10 ms: a killed process is gone within one, and the caller's event loop stands still.
const DEATH: Duration = Duration::from_millis(10);

/// 64 of those killed in a pass are waited for, so that a server that started thousands takes no descriptor from the
/// host; the next pass finds the others.
const WAITED_FOR: usize = 64;

/// The value of the variable: no other start has the same, of this process or of another.
///
/// It is no secret, and nobody gains by guessing it: who carries it is killed. So the number of this process, a count
/// of its starts and the time do; the time tells hosts apart that have the same number in different containers.
#[derive(Debug)]
pub(crate) struct Cookie(String);

impl Cookie {
    pub(crate) fn unique() -> Cookie {
        static STARTS: AtomicU64 = AtomicU64::new(0);
        let start = STARTS.fetch_add(1, Ordering::Relaxed);
        // A clock before 1970 still leaves the two numbers.
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Cookie(format!("{}-{start}-{time}", process::id()))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }
}

/// Finds and kills the processes that carry a cookie.
#[derive(Debug)]
pub(crate) struct Escaped {
    /// The variable and its value, as they stand in an environment.
    entry: Vec<u8>,
    /// When the server was started, in ticks; 0 if it is gone already.
    since: u64,
    /// The pass that the last look had no time to finish: a busy machine takes several looks for one.
    unfinished: Option<Pass>,
}

/// What one pass over all processes saw.
#[derive(Debug, Default)]
struct Pass {
    /// Processes that carry the cookie.
    found: u32,
    /// Some of those that were killed.
    killed: Vec<OwnedFd>,
    /// A process that may be ours could not be looked at.
    unknown: bool,
    /// Processes that do not show their environment.
    closed: BTreeSet<i32>,
    /// The number of the process that was looked at last: they are listed in the order of their numbers.
    last: i32,
}

impl Escaped {
    /// `leader` was started with `cookie` and is not reaped.
    pub(crate) fn new(cookie: &Cookie, leader: Pid) -> Escaped {
        let entry = format!("{VARIABLE}={}", cookie.value()).into_bytes();
        Escaped { entry, since: Stat::read(leader).map_or(0, |stat| stat.start), unfinished: None }
    }

    /// Kills all that carry the cookie, and says what is left: [`Tree::Gone`] if nobody carries it, and
    /// [`Tree::Unknown`] if also somebody could not be asked, or if there was no time to ask all. It goes on until
    /// `deadline`, and at least for one process; the next call goes on from there.
    pub(crate) fn kill(&mut self, deadline: Instant) -> Tree {
        let mut found = 0;
        for _ in 0..ROUNDS {
            let mut pass = self.unfinished.take().unwrap_or_default();
            let Ok(is_whole) = self.go_on(&mut pass, deadline) else { return Tree::Unknown };
            match pass {
                Pass { found: 0, unknown: false, .. } if is_whole => return Tree::Gone,
                Pass { found: 0, .. } if is_whole => return Tree::Unknown,
                Pass { .. } => found = pass.found,
            }
            reap(&pass.killed, deadline.min(Instant::now() + DEATH));
            if !is_whole {
                pass.killed.clear();
                self.unfinished = Some(pass);
                break;
            }
        }
        if found == 0 { Tree::Unknown } else { Tree::Alive(found) }
    }

    /// Goes on with a pass, and tells whether it is whole now.
    fn go_on(&self, pass: &mut Pass, deadline: Instant) -> io::Result<bool> {
        let mut environment = Vec::with_capacity(64 << 10);
        for process in processes()? {
            let process = process?;
            if process.as_raw_pid() <= pass.last {
                continue;
            }
            pass.last = process.as_raw_pid();
            match self.carries(process, &mut environment) {
                Ok(true) => {
                    pass.found = pass.found.saturating_add(1);
                    let killed = self.kill_one(process, &mut environment);
                    pass.killed.extend(killed.filter(|_| pass.killed.len() < WAITED_FOR));
                }
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    pass.closed.insert(process.as_raw_pid());
                }
                Err(error) => pass.unknown |= !is_gone(&error),
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
        }
        pass.unknown |= self.may_be_ours(&pass.closed);
        Ok(true)
    }

    /// Whether a process has the cookie in its environment. A zombie has no environment.
    fn carries(&self, process: Pid, environment: &mut Vec<u8>) -> io::Result<bool> {
        environment.clear();
        File::open(format!("/proc/{process}/environ"))?.read_to_end(environment)?;
        Ok(environment.split(|&byte| byte == 0).any(|entry| entry == self.entry))
    }

    /// Kills a process that was seen to carry the cookie, and gives the descriptor that it is waited for with.
    fn kill_one(&self, process: Pid, environment: &mut Vec<u8>) -> Option<OwnedFd> {
        let pidfd = pidfd_open(process, PidfdFlags::empty()).ok()?;
        // The number may have become another's before the descriptor was opened; not after, while it counts.
        if !self.carries(process, environment).ok()? {
            return None;
        }
        pidfd_send_signal(&pidfd, Signal::KILL).ok()?;
        Some(pidfd)
    }

    /// Whether one of the processes that do not show their environment may come from this server.
    ///
    /// Such a one has our real user, is not older than the server, and its parent is one that does not show it either
    /// and may be ours, or one that inherits orphans of ours: this process, one that it comes from itself, or the
    /// first. Browsers for instance start many that show nothing, but stay with them. A program that gave itself
    /// another real user, as `sudo` does, is taken for another's.
    fn may_be_ours(&self, closed: &BTreeSet<i32>) -> bool {
        let young = |&number: &i32| {
            let process = Pid::from_raw(number)?;
            let stat = Stat::read(process)?;
            (stat.is_alive() && stat.start >= self.since && is_of_our_user(process))
                .then_some((number, stat.parent))
        };
        let parents: BTreeMap<i32, i32> = closed.iter().filter_map(young).collect();
        if parents.is_empty() {
            return false;
        }
        let heirs = heirs();
        parents.values().any(|&parent| {
            let mut ancestor = parent;
            // Numbers may go round when they are used again.
            for _ in 0..parents.len() {
                match parents.get(&ancestor) {
                    Some(&parent) => ancestor = parent,
                    None => break,
                }
            }
            heirs.contains(&ancestor)
        })
    }
}

/// Who may become the parent of an orphan of ours (prctl(2), PR_SET_CHILD_SUBREAPER).
fn heirs() -> BTreeSet<i32> {
    let mut heirs = BTreeSet::from([1]);
    let mut next = Some(getpid());
    while let Some(process) = next.filter(|process| heirs.insert(process.as_raw_pid())) {
        next = Stat::read(process).and_then(|stat| Pid::from_raw(stat.parent));
    }
    heirs
}

fn is_of_our_user(process: Pid) -> bool {
    // The program's name stands in it too and is escaped, but not always as UTF-8.
    let Ok(status) = fs::read(format!("/proc/{process}/status")) else { return false };
    let status = String::from_utf8_lossy(&status);
    let real = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_ascii_whitespace().next());
    real.is_some_and(|real| real.parse() == Ok(getuid().as_raw()))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Waits until these have ended, until `deadline` at most, and reaps those that the system made our children.
fn reap(killed: &[OwnedFd], deadline: Instant) {
    for pidfd in killed {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let _ = retry_on_intr(|| poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)));
    }
    // Only now: one becomes our child when its parent, which may be among them, has ended.
    for pidfd in killed {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let _ = retry_on_intr(|| waitid(WaitId::PidFd(pidfd.as_fd()), ended));
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Where one look has no time for more than one process, as on a machine that is very busy.
    #[test]
    fn l17_looks_that_are_cut_short_end_what_left_the_group() {
        let cookie = Cookie::unique();
        let mut server = Command::new("sh")
            .args(["-c", "setsid sleep 60 & echo"])
            .env(VARIABLE, cookie.value())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut escaped = Escaped::new(&cookie, Pid::from_child(&server));
        let mut said = server.stdout.take().expect("it is piped");
        server.wait().expect("it is ours");
        let mut most = 0;
        let mut looks = 0;
        // However many processes there are, and however many of them start and end meanwhile.
        let last = (0..20_000).find_map(|_| {
            looks += 1;
            let tree = escaped.kill(Instant::now());
            if let Tree::Alive(found) = tree {
                most = most.max(found);
            }
            (tree == Tree::Gone).then_some(tree)
        });
        assert_eq!((last, most), (Some(Tree::Gone), 1), "after {looks} looks");
        assert!(looks > 1, "one look was enough");
        // Nobody holds it open any more.
        said.read_to_end(&mut Vec::new()).expect("it is a pipe");
    }
}
