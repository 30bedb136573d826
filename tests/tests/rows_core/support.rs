//! What the rows share.

use std::time::Duration;

use sans_mcp::{Call, Server, Settings};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::peer::Peer;
use sans_mcp_tests::runner::Runner;

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A server named `docs`, tuned by `tune`.
pub(crate) fn server(tune: impl FnOnce(&mut Settings)) -> Server {
    let mut settings = Settings::default();
    tune(&mut settings);
    Server::new("docs", "docs-server").settings(settings)
}

/// A session of the default settings that is connected to `peer`.
pub(crate) fn connected(peer: impl Peer + 'static) -> Runner {
    connected_to(server(|_| {}), peer)
}

/// A session that is connected to `peer`.
pub(crate) fn connected_to(server: Server, peer: impl Peer + 'static) -> Runner {
    let mut runner = Runner::new(server, peer, LinkOptions::default());
    let token = runner.connected();
    assert!(
        matches!(runner.outcome(token), Some(sans_mcp_tests::runner::Outcome::Connected)),
        "{}",
        runner.trace()
    );
    runner
}

/// A call of tool `t`, which never times out unless it says so.
pub(crate) fn call(arguments: &str) -> Call {
    Call::new("t", arguments)
}

/// The code of a failure, by name; `-` for what did not fail, or has not ended.
pub(crate) fn code(runner: &Runner, token: u64) -> &'static str {
    runner.outcome(token).and_then(|outcome| outcome.code()).map_or("-", |code| code.as_str())
}
