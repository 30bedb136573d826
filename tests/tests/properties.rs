//! Random histories of commands, inputs and outputs, checked at every step and shrunk when one fails.
//!
//! `SANS_MCP_CASES` sets how many histories each test plays (a modest number if it is not set), and `SANS_MCP_SEED` plays
//! the one of that seed alone. A failure prints the command that plays it again.

#[cfg(test)]
mod properties {
    mod strategies;

    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::env;

    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
    use sans_mcp_tests::history::{Setup, Step, play, play_against_model};

    use strategies::{honest, lying};

    /// Histories that each test plays by default.
    const CASES: u64 = 2_000;

    thread_local! {
        static REACHED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// What random histories must come to now and then, as it stands in a trace.
    const WANTED: [&str; 38] = [
        ": connected",
        ": listed",
        ": answer {",
        "MCP_TIMEOUT sent",
        "MCP_TIMEOUT not sent",
        "MCP_TIMEOUT partly sent",
        "MCP_ABORTED sent",
        "MCP_ABORTED not sent",
        "MCP_ABORTED partly sent",
        "MCP_ERROR",
        "MCP_INVALID_RESPONSE",
        "MCP_TOO_LARGE",
        "MCP_STDIN_CLOSED",
        "MCP_PROCESS_EXIT",
        "MCP_PROTOCOL",
        "MCP_UNKNOWN_TOOL",
        "MCP_LIST_FAILED",
        "MCP_CONNECT_TIMEOUT",
        "MCP_HANDSHAKE_FAILED",
        "MCP_NOT_PERMITTED",
        "CLIENT_CLOSED",
        "too many calls wait",
        "too many bytes wait to be written",
        "a second answer",
        "a late answer",
        "was never sent",
        "is not the id that was sent",
        "is no message",
        "look like multi-line JSON",
        "over the limit of 2048 bytes was thrown away",
        "without a valid id",
        "a batch, which",
        "repeats an earlier cursor",
        "notifications over the allowed rate",
        "progress ",
        "RequestCancelled",
        "Signal(Kill)",
        "State(Draining)",
    ];

    fn number(name: &str) -> Option<u64> {
        env::var(name).ok().and_then(|text| text.parse().ok())
    }

    /// The numbers of one seed. Every choice of a strategy begins a generator of its own, so beginning one has to be cheap.
    fn random(seed: u64) -> TestRng {
        let mut bytes = [0; 16];
        let halves = [seed, !seed].map(|half| half.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        bytes[..8].copy_from_slice(&halves[0]);
        bytes[8..].copy_from_slice(&halves[1]);
        TestRng::from_seed(RngAlgorithm::XorShift, &bytes)
    }

    /// Plays the histories of one strategy, by seed.
    fn check(
        test: &str,
        strategy: &impl Strategy<Value = (Setup, Vec<Step>)>,
        holds: impl Fn(Setup, &[Step]) -> Result<(), String>,
    ) {
        let seeds = match number("SANS_MCP_SEED") {
            Some(seed) => seed..=seed,
            None => 1..=number("SANS_MCP_CASES").unwrap_or(CASES),
        };
        for seed in seeds {
            let config = Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
            let mut runner = TestRunner::new_with_rng(config, random(seed));
            let tree = strategy.new_tree(&mut runner).unwrap();
            let failed =
                runner.run_one(tree, |(setup, steps)| holds(setup, &steps).map_err(TestCaseError::fail));
            if let Err(TestError::Fail(reason, (setup, steps))) = failed {
                panic!(
                    "{reason}\n{setup:?}\n{steps:?}\nplay it again: SANS_MCP_SEED={seed} cargo test -p sans-mcp-tests --test properties {test}"
                );
            }
        }
    }

    #[test]
    fn every_invariant_holds_in_every_history() {
        check("every_invariant_holds_in_every_history", &honest(), |setup, steps| {
            play(setup, steps).map(|_| ()).map_err(|violation| violation.to_string())
        });
    }

    #[test]
    fn equal_histories_give_equal_outputs() {
        check("equal_histories_give_equal_outputs", &honest(), |setup, steps| {
            if play(setup, steps) == play(setup, steps) { Ok(()) } else { Err("two runs differ".to_owned()) }
        });
    }

    #[test]
    fn every_history_goes_as_the_model_says() {
        check("every_history_goes_as_the_model_says", &honest(), |setup, steps| {
            play_against_model(setup, steps).map(|_| ()).map_err(|violation| violation.to_string())
        });
    }

    #[test]
    fn no_lie_of_a_driver_loses_a_token_or_a_wait() {
        check("no_lie_of_a_driver_loses_a_token_or_a_wait", &lying(), |setup, steps| {
            play(setup, steps).map(|_| ()).map_err(|violation| violation.to_string())
        });
    }

    /// Histories that reach nothing prove nothing.
    #[test]
    fn histories_reach_every_kind_of_end_and_of_oddity() {
        check("histories_reach_every_kind_of_end_and_of_oddity", &honest(), |setup, steps| {
            let trace = play(setup, steps).map_err(|violation| violation.to_string())?;
            assert!(trace.last().is_some_and(|line| line.contains("closed")));
            REACHED.with_borrow_mut(|reached| {
                for line in &trace {
                    reached.extend(WANTED.iter().filter(|wanted| line.contains(**wanted)));
                }
            });
            Ok(())
        });
        let missing: Vec<&&str> = REACHED
            .with_borrow(|reached| WANTED.iter().filter(|wanted| !reached.contains(**wanted)).collect());
        assert!(missing.is_empty(), "never reached: {missing:?}");
    }

    #[test]
    fn a_seed_gives_the_same_history_again() {
        let draw = || {
            let mut runner = TestRunner::new_with_rng(Config::default(), random(7));
            honest().new_tree(&mut runner).unwrap().current()
        };
        assert_eq!(draw(), draw());
    }
}
