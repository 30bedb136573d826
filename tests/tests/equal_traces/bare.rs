//! The loop of the core, and nothing else.

use sans_mcp::{Session, pump};
use sans_mcp_tests::Token;

use crate::host::Host;
use crate::recorded::{Log, Recorded};
use crate::script;

pub(crate) fn play(seed: u64) -> Vec<String> {
    let log = Log::new();
    let mut host = Host::new(seed, log.clone());
    let mut pipes = Recorded::new(seed, log.clone());
    let mut session = Session::<Token>::new(script::server()).unwrap();
    loop {
        pipes.advance();
        let pumped = loop {
            let pumped = pump(&mut session, &mut pipes, log.now(), 1 << 20, |output| host.output(output));
            if pumped.closed || !pumped.starved && !host.acts(&mut session) {
                break pumped;
            }
        };
        if pumped.closed {
            host.ended(&session);
            return log.lines();
        }
        host.waits(&session, pumped.until, pumped.why);
        let next = pumped.until.into_iter().chain(pipes.next()).chain(host.next()).min();
        let next = next.expect("the last command is a close, which ends");
        assert!(next > log.now(), "something is left that nobody does: {:?}", log.lines().last());
        log.set(next);
    }
}
