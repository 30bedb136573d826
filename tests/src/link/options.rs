//! What is said about a link when it is made.

use std::time::Duration;

use sans_mcp::StartFailure;

use crate::random::Chunking;

/// How a link behaves, beside what its server does.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// Decides every cut and every pause.
    pub seed: u64,
    /// How output of the server is cut.
    pub reads: Chunking,
    /// How input of the server is cut.
    pub writes: Chunking,
    /// Whether the server's input is found full now and then.
    pub blocks: bool,
    /// Whether the server's output is found empty now and then although there is some.
    pub gaps: bool,
    /// What the server does happens at whole multiples of this, and later than its cause; zero: at once. Then
    /// nothing new happens within one moment, so it does not matter how often a driver looks.
    pub tick: Duration,
    /// Why the process cannot be started.
    pub spawn_failure: Option<StartFailure>,
    /// Whether signals are forbidden.
    pub signals_forbidden: bool,
    /// Whether somebody else takes the status of the process.
    pub foreign_reaper: bool,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            seed: 1,
            reads: Chunking::Whole,
            writes: Chunking::Whole,
            blocks: false,
            gaps: false,
            tick: Duration::ZERO,
            spawn_failure: None,
            signals_forbidden: false,
            foreign_reaper: false,
        }
    }
}

impl LinkOptions {
    /// Cuts everything into random pieces, and finds the server's input full now and then.
    pub fn rough(seed: u64) -> LinkOptions {
        LinkOptions {
            seed,
            reads: Chunking::Pieces,
            writes: Chunking::Pieces,
            blocks: true,
            ..LinkOptions::default()
        }
    }

    /// Moves one byte at a time.
    pub fn bytewise() -> LinkOptions {
        LinkOptions { reads: Chunking::Bytes, writes: Chunking::Bytes, ..LinkOptions::default() }
    }
}
