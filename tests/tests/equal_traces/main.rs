//! Equal traces: the same history over the same pipes gives the same steps through the bare loop, the driver for mio and
//! the driver for tokio. A step is each output with its time and its bytes, each read and write with its size, each act
//! on the process, and each wait.
//!
//! A seed decides the history: how the pipes cut, delay and refuse bytes, what the server does, when it closes an end or
//! exits, and what the host asks for when. The invariants are checked at every step, under every driver.
//!
//! `SANS_MCP_CASES` sets how many seeds are played, and `SANS_MCP_SEED` plays that one alone.

#[cfg(test)]
mod bare;
#[cfg(test)]
mod client;
#[cfg(test)]
mod host;
#[cfg(test)]
mod mio;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod script;
#[cfg(test)]
mod tokio;

#[cfg(test)]
mod tests {
    use std::env;

    use sans_mcp_tests::Token;

    use crate::{bare, client, mio, tokio};

    /// Seeds that each test plays by default.
    const CASES: u64 = 200;

    fn seeds() -> impl Iterator<Item = u64> {
        let number = |name| env::var(name).ok().and_then(|text: String| text.parse().ok());
        match number("SANS_MCP_SEED") {
            Some(seed) => seed..=seed,
            None => 1..=number("SANS_MCP_CASES").unwrap_or(CASES),
        }
    }

    /// Fails at the first step in which two traces part, with some of what went before.
    fn compare(test: &str, seed: u64, one: &[String], other: &[String]) {
        let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at));
        if let Some(at) = at {
            panic!(
                "{}\nstep {at}: {:?} against {:?}\n{}",
                one[at.saturating_sub(20)..at.min(one.len())].join("\n"),
                one.get(at),
                other.get(at),
                replay(test, seed),
            );
        }
    }

    fn replay(test: &str, seed: u64) -> String {
        format!("play it again: SANS_MCP_SEED={seed} cargo test -p sans-mcp-tests --test equal_traces {test}")
    }

    fn no_violation(test: &str, seed: u64, trace: &[String]) {
        let violation = trace.iter().find(|line| line.contains("VIOLATION"));
        assert_eq!(violation, None, "{}", replay(test, seed));
    }

    #[test]
    fn the_bare_loop_and_mio_take_the_same_steps() {
        let test = "the_bare_loop_and_mio_take_the_same_steps";
        for seed in seeds() {
            let bare = bare::play(seed);
            no_violation(test, seed, &bare);
            compare(test, seed, &bare, &mio::play(seed));
        }
    }

    #[test]
    fn the_bare_loop_and_tokio_take_the_same_steps() {
        let test = "the_bare_loop_and_tokio_take_the_same_steps";
        for seed in seeds() {
            let bare = bare::play(seed);
            no_violation(test, seed, &bare);
            compare(test, seed, &bare, &tokio::play(seed));
        }
    }

    /// The client hides its outputs, but not what happens at its pipes, nor when which call ends how.
    #[test]
    fn the_bare_loop_and_the_client_of_tokio_do_the_same() {
        let test = "the_bare_loop_and_the_client_of_tokio_do_the_same";
        for seed in seeds() {
            let bare = bare::play(seed);
            no_violation(test, seed, &bare);
            let shown = client::play(seed);
            let at_the_pipes: Vec<String> =
                bare.iter().filter(|line| is_at_the_pipes(line)).cloned().collect();
            compare(test, seed, &at_the_pipes, &shown.steps);
            compare(
                test,
                seed,
                &sorted(bare.iter().filter_map(|line| completion(line, &shown.dropped))),
                &sorted(shown.ended),
            );
        }
    }

    /// What the histories must come to now and then, as it stands in a trace.
    const WANTED: [&str; 26] = [
        ": connected",
        ": listed",
        ": answer {",
        "MCP_TIMEOUT sent",
        "MCP_TIMEOUT not sent",
        "MCP_ABORTED partly sent",
        "MCP_ABORTED sent",
        "MCP_ERROR",
        "MCP_INVALID_RESPONSE",
        "MCP_PROCESS_EXIT",
        "MCP_STDIN_CLOSED",
        "MCP_UNKNOWN_TOOL",
        "CLIENT_CLOSED",
        "MCP_TOO_LARGE",
        "progress ",
        "request ",
        "stderr ",
        " blocked",
        " ended",
        "writable",
        "State(Draining)",
        "signal Terminate",
        "signal Kill: NotPermitted",
        "probe Alive",
        "exit exit code 3",
        "wait until None",
    ];

    /// Histories that reach nothing prove nothing.
    #[test]
    fn the_histories_reach_every_kind_of_step() {
        let traces: Vec<Vec<String>> = (1..=CASES).map(bare::play).collect();
        let reached = |wanted: &&&str| traces.iter().flatten().any(|line| line.contains(**wanted));
        let missing: Vec<&&str> = WANTED.iter().filter(|wanted| !reached(wanted)).collect();
        assert!(missing.is_empty(), "never reached: {missing:?}");
    }

    fn is_at_the_pipes(line: &str) -> bool {
        const STEPS: [&str; 9] =
            ["spawn", "read", "writ", "close input", "signal", "exit", "reap", "probe", "refused"];
        let step = line.trim_start().split_once(' ').map_or("", |(_, step)| step);
        STEPS.iter().any(|begin| step.starts_with(begin)) || step == "release"
    }

    /// The end of an operation as the client shows it: not at all to who has dropped its future.
    fn completion(line: &str, dropped: &[Token]) -> Option<String> {
        let (at, completion) = line.split_once(" complete ")?;
        let (token, how) = completion.split_once(" as ")?;
        let (_, how) = how.split_once(": ")?;
        let is_dropped = token.parse().is_ok_and(|token| dropped.contains(&token));
        (!is_dropped).then(|| format!("{at} {token}: {how}"))
    }

    /// Futures that end at one moment have no order. That a connect failed is told when the process is gone, and not at
    /// once.
    fn sorted(ends: impl IntoIterator<Item = String>) -> Vec<String> {
        let timeless = |end: String| match end.trim_start().split_once(' ') {
            Some((_, connect)) if end.contains("`connect` failed") => connect.to_owned(),
            _ => end,
        };
        let mut ends: Vec<String> = ends.into_iter().map(timeless).collect();
        ends.sort();
        ends
    }
}
