//! A signal that interrupts a read or a write is nobody's error: it is done again.

use std::{
    fs,
    io::{self, Write, pipe},
    mem,
    os::unix::thread::JoinHandleExt,
    path::Path,
    ptr,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use sans_mcp_process::{read, write};

use crate::support::{alone, eventually};

static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handle(_signal: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Handles SIGUSR1, and does not have the system restart what it interrupts.
fn handle_without_restart() {
    // SAFETY: all zeros is a valid `sigaction`, without flags and with an empty mask; the handler only counts.
    let action = libc::sigaction {
        sa_sigaction: handle as extern "C" fn(libc::c_int) as libc::sighandler_t,
        ..unsafe { mem::zeroed() }
    };
    // SAFETY: the action is valid, and nothing is asked about the one before.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()) }, 0);
}

/// Has a thread move bytes through a pipe that blocks, and interrupts it some times while it sleeps there.
fn interrupted(
    act: impl FnOnce() -> io::Result<usize> + Send + 'static,
) -> JoinHandle<Result<usize, io::ErrorKind>> {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        tell.send(fs::read_link("/proc/thread-self").expect("Linux")).expect("it waits");
        act().map_err(|error| error.kind())
    });
    let status = Path::new("/proc").join(told.recv().expect("it has begun")).join("stat");
    for _ in 0..5 {
        let before = HANDLED.load(Ordering::SeqCst);
        // One that is not restarted ends, and what it came to is looked at by the test.
        let sleeps = || fs::read_to_string(&status).map_or(true, |stat| stat.contains(") S "));
        eventually("it sleeps", || sleeps().then_some(()));
        if thread.is_finished() {
            break;
        }
        // SAFETY: the thread is not joined yet, so its handle is valid.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
        eventually("handled", || (HANDLED.load(Ordering::SeqCst) > before).then_some(()));
    }
    thread
}

#[test]
fn l19_an_interrupted_read_or_write_is_done_again() {
    alone("interrupt::l19_an_interrupted_read_or_write_is_done_again", || {
        handle_without_restart();

        let (output, mut server) = pipe().expect("there are descriptors");
        let reading = interrupted(move || read(&output, &mut [0; 8]));
        server.write_all(b"late").expect("it is open");
        assert_eq!(reading.join().expect("no panic"), Ok(4));

        let (server, input) = pipe().expect("there are descriptors");
        rustix::io::ioctl_fionbio(&input, true).expect("a pipe");
        while write(&input, &[b'x'; 4096]).is_ok() {}
        rustix::io::ioctl_fionbio(&input, false).expect("a pipe");
        let writing = interrupted(move || write(&input, b"x"));
        read(&server, &mut vec![0; 64 << 10]).expect("it is full");
        assert_eq!(writing.join().expect("no panic"), Ok(1));
    });
}
