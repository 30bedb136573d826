//! The driver against real servers in a real poll.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod calls;
#[cfg(test)]
mod life;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod support;
