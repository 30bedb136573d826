//! What every driver must do, seen from outside: the same tests for each, over a `host` module of its own.

pub(crate) mod outcome;
pub(crate) mod support;

mod alone;
mod answers;
mod cancel;
mod cases;
mod close;
mod exits;
mod hostile;
mod peer;
mod pipes;
mod processes;
mod start;
mod stderr;
mod stdin;
mod telling;
mod wire;
