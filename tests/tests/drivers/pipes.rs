//! How much the pipe of a server's output holds.

use super::alone::{alone, path_of};
use super::outcome::Outcome;
use super::support::{assert_closes, called, connected, echo, everywhere, fixture, pipe_size};
use crate::host::Host;

const USUAL: usize = 64 << 10;
const LARGER: usize = 1 << 20;

/// An answer on a line of so many bytes and some more.
fn long_answer(host: &mut Host, bytes: usize) -> Outcome {
    called(host, echo(&"x".repeat(bytes)))
}

/// Only those whose lines are long, eight at a time, each until its session is over.
#[test]
fn a_long_line_gets_a_larger_pipe_while_there_are_fewer_than_eight() {
    alone(path_of!(a_long_line_gets_a_larger_pipe_while_there_are_fewer_than_eight), || {
        everywhere(|kind| {
            let mut hosts: Vec<Host> = (0..9).map(|_| connected(kind, fixture(&[]))).collect();
            for host in &mut hosts {
                long_answer(host, 50_000).unwrap();
                assert_eq!(pipe_size(host.process_id()), USUAL);
            }
            for host in &mut hosts {
                long_answer(host, 200_000).unwrap();
            }
            let sizes: Vec<usize> = hosts.iter().map(|host| pipe_size(host.process_id())).collect();
            assert_eq!(sizes, [LARGER, LARGER, LARGER, LARGER, LARGER, LARGER, LARGER, LARGER, USUAL]);
            assert_closes(hosts.remove(0));
            let mut next = connected(kind, fixture(&[]));
            long_answer(&mut next, 200_000).unwrap();
            assert_eq!(pipe_size(next.process_id()), LARGER);
        });
    });
}
