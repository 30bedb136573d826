//! The impolite end of a server (row L18).

use std::{
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use sans_mcp::{Signal, Tree};

use super::Child;
#[cfg(target_os = "linux")]
use crate::escaped::Left;

impl Child {
    /// Kills the whole group and waits until the leader has exited, for `most` at most. It needs no runtime.
    ///
    /// For who leaves at once and cannot come back; everything else waits for [`Child::pidfd`] in its poll.
    ///
    /// ```
    /// use sans_mcp::{Exit, Server};
    /// use sans_mcp_process::Child;
    ///
    /// let (mut child, _pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// child.kill_and_wait(Child::DROP_BOUND);
    /// assert_eq!(child.exit(), Some(Exit::Signal(9)));
    /// ```
    pub fn kill_and_wait(&mut self, most: Duration) {
        let deadline = Instant::now() + most;
        self.signal(Signal::Kill);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::from_borrowed_fd(self.watch.fd(), PollFlags::IN)];
            let timeout = Timespec::try_from(left).unwrap_or_default();
            if poll(&mut fds, Some(&timeout)) != Err(Errno::INTR) {
                return;
            }
        }
    }

    /// Whether the leader is reaped and everything else was seen to be gone, so that dropping this does nothing and waits
    /// for nothing.
    ///
    /// ```
    /// use sans_mcp::{Server, Signal, Tree};
    ///
    /// let (mut child, _pipes) = sans_mcp_process::spawn(&Server::new("echo", "cat")).expect("cat is installed");
    /// child.signal(Signal::Kill);
    /// assert!(!child.is_over());
    /// while child.reap().is_none() || child.probe() != Tree::Gone {
    ///     std::thread::yield_now();
    /// }
    /// assert!(child.is_over());
    /// ```
    pub fn is_over(&self) -> bool {
        #[cfg(target_os = "linux")]
        let escaped_are_over = self.escaped.is_none();
        #[cfg(target_os = "macos")]
        let escaped_are_over = true;
        self.reaped && self.group_empty && escaped_are_over
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let deadline = Instant::now() + Child::DROP_BOUND;
        let has_group = !self.reaped;
        if has_group {
            // A leader that hangs leaves the other half to those that left its group.
            self.kill_and_wait(Child::DROP_BOUND / 2);
        }
        loop {
            self.reap();
            // Members die by themselves, but those that we inherit stay as zombies unless they are reaped here.
            let group = if has_group { self.probe_group() } else { Tree::Gone };
            #[cfg(target_os = "linux")]
            let escaped_are_over = matches!(self.end_escaped(deadline), Left::None | Left::Unknown);
            #[cfg(target_os = "macos")]
            let escaped_are_over = true;
            let is_over = self.reaped && group == Tree::Gone && escaped_are_over;
            if is_over || Instant::now() >= deadline {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
