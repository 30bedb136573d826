//! Signals that meet the host and are none of a session's business.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process_group, setpgid};
use sans_mcp::{Code, Exit};
use signal_hook::consts::SIGINT;

use crate::host::{Host, assert_over, echo, mode};

/// Writes into pipes that nobody reads, with the default action of SIGPIPE: that is to die.
pub(crate) fn sigpipe<H: Host>() {
    // SAFETY: the default action needs no handler, and this process runs one proof only.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let mut host = H::new();
    for _ in 0..20 {
        let client = host.connected(mode("close-stdin-early"));
        assert_eq!(host.ask(client, echo("x"), 1).as_deref(), Ok("x"));
        assert_eq!(host.ask(client, echo("x"), 2), Err(Code::STDIN_CLOSED));
        host.drop_client(client);
    }
}

/// What a terminal does at Ctrl-C: SIGINT to all of the group in the foreground, which this process then leads.
pub(crate) fn interrupt<H: Host>() {
    setpgid(None, None).expect("a group of its own");
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, interrupted.clone()).expect("a handler");
    let mut host = H::new();
    let client = host.connected(mode("plain"));
    for key in 1..=20 {
        interrupted.store(false, Ordering::SeqCst);
        host.call(client, echo("x"), key);
        kill_process_group(getpid(), Signal::INT).expect("own group");
        assert_eq!(host.outcome(client, key).as_deref(), Ok("x"));
        while !interrupted.load(Ordering::SeqCst) {
            host.turn(Duration::from_millis(1));
        }
    }
    host.close(client);
    kill_process_group(getpid(), Signal::INT).expect("own group");
    let end = host.end(client);
    assert_over(&end);
    assert_eq!(end.exit, Some(Exit::Code(0)));
}
