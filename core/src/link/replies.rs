//! Replies to the server's own requests: they have a reserve, so that a full queue of calls cannot hold them back.

use std::collections::VecDeque;

use crate::wire::encode;

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) enum QueuedReply {
    /// The answer to a ping is kept as its id, since those come by the hundred thousand.
    Pong(Box<str>),
    Frame(Box<[u8]>),
}

/// What a pong takes beside its id.
const PONG: usize = r#"{"jsonrpc":"2.0","id":,"result":{}}"#.len() + 1;

impl QueuedReply {
    fn bytes(&self) -> usize {
        match self {
            QueuedReply::Pong(id) => id.len() + PONG,
            QueuedReply::Frame(frame) => frame.len(),
        }
    }

    pub(super) fn push(&self, out: &mut Vec<u8>) {
        match self {
            QueuedReply::Pong(id) => encode::push_result(out, id, "{}"),
            QueuedReply::Frame(frame) => out.extend_from_slice(frame),
        }
    }
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Replies {
    queue: VecDeque<QueuedReply>,
    bytes: usize,
    limit: usize,
}

impl Replies {
    pub(super) fn new(limit: usize) -> Replies {
        Replies { queue: VecDeque::new(), bytes: 0, limit }
    }

    /// Bytes that wait, as they will be written.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn is_half_full(&self) -> bool {
        self.bytes > self.limit / 2
    }

    /// Queues a reply; gives it back if the reserve has no room for it.
    pub(crate) fn push(&mut self, reply: QueuedReply) -> Result<(), QueuedReply> {
        if self.bytes + reply.bytes() > self.limit {
            return Err(reply);
        }
        self.bytes += reply.bytes();
        self.queue.push_back(reply);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<QueuedReply> {
        let reply = self.queue.pop_front()?;
        self.bytes -= reply.bytes();
        Some(reply)
    }

    pub(super) fn clear(&mut self) {
        self.queue = VecDeque::new();
        self.bytes = 0;
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Replies { queue, bytes } leaves out { limit });

#[cfg(feature = "explore")]
crate::digest::digest_debug!(QueuedReply: QueuedReply::Pong("1".into()), QueuedReply::Pong("2".into()));
