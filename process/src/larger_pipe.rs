//! A larger pipe for output that needs one.

use std::{
    os::fd::AsFd,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Servers of this process whose output goes through a larger pipe at this moment.
static LARGER: AtomicUsize = AtomicUsize::new(0);

/// Whether the output of one server goes through a larger pipe, which saves turns of both sides while a long line comes.
///
/// Dropping it gives its place among the [`LargerPipe::MOST`] back, to be done with the pipe.
#[derive(Debug, Default)]
pub struct LargerPipe {
    tried: bool,
    place: Option<Place>,
}

impl LargerPipe {
    /// How many there are at most in this process: the system lets each of its users have some 64 MiB in pipes.
    pub const MOST: usize = 8;

    /// What a larger pipe holds, in bytes: what the system gives to those without privileges at most.
    pub const BYTES: usize = 1 << 20;

    /// It stays as it is.
    pub const fn never() -> LargerPipe {
        LargerPipe { tried: true, place: None }
    }

    /// Makes the pipe behind `stdout` hold more, once, if there is a place left and the system allows it.
    pub fn take(&mut self, stdout: impl AsFd) {
        if !self.tried {
            self.tried = true;
            self.place = Place::take().filter(|_| enlarge(stdout));
        }
    }
}

/// One of those there are at most.
#[derive(Debug)]
struct Place;

impl Place {
    fn take() -> Option<Place> {
        let more = |taken: usize| (taken < LargerPipe::MOST).then_some(taken + 1);
        LARGER.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        LARGER.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(target_os = "linux")]
fn enlarge(pipe: impl AsFd) -> bool {
    rustix::pipe::fcntl_setpipe_size(pipe, LargerPipe::BYTES).is_ok()
}

/// There, a pipe grows by itself.
#[cfg(target_os = "macos")]
fn enlarge(_: impl AsFd) -> bool {
    false
}
