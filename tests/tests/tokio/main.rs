//! The tokio driver against real processes.
#![cfg(target_os = "linux")]

#[cfg(test)]
#[path = "../drivers/mod.rs"]
mod drivers;
#[cfg(test)]
mod host;
#[cfg(test)]
mod tasks;
