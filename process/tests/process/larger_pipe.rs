//! Larger pipes: how many, for how long, and by whose leave.

use std::fs::File;

use rustix::pipe::fcntl_getpipe_size;
use sans_mcp::Server;
use sans_mcp_process::{Child, LargerPipe, Pipes, spawn};

use crate::support::unprivileged;

const USUAL: usize = 64 << 10;

fn cats(count: usize) -> Vec<(Child, Pipes)> {
    (0..count).map(|_| spawn(&Server::new("cat", "cat")).expect("cat is installed")).collect()
}

fn size(pipes: &Pipes) -> usize {
    fcntl_getpipe_size(&pipes.stdout).expect("a pipe")
}

/// The system counts the pipes of a user, so this one has to do without the privileges by which nobody counts.
#[test]
fn eight_servers_get_a_larger_pipe_and_those_that_end_make_room_for_others() {
    unprivileged(
        "larger_pipe::eight_servers_get_a_larger_pipe_and_those_that_end_make_room_for_others",
        || {
            let servers = cats(LargerPipe::MOST + 2);
            let sizes = || servers.iter().map(|(_, pipes)| size(pipes)).collect::<Vec<_>>();
            let mut expected = [USUAL; LargerPipe::MOST + 2];
            assert_eq!(sizes(), expected);
            let mut larger: Vec<_> = servers.iter().map(|_| LargerPipe::default()).collect();
            let take = |larger: &mut [LargerPipe]| {
                larger.iter_mut().zip(&servers).for_each(|(larger, (_, pipes))| larger.take(&pipes.stdout));
            };
            take(&mut larger);
            expected[..LargerPipe::MOST].fill(LargerPipe::BYTES);
            assert_eq!(sizes(), expected);
            larger[0] = LargerPipe::never();
            // Who was refused does not ask again.
            take(&mut larger);
            assert_eq!(sizes(), expected);
            larger[LargerPipe::MOST] = LargerPipe::default();
            larger[LargerPipe::MOST + 1] = LargerPipe::default();
            take(&mut larger);
            expected[LargerPipe::MOST] = LargerPipe::BYTES;
            assert_eq!(sizes(), expected);
        },
    );
}

#[test]
fn a_pipe_that_cannot_grow_takes_no_place() {
    unprivileged("larger_pipe::a_pipe_that_cannot_grow_takes_no_place", || {
        let no_pipe = File::open("/dev/null").expect("it is always there");
        let mut refused: Vec<_> = (0..LargerPipe::MOST).map(|_| LargerPipe::default()).collect();
        refused.iter_mut().for_each(|larger| larger.take(&no_pipe));
        let server = cats(1);
        let mut larger = LargerPipe::default();
        larger.take(&server[0].1.stdout);
        assert_eq!(size(&server[0].1), LargerPipe::BYTES);
    });
}

#[test]
fn a_pipe_that_is_to_stay_as_it_is_does() {
    let server = cats(1);
    LargerPipe::never().take(&server[0].1.stdout);
    assert_eq!(size(&server[0].1), USUAL);
}
