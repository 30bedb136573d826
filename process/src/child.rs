//! One started server and the process group that it leads.

use std::{
    io,
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use rustix::{
    io::{Errno, retry_on_intr},
    process::{
        Pid, Signal as Number, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group,
        test_kill_process_group, waitid,
    },
};
use sans_mcp::{Exit, Signal, Signalled, Tree};

#[cfg(target_os = "linux")]
use crate::escaped::{Cookie, Escaped, Left};
use crate::watch::Watch;

mod drop;

/// A started server: the leader of a process group, which its own children are in unless they leave it.
///
/// On Linux those that leave it are ended as well, unless the server is to have only its group ended
/// ([`Descendants::Group`](sans_mcp::Descendants)). They are known by a variable, `SANS_MCP_COOKIE`, that [`spawn`]
/// puts into the server's environment with a value that no other start has, and that what it starts inherits. A
/// process that does not carry it is never signalled. So not found are: a process that clears or overwrites its
/// environment, as some do to change their title; one whose first thread ended before the others; and what a server
/// starts through this library in turn, which carries another value.
///
/// The system gives a number to another process once its leader is reaped and its group is empty. So nothing is
/// signalled after the leader was reaped, by [`Child::reap`] or by the host behind our back, and no group after it
/// was seen empty; an exit is therefore looked at first and reaped last.
///
/// Dropping it is the impolite end (row L18): SIGKILL for the group at once and then for those that left it, and a wait
/// of [`Child::DROP_BOUND`] at most for all to be gone. That needs no runtime and never panics. The polite one is the
/// session's close.
///
/// [`spawn`]: crate::spawn
#[derive(Debug)]
pub struct Child {
    leader: Pid,
    watch: Watch,
    /// How the leader ended, once seen.
    exit: Option<Exit>,
    /// Whether the leader's status was taken, by us or by somebody else.
    reaped: bool,
    /// Whether the group was once seen without a process.
    group_empty: bool,
    /// What finds those that left the group; `None` if they are to live, and once nothing at all was left.
    #[cfg(target_os = "linux")]
    escaped: Option<Escaped>,
}

impl Child {
    /// 200 ms: a killed process is gone within a few; only one that hangs in the kernel takes longer.
    pub const DROP_BOUND: Duration = Duration::from_millis(200);

    /// 100 ms: so long may one look for processes that left the group take, however many the machine has.
    const LOOK_BOUND: Duration = Duration::from_millis(100);

    /// Takes charge of a process that was just started as the leader of a group. If that fails it is not running.
    pub(crate) fn watch(leader: Pid) -> io::Result<Child> {
        match Watch::open(leader) {
            Ok(watch) => Ok(Child {
                leader,
                watch,
                exit: None,
                reaped: false,
                group_empty: false,
                #[cfg(target_os = "linux")]
                escaped: None,
            }),
            Err(error) => {
                let _ = kill_process_group(leader, Number::KILL);
                let _ = retry_on_intr(|| waitid(WaitId::Pid(leader), WaitIdOptions::EXITED));
                Err(error)
            }
        }
    }

    /// Also ends those that left the group and carry the cookie that the leader was started with.
    #[cfg(target_os = "linux")]
    pub(crate) fn also_escaped(mut self, cookie: &Cookie) -> Child {
        self.escaped = Some(Escaped::new(cookie, self.leader));
        self
    }

    /// The leader's process number, which is also that of its group. For messages: it may be another's later.
    ///
    /// ```
    /// use sans_mcp::Server;
    ///
    /// let (child, _pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// assert!(child.id() > 1);
    /// ```
    pub fn id(&self) -> u32 {
        self.leader.as_raw_pid().unsigned_abs()
    }

    /// A descriptor that becomes readable, and stays so, once the leader has exited; for the driver's poll.
    ///
    /// It is a pidfd where the system has them, and otherwise a pipe that a waiting thread closes, which reports a
    /// hang-up: watch it for reading and take either for the news. It is not for reading from. [`Child::exit`] then
    /// says how it ended.
    ///
    /// ```
    /// use rustix::event::{PollFd, PollFlags, poll};
    /// use sans_mcp::{Exit, Server};
    ///
    /// let (mut child, _pipes) = sans_mcp_process::spawn(&Server::new("brief", "true")).expect("true is installed");
    /// poll(&mut [PollFd::from_borrowed_fd(child.pidfd(), PollFlags::IN)], None).expect("poll works");
    /// assert_eq!(child.exit(), Some(Exit::Code(0)));
    /// ```
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.watch.fd()
    }

    /// How the leader ended, or `None` while it runs. It is not reaped, so that its group can still be signalled.
    ///
    /// [`Exit::Unknown`] if the host has taken the status itself, by waiting for any child or ignoring SIGCHLD; then
    /// nothing is signalled any more. Drivers call it when [`Child::pidfd`] is readable, after they have read the
    /// output that is there (row L15).
    ///
    /// ```
    /// use sans_mcp::{Exit, Server};
    ///
    /// let (mut child, pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// assert_eq!(child.exit(), None);
    /// drop(pipes.stdin); // `cat` leaves at the end of its input
    /// while child.exit().is_none() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(child.exit(), Some(Exit::Code(0)));
    /// ```
    pub fn exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.look(WaitIdOptions::NOWAIT);
        }
        self.exit
    }

    /// Sends `signal` to the whole group, and to the leader itself if it has left the group.
    ///
    /// [`Signalled::NoProcess`] without a signal once the leader is reaped, and for a group that was once seen empty.
    /// A member that has exited and is not reaped yet still counts as one that got it. Drivers call it for
    /// `Output::Signal`.
    ///
    /// ```
    /// use sans_mcp::{Exit, Server, Signal, Signalled};
    ///
    /// let (mut child, _pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// assert_eq!(child.signal(Signal::Terminate), Signalled::Delivered);
    /// while child.exit().is_none() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(child.exit(), Some(Exit::Signal(15)));
    /// child.reap();
    /// assert_eq!(child.signal(Signal::Kill), Signalled::NoProcess);
    /// ```
    pub fn signal(&mut self, signal: Signal) -> Signalled {
        // Somebody else may have reaped the leader since.
        self.look(WaitIdOptions::NOWAIT);
        if self.reaped {
            return Signalled::NoProcess;
        }
        let number = match signal {
            Signal::Terminate => Number::TERM,
            Signal::Kill => Number::KILL,
        };
        let group = self.signal_group(number);
        if !self.leader_has_left_group() {
            return group;
        }
        match (group, kill_process(self.leader, number)) {
            (Signalled::Delivered, _) | (_, Ok(())) => Signalled::Delivered,
            (Signalled::NotPermitted, _) | (_, Err(Errno::PERM)) => Signalled::NotPermitted,
            _ => Signalled::NoProcess,
        }
    }

    /// Takes the status of a leader that has exited; `None`, and nothing happens, while it runs.
    ///
    /// After it no signal is ever sent to the number again, so the group is killed before. Drivers call it for
    /// `Output::Reap`; once more does no harm.
    ///
    /// ```
    /// use sans_mcp::{Exit, Server, Signal};
    ///
    /// let (mut child, _pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// assert_eq!(child.reap(), None);
    /// child.signal(Signal::Kill);
    /// while child.reap().is_none() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(child.reap(), Some(Exit::Signal(9)));
    /// ```
    pub fn reap(&mut self) -> Option<Exit> {
        self.look(WaitIdOptions::empty());
        self.exit
    }

    /// What is left of the group and, on Linux, of those that left it; [`Tree::Gone`] for good once nothing is. Drivers
    /// call it for `Output::ProbeTree`.
    ///
    /// On Linux the number of living members is counted, and members that ended but that their parent does not reap
    /// do not count. Where members were orphaned and the host is the one that inherits them, as the first process of
    /// a container does, the dead ones are reaped here once the leader is. On macOS it is known only that there is at
    /// least one member.
    ///
    /// Once the group is empty, those that left it are killed here (see [`Child`]). A list of all processes proves nothing
    /// by itself: who was alive when it was made may have started another one since. So they are listed until nobody new
    /// is seen twice in a row, 100 ms at most; only processes that are new are looked at, about 10 µs each: 5 ms were
    /// measured among 470. [`Tree::Unknown`] if that took longer, and the next call goes on from there; and if none is
    /// found but the environment of a process cannot be read that may be one of them: one of our own real user, not older
    /// than the server, and not started by a process that is known to be somebody else's; or if `/proc` cannot be read.
    /// Processes of other users are passed over: only one that gave itself another real user, as `sudo` does, could be
    /// ours.
    ///
    /// Where the system has no pidfd (before Linux 5.3, or in a sandbox that forbids it) they are counted and not killed.
    ///
    /// ```
    /// use sans_mcp::{Server, Signal, Tree};
    ///
    /// let (mut child, _pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// assert_eq!(child.probe(), Tree::Alive(1));
    /// child.signal(Signal::Kill);
    /// while child.reap().is_none() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(child.probe(), Tree::Gone);
    /// ```
    pub fn probe(&mut self) -> Tree {
        let leader_outside = self.exit().is_none() && self.leader_has_left_group();
        match (self.probe_group(), leader_outside) {
            #[cfg(target_os = "linux")]
            (Tree::Gone, false) => self.end_escaped(Instant::now() + Child::LOOK_BOUND).into(),
            (Tree::Gone, true) => Tree::Alive(1),
            (Tree::Alive(members), true) => Tree::Alive(members.saturating_add(1)),
            (group, _) => group,
        }
    }

    /// Asks how the leader ended, and takes the status unless `keep` says otherwise.
    fn look(&mut self, keep: WaitIdOptions) {
        if self.reaped {
            return;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | keep;
        match retry_on_intr(|| waitid(self.watch.leader(self.leader), options)) {
            Ok(None) => {}
            Ok(Some(status)) => {
                self.exit.get_or_insert(exit_of(&status));
                self.reaped = keep.is_empty();
            }
            // It is no child of ours any more.
            Err(_) => {
                self.exit.get_or_insert(Exit::Unknown);
                self.reaped = true;
            }
        }
    }

    fn signal_group(&mut self, number: Number) -> Signalled {
        if self.group_empty {
            return Signalled::NoProcess;
        }
        match kill_process_group(self.leader, number) {
            Ok(()) => Signalled::Delivered,
            Err(Errno::PERM) => Signalled::NotPermitted,
            Err(_) => {
                self.group_empty = true;
                Signalled::NoProcess
            }
        }
    }

    fn probe_group(&mut self) -> Tree {
        if self.group_is_empty() {
            return Tree::Gone;
        }
        let members = self.count();
        // Counted first: a member that is seen dead has already given its own children to who inherits them.
        if self.reaped {
            self.reap_orphans();
        }
        if self.group_is_empty() { Tree::Gone } else { members }
    }

    fn group_is_empty(&mut self) -> bool {
        self.group_empty = self.group_empty || test_kill_process_group(self.leader) == Err(Errno::SRCH);
        self.group_empty
    }

    /// Reaps members of the group that the system has made our children when they lost their parent.
    fn reap_orphans(&self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        while let Ok(Some(_)) = retry_on_intr(|| waitid(WaitId::Pgid(Some(self.leader)), options)) {}
    }

    /// The members of a group that has some.
    #[cfg(target_os = "linux")]
    fn count(&mut self) -> Tree {
        use crate::members::{Members, members};

        match members(self.leader) {
            Ok(Members { alive: 0, dead: 1.. }) => Tree::Gone,
            Ok(Members { alive, .. }) => Tree::Alive(alive.max(1)),
            Err(_) => Tree::Alive(1),
        }
    }

    #[cfg(target_os = "macos")]
    fn count(&mut self) -> Tree {
        Tree::Alive(1)
    }

    /// Kills those that left the group, and says what is left of them.
    #[cfg(target_os = "linux")]
    fn end_escaped(&mut self, deadline: Instant) -> Left {
        let left = self.escaped.as_mut().map_or(Left::None, |escaped| escaped.kill(deadline));
        if left == Left::None && self.group_empty {
            self.escaped = None;
        }
        left
    }

    /// Whether a leader that is not reaped is in another group by now: a process may move within its session.
    fn leader_has_left_group(&self) -> bool {
        !self.reaped && group_of(self.leader).is_some_and(|group| group != self.leader.as_raw_pid())
    }
}

fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// The number of the group that a process is in; `None` if there is no such process.
#[cfg(target_os = "linux")]
fn group_of(process: Pid) -> Option<i32> {
    // getpgid(2) gives 0 for a group whose number cannot be seen in this PID namespace, which no `Pid` can hold.
    crate::stat::Stat::read(process).map(|stat| stat.group)
}

#[cfg(target_os = "macos")]
fn group_of(process: Pid) -> Option<i32> {
    rustix::process::getpgid(Some(process)).ok().map(Pid::as_raw_pid)
}
