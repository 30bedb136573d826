//! What the tests that span the crates share: a server in memory, virtual time, the invariants of a session, and a
//! player for the fault cases.
//!
//! | module | job |
//! |---|---|
//! | [`peer`] | a server as a script, and the acts it is made of |
//! | [`link`] | the pipes between a session and such a server |
//! | [`runner`] | pumps a session against it, and jumps to the next moment at which something happens |
//! | [`invariants`] | what holds for every session at every moment; used by all suites |
//! | [`history`] | histories of commands, inputs and outputs, for random and for exhaustive search |
//! | [`exploration`] | walks through everything that can happen in a small world |
//! | `model` | a plain specification of a session |
//! | [`scripted`] | a server that behaves well, except where a test says otherwise |
//! | [`case`] | plays the cases of `fixtures/cases` |
//! | [`expect`] | what each case must come to |
//! | [`transcript`] | plays recorded conversations |
//! | [`loopback`] | a session that is answered at once, for counting what calls cost |
//! | [`trace`] | outputs as comparable text |
//! | [`random`] | numbers and cuts that a seed decides |

pub mod case;
pub mod expect;
pub mod exploration;
pub mod history;
pub mod invariants;
pub mod link;
pub mod loopback;
mod model;
pub mod peer;
pub mod random;
pub mod runner;
pub mod scripted;
pub mod trace;
pub mod transcript;

/// What the tests hand in with an operation, to know its completion by.
pub type Token = u64;
