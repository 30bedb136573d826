//! Writes that do not raise SIGPIPE in the host.
//!
//! A write into a pipe that nobody reads raises SIGPIPE, whose default action ends the host. The disposition
//! belongs to the whole process and is the host's to choose, so it is only looked at. Where it is the default
//! action the signal is kept from this one write; a host that ignores or handles it needs no protection.
//!
//! All unsafe code of the crate is here.

use std::{mem::MaybeUninit, os::fd::BorrowedFd, ptr};

use rustix::io;

/// One write, as [`rustix::io::write`], that raises no SIGPIPE whose default action would end the host.
pub(crate) fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    if !default_action() {
        return io::write(fd, bytes);
    }
    quiet_write(fd, bytes)
}

/// Whether SIGPIPE would end the host.
fn default_action() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; the old one is written to memory of its type that outlives the call.
    let asked = unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid `sigaction` (integers, and an optional function), so it is initialised
    // whether or not the call wrote to it.
    let action = unsafe { action.assume_init() };
    asked == 0 && action.sa_sigaction == libc::SIG_DFL
}

/// Blocks SIGPIPE on this thread around the write, and takes the one that the write has raised.
///
/// The kernel raises it on the writing thread, before the write returns, so that it is this thread's own.
#[cfg(target_os = "linux")]
fn quiet_write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let sigpipe = sigpipe_set();
    let mut before = sigpipe;
    // SAFETY: both sets are initialised and live on this stack; the call changes this thread's mask only.
    let masked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &sigpipe, &mut before) } == 0;
    if !masked {
        return Err(io::Errno::from_raw_os_error(libc::EINVAL));
    }
    let was_blocked = contains_sigpipe(&before);
    // A signal that already waits for the host is the host's: another of its kind adds nothing to it.
    let was_pending = was_blocked && sigpipe_is_pending();

    let written = io::write(fd, bytes);

    if written == Err(io::Errno::PIPE) && !was_pending {
        take_sigpipe(&sigpipe);
    }
    if !was_blocked {
        // SAFETY: as above; it puts back the mask that was read there.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) };
    }
    written
}

/// Tells the system to raise no signal for this pipe: macOS keeps that with the descriptor.
#[cfg(target_os = "macos")]
fn quiet_write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    use std::os::fd::AsRawFd;

    // SAFETY: the descriptor is open while it is borrowed, and this command takes an integer.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) } == -1 {
        return Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(io::Errno::INVAL));
    }
    io::write(fd, bytes)
}

#[cfg(target_os = "linux")]
fn sigpipe_set() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `sigemptyset` initialises the set before `sigaddset` changes it, SIGPIPE is a valid signal, and
    // all-zero bytes are a valid set of integers in any case.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        set.assume_init()
    }
}

#[cfg(target_os = "linux")]
fn contains_sigpipe(set: &libc::sigset_t) -> bool {
    // SAFETY: the set is initialised and SIGPIPE is a valid signal.
    unsafe { libc::sigismember(set, libc::SIGPIPE) == 1 }
}

#[cfg(target_os = "linux")]
fn sigpipe_is_pending() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the call writes a set to memory of its type; all-zero bytes are a valid set if it does not.
    let pending = unsafe {
        libc::sigpending(pending.as_mut_ptr());
        pending.assume_init()
    };
    contains_sigpipe(&pending)
}

/// Takes a pending SIGPIPE and never waits: with a zero timeout even a signal that vanished is no hang.
#[cfg(target_os = "linux")]
fn take_sigpipe(sigpipe: &libc::sigset_t) {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        // SAFETY: set and time are initialised and outlive the call; no information on the signal is asked for.
        let taken = unsafe { libc::sigtimedwait(sigpipe, ptr::null_mut(), &at_once) };
        let interrupted =
            taken == -1 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if !interrupted {
            return;
        }
    }
}
