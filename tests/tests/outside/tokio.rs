//! Proofs from outside the process, for the driver for tokio, on both kinds of runtime.
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
mod tokio_host;

use std::process::ExitCode;

use harness::proof;
use sans_mcp::StderrMode;
use tokio_host::{CurrentThread, MultiThread};

fn main() -> ExitCode {
    let mut proofs = harness::shared::<CurrentThread>("current_thread::");
    proofs.extend(harness::shared::<MultiThread>("multi_thread::"));
    proofs.extend([
        proof(
            "current_thread::l19_three_servers_are_served_by_one_thread",
            life::three_servers::<CurrentThread, 1>,
        ),
        proof("multi_thread::l19_three_servers_start_no_thread", life::three_servers::<MultiThread, 3>),
        proof("l22_a_flood_of_standard_error_for_who_does_not_read_it", || {
            let server = host::mode("stderr-flood").stderr(StderrMode::Events);
            memory::flood_of_standard_error(server, CurrentThread::subscribe);
        }),
        proof("l27_a_million_notifications_for_who_does_not_read_them", || {
            memory::unread_notifications(CurrentThread::subscribe);
        }),
    ]);
    // What the kind of runtime makes no difference to.
    proofs.extend(memory::proofs::<MultiThread>());
    harness::main(&proofs)
}
