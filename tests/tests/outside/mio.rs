//! Proofs from outside the process, for the driver that a host has in its own `mio::Poll`.
#![cfg(test)]

mod drill;
mod harness;
mod holdings;
mod host;
mod idle;
mod interleavings;
mod leaving;
mod life;
mod memory;
mod mio_host;

use std::process::ExitCode;

use harness::proof;
use mio_host::Mio;

fn main() -> ExitCode {
    let mut proofs = harness::shared::<Mio>("");
    proofs.push(proof("l19_three_servers_are_served_by_one_thread", life::three_servers::<Mio, 1>));
    proofs.extend(memory::proofs::<Mio>());
    harness::main(&proofs)
}
