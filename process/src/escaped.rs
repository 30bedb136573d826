//! The descendants of a server that left its process group, on Linux.
//!
//! What a server starts inherits its environment, and so a variable that only one start has: the cookie. Nothing else
//! of a process stays when it leaves the group, the session and its parent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, ErrorKind, Read},
    mem,
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

/// 6 passes over all processes: one that kills, the next finds what the killed ones started meanwhile, and the last two
/// see nothing new. All but the first look only at processes that are new.
const PASSES: u32 = 6;

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
    /// Processes that were seen not to carry the cookie, and none of which can come by it: what a look finds out is kept
    /// for the next one, since a busy machine may take several.
    others: BTreeSet<i32>,
    /// Processes that do not show their environment.
    closed: BTreeSet<i32>,
    /// The last pass saw nobody who is ours, or could have started one.
    calm: bool,
}

/// What is left of those that carry a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing.
    None,
    /// So many were found.
    Some(u32),
    /// It was not found out yet: the next look goes on.
    Unsettled,
    /// It cannot be found out.
    Unknown,
}

impl From<Left> for Tree {
    fn from(left: Left) -> Tree {
        match left {
            Left::None => Tree::Gone,
            Left::Some(found) => Tree::Alive(found),
            Left::Unsettled | Left::Unknown => Tree::Unknown,
        }
    }
}

/// What one pass over all processes saw.
#[derive(Default)]
struct Pass {
    /// Processes that carry the cookie.
    found: u32,
    /// Some of those that were killed.
    killed: Vec<OwnedFd>,
    /// There was no time for all, or one could not be judged: it ended before it was looked at, and may have started
    /// another one that is not in the list, or it is just beginning another program.
    unsettled: bool,
    /// A process could not be looked at for another reason than that it does not allow it.
    failed: bool,
}

/// What the environment of a process says.
enum Seen {
    Cookie,
    /// It is none of ours.
    NoCookie,
    /// It has ended, and what it may have started is not known.
    Dead,
    /// Nothing yet.
    Nothing,
}

impl Escaped {
    /// `leader` was started with `cookie` and is not reaped.
    pub(crate) fn new(cookie: &Cookie, leader: Pid) -> Escaped {
        let entry = format!("{VARIABLE}={}", cookie.value()).into_bytes();
        let since = Stat::read(leader).map_or(0, |stat| stat.start);
        Escaped { entry, since, others: BTreeSet::new(), closed: BTreeSet::new(), calm: false }
    }

    /// Kills all that carry the cookie, and says what is left. It goes on until `deadline`, and at least for one process.
    ///
    /// One list that shows nobody proves nothing: who was alive when it was made may have started another process since
    /// and be gone. Two in a row do, with nobody in between who could not be looked at.
    pub(crate) fn kill(&mut self, deadline: Instant) -> Left {
        let mut found = 0;
        for _ in 0..PASSES {
            let Ok(pass) = self.pass(deadline) else { return Left::Unknown };
            found = pass.found;
            reap(&pass.killed, deadline.min(Instant::now() + DEATH));
            let was_calm = mem::replace(&mut self.calm, pass.found == 0 && !pass.unsettled);
            if self.calm && was_calm {
                let unknown = pass.failed || self.may_be_ours();
                return if unknown { Left::Unknown } else { Left::None };
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        if found == 0 { Left::Unsettled } else { Left::Some(found) }
    }

    fn pass(&mut self, deadline: Instant) -> io::Result<Pass> {
        let mut pass = Pass::default();
        let mut environment = Vec::with_capacity(64 << 10);
        let listed: BTreeSet<i32> =
            processes()?.map(|process| Ok(process?.as_raw_pid())).collect::<io::Result<_>>()?;
        // A number that was free meanwhile may be that of another process.
        self.others.retain(|number| listed.contains(number));
        self.closed.retain(|number| listed.contains(number));
        let is_new = |number: &i32| !self.others.contains(number) && !self.closed.contains(number);
        let new: Vec<Pid> = listed.into_iter().filter(is_new).filter_map(Pid::from_raw).collect();
        for process in new {
            match self.look_at(process, &mut environment) {
                Ok(Seen::Cookie) => {
                    pass.found = pass.found.saturating_add(1);
                    let killed = self.kill_one(process, &mut environment);
                    pass.killed.extend(killed.filter(|_| pass.killed.len() < WAITED_FOR));
                }
                Ok(Seen::NoCookie) => {
                    self.others.insert(process.as_raw_pid());
                }
                Ok(Seen::Dead) => {
                    self.others.insert(process.as_raw_pid());
                    pass.unsettled = true;
                }
                Ok(Seen::Nothing) => pass.unsettled = true,
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    self.closed.insert(process.as_raw_pid());
                }
                Err(_) => pass.failed = true,
            }
            if Instant::now() >= deadline {
                pass.unsettled = true;
                break;
            }
        }
        Ok(pass)
    }

    fn look_at(&self, process: Pid, environment: &mut Vec<u8>) -> io::Result<Seen> {
        // Once more if there is none, though it is set up by then: it may have been another program's.
        for _ in 0..2 {
            match self.carries(process, environment) {
                Ok(true) => return Ok(Seen::Cookie),
                Ok(false) if environment.is_empty() => {}
                Ok(false) => return Ok(Seen::NoCookie),
                // It has no memory: it is a thread of the kernel's own, or has ended or begun to.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
            match Stat::read(process) {
                None => return Ok(Seen::Nothing),
                Some(stat) if stat.is_kernel || stat.start < self.since => return Ok(Seen::NoCookie),
                Some(stat) if !stat.is_alive() => return Ok(Seen::Dead),
                Some(stat) if !stat.has_environment => return Ok(Seen::Nothing),
                Some(_) => {}
            }
        }
        Ok(Seen::NoCookie)
    }

    /// Whether a process has the cookie in its environment. One that has ended has none.
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
    fn may_be_ours(&self) -> bool {
        let young = |&number: &i32| {
            let process = Pid::from_raw(number)?;
            let stat = Stat::read(process)?;
            (stat.is_alive() && stat.start >= self.since && is_of_our_user(process))
                .then_some((number, stat.parent))
        };
        let parents: BTreeMap<i32, i32> = self.closed.iter().filter_map(young).collect();
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
            let left = escaped.kill(Instant::now());
            if let Left::Some(found) = left {
                most = most.max(found);
            }
            (left == Left::None).then_some(left)
        });
        assert_eq!((last, most), (Some(Left::None), 1), "after {looks} looks");
        assert!(looks > 1, "one look was enough");
        // Nobody holds it open any more.
        said.read_to_end(&mut Vec::new()).expect("it is a pipe");
    }
}
