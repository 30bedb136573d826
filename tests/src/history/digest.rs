//! A canonical form of a whole history's state: session, driver, server and checker.

use std::fmt::Write;

use super::World;

impl World {
    /// Whatever has the same one goes on in the same way, times counted from now.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let World {
            setup: _,
            session,
            invariants,
            server,
            now,
            tokens,
            handles,
            requests,
            output,
            output_ends,
            output_ended,
            takes,
            full,
            input_open,
            exit,
            exit_told,
            running,
            until,
            trace: _,
            traces: _,
            twin: _,
        } = self;
        let until = until.map(|until| until.since(*now));
        let mut text = String::new();
        let _ = write!(
            text,
            "{tokens} {handles:?} {requests:?} {output:?} {output_ends} {output_ended} {takes} {full} {input_open} {exit:?} {exit_told} {running} {until:?} "
        );
        server.digest(&mut text);
        invariants.digest(&mut text);
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&session.digest());
        bytes
    }
}
