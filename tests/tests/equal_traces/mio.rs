//! The driver for mio. Its pipes are no sources of a poll, so none is needed: the waits are what it asks for.

use std::time::Duration;

use sans_mcp_mio::Connection;
use sans_mcp_tests::Token;

use crate::host::Host;
use crate::recorded::{Log, Recorded};
use crate::script;

pub(crate) fn play(seed: u64) -> Vec<String> {
    let log = Log::new();
    let mut host = Host::new(seed, log.clone());
    let pipes = Recorded::new(seed, log.clone());
    let mut connection = Connection::<Token, Recorded>::over(script::server(), pipes).unwrap();
    loop {
        let now = log.now();
        if connection.pipes().next().is_some_and(|next| next <= now) {
            connection.pipes_mut().advance();
        }
        let pumped = loop {
            let pumped = connection.pump(now, |output| host.output(output));
            if pumped.closed || connection.timeout(now) != Some(Duration::ZERO) && !host.acts(&mut connection)
            {
                break pumped;
            }
        };
        if pumped.closed {
            host.ended(connection.session());
            return log.lines();
        }
        host.waits(connection.session(), pumped.until, pumped.why);
        let timeout = connection.timeout(now).map(|timeout| now + timeout);
        let next = timeout.into_iter().chain(connection.pipes().next()).chain(host.next()).min();
        let next = next.expect("the last command is a close, which ends");
        assert!(next > log.now(), "something is left that nobody does: {:?}", log.lines().last());
        log.set(next);
    }
}
