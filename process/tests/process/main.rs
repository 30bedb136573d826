//! The life of real processes. Each test states the rule that it protects, and leaves no process behind.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod drop;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod escaped;
#[cfg(test)]
mod exit;
#[cfg(test)]
mod interrupt;
#[cfg(test)]
mod larger_pipe;
#[cfg(test)]
mod pipes;
#[cfg(test)]
mod signal;
#[cfg(test)]
mod sigpipe;
#[cfg(test)]
mod start;
#[cfg(test)]
mod support;
