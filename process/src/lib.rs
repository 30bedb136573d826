//! What the drivers of `sans-mcp` need from the system, and no runtime: start a server in a process group of its
//! own, see how it ended without reaping it, signal the group, reap, prove that nothing is left, and move bytes
//! through its pipes.
//!
//! [`spawn`] gives a [`Child`] and its [`Pipes`]. A driver watches [`Child::pidfd`] beside the pipes, moves bytes
//! with [`read`] and [`write()`], and carries out what the session asks for: [`Child::signal`] for `Signal`,
//! [`Child::reap`] for `Reap`, [`Child::probe`] for `ProbeTree`. Everything returns at once but three: a probe that finds
//! the group empty may look for what left it, for 100 ms at most, dropping a [`Child`] that was not seen gone may
//! take [`Child::DROP_BOUND`], and [`Child::kill_and_wait`] says itself how long it waits.
//!
//! ```
//! use sans_mcp::{Exit, Server, Tree};
//! use sans_mcp_process::{read, spawn};
//!
//! let (mut child, pipes) = spawn(&Server::new("greeter", "echo").arg("hello")).expect("echo is installed");
//! while child.exit().is_none() {
//!     std::thread::yield_now(); // a driver waits for `child.pidfd()` to become readable instead
//! }
//! let mut buffer = [0; 64];
//! let length = read(&pipes.stdout, &mut buffer).expect("it wrote before it left");
//! assert_eq!(&buffer[..length], b"hello\n");
//! assert_eq!(child.reap(), Some(Exit::Code(0)));
//! assert_eq!(child.probe(), Tree::Gone);
//! ```
//!
//! # Platforms
//!
//! Linux 5.4 or newer is complete. Before it, and where a sandbox forbids `pidfd_open`, a thread for each server
//! waits for the exit; so it is on macOS, where also the members of a group cannot be told from its zombies.
//! Elsewhere the crate does not build.
#![deny(unsafe_code)]

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!(
    "sans-mcp-process runs on Linux and macOS only: the drivers do not support Windows or other systems yet; \
     the core crate `sans-mcp` builds everywhere"
);

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod child;
#[cfg(target_os = "linux")]
mod escaped;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod executable;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod larger_pipe;
#[cfg(target_os = "linux")]
mod members;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod pipes;
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[expect(
    unsafe_code,
    reason = "no maintained crate offers signal masks, pending signals and dispositions safely"
)]
mod sigpipe;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod spawn;
#[cfg(target_os = "linux")]
mod stat;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod watch;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use self::{
    child::Child,
    larger_pipe::LargerPipe,
    pipes::{Pipes, read, write},
    spawn::spawn,
};
