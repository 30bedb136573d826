//! A host that returns from main with clients that are alive. What is left then is seen by who started it.

use std::mem;

use sans_mcp::Call;

use crate::host::{CONNECT, Host, mode};

/// A server that does not leave by itself: who returns kills it.
pub(crate) fn return_with_a_live_client<H: Host>() {
    let mut host = H::new();
    for name in ["plain", "stubborn", "grandchild-close"] {
        let client = host.connected(mode(name));
        host.call(client, Call::without_arguments("never"), 1);
    }
    let connecting = host.open(mode("init-never"));
    host.connect(connecting, CONNECT);
}

/// A client that is in a static, or in the hands of a thread that never ends, is not dropped. The system closes its pipes, which
/// is all that happens then: a server in order leaves.
pub(crate) fn return_without_a_drop<H: Host>() {
    let mut host = H::new();
    let client = host.connected(mode("plain"));
    host.call(client, Call::without_arguments("never"), 1);
    mem::forget(host);
}
