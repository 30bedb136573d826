//! Messages to one child: what waits to be written, in which order, and how far writing has come.
//!
//! The queue holds ids, and a frame is encoded only when the child's input can take it, so that a call which is settled
//! before its first byte leaves no trace on the wire. What is being written is offered, never popped: only progress
//! consumes it.

mod commit;
mod replies;

use std::collections::VecDeque;

use crate::error::Delivery;
use crate::wire::encode::{self, OneLine};
use commit::Commit;
pub(crate) use replies::{QueuedReply, Replies};

/// Frames are gathered up to this size, one pipe's worth, so that small ones share a write.
const BURST: usize = 64 << 10;

/// Why a call is abandoned: told to the server in its cancel notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abandoned {
    TimedOut,
    Cancelled,
}

impl Abandoned {
    const fn as_str(self) -> &'static str {
        match self {
            Abandoned::TimedOut => "the deadline passed",
            Abandoned::Cancelled => "cancelled by the caller",
        }
    }
}

/// What waits in the queue.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
enum Item {
    Request(u64),
    Notification(Box<[u8]>),
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Link {
    queue: VecDeque<Item>,
    queued_bytes: usize,
    dead: usize,
    cancels: VecDeque<(u64, Abandoned)>,
    pub(crate) replies: Replies,
    commit: Commit,
    blocked: bool,
    input: Input,
}

/// The child's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// There is no process yet.
    Absent,
    Open,
    /// Nothing more is written: we closed it, or the child did.
    Closed,
}

impl Link {
    pub(crate) fn new(reply_limit: usize) -> Link {
        Link {
            queue: VecDeque::new(),
            queued_bytes: 0,
            dead: 0,
            cancels: VecDeque::new(),
            replies: Replies::new(reply_limit),
            commit: Commit::default(),
            blocked: false,
            input: Input::Absent,
        }
    }

    pub(crate) fn open(&mut self) {
        self.input = Input::Open;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.input == Input::Closed
    }

    /// Bytes of parameters and notifications that are not encoded yet.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Whether anything is left to write.
    pub(crate) fn is_idle(&self) -> bool {
        self.commit.rest().is_empty()
            && self.cancels.is_empty()
            && self.replies.is_empty()
            && self.queue.len() == self.dead
    }

    /// Sends request `id`, whose parameters take `bytes`, when its turn comes. On a closed input it never comes.
    pub(crate) fn send(&mut self, id: u64, bytes: usize) {
        if self.is_closed() {
            return;
        }
        self.queue.push_back(Item::Request(id));
        self.queued_bytes += bytes;
    }

    /// Sends a notification; to a server that reads no more, nothing.
    pub(crate) fn notify(&mut self, frame: Box<[u8]>) {
        if self.is_closed() {
            return;
        }
        self.queued_bytes += frame.len();
        self.queue.push_back(Item::Notification(frame));
    }

    /// How far request `id` has come.
    pub(crate) fn delivery(&self, id: u64) -> Delivery {
        self.commit.delivery(id)
    }

    /// Gives request `id` up, whose parameters, if they are still waiting, take `bytes`. Returns how far it had come. If any of it
    /// left, a cancel notice follows it where `why` says what to give as the reason.
    pub(crate) fn abandon(&mut self, id: u64, waiting: Option<usize>, why: Option<Abandoned>) -> Delivery {
        if let Some(bytes) = waiting {
            // A closed input has emptied the queue, and takes nothing into it.
            if self.input != Input::Closed {
                self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
                self.dead += 1;
            }
            return Delivery::NotSent;
        }
        let delivery = self.commit.delivery(id);
        match (delivery, why) {
            (Delivery::NotSent, _) => self.commit.remove(id),
            (_, Some(why)) if self.input == Input::Open => self.cancels.push_back((id, why)),
            _ => {}
        }
        delivery
    }

    /// Forgets ids in the queue that stand for nothing any more, once they outnumber the others.
    pub(crate) fn compact(&mut self, is_live: impl Fn(u64) -> bool) {
        if self.dead * 2 > self.queue.len() + 64 {
            self.queue.retain(|item| match item {
                Item::Request(id) => is_live(*id),
                Item::Notification(_) => true,
            });
            self.dead = 0;
        }
    }

    /// Encodes what comes next, if the commit buffer is empty and the child's input can take it. `push_request` appends the
    /// request of an id, once, and says how many bytes of parameters it has; or nothing if it was settled.
    pub(crate) fn fill(&mut self, mut push_request: impl FnMut(u64, &mut Vec<u8>) -> Option<usize>) {
        if self.blocked || self.input != Input::Open || !self.commit.rest().is_empty() {
            return;
        }
        self.commit.restart();
        while self.commit.len() < BURST {
            let Some((id, why)) = self.cancels.pop_front() else { break };
            push_cancel(self.commit.between_requests(), id, why);
        }
        // Replies get half a burst while requests wait: a server that floods requests must not starve the host's calls.
        let share = if self.queue.is_empty() { BURST } else { BURST / 2 };
        self.fill_replies(share);
        while self.commit.len() < BURST {
            match self.queue.pop_front() {
                Some(Item::Request(id)) => match self.commit.request(id, |out| push_request(id, out)) {
                    Some(bytes) => self.queued_bytes = self.queued_bytes.saturating_sub(bytes),
                    None => self.dead = self.dead.saturating_sub(1),
                },
                Some(Item::Notification(frame)) => {
                    self.queued_bytes = self.queued_bytes.saturating_sub(frame.len());
                    self.commit.between_requests().extend_from_slice(&frame);
                }
                None => break,
            }
        }
        self.fill_replies(BURST);
    }

    /// Whether replies go out before more of them are made: half of their reserve is used, and the child's input can take
    /// them.
    pub(crate) fn wants_replies_first(&self) -> bool {
        self.replies.is_half_full() && !self.blocked && self.input == Input::Open
    }

    /// Encodes replies, unless something is encoded already. Nothing else, since what waits may be due by now.
    pub(crate) fn fill_only_replies(&mut self) {
        if self.commit.rest().is_empty() {
            self.commit.restart();
            self.fill_replies(BURST);
        }
    }

    /// Requests that are encoded and of which no byte left, oldest first.
    pub(crate) fn not_begun(&self) -> impl Iterator<Item = u64> {
        self.commit.not_begun()
    }

    fn fill_replies(&mut self, share: usize) {
        while self.commit.len() < share {
            let Some(reply) = self.replies.pop() else { break };
            reply.push(self.commit.between_requests());
        }
    }

    /// Whether there is something that can be written now, once `fill` was called.
    pub(crate) fn has_offer(&self) -> bool {
        !self.blocked && self.input == Input::Open && !self.commit.rest().is_empty()
    }

    pub(crate) fn offer(&self) -> &[u8] {
        self.commit.rest()
    }

    /// `count` bytes of the offer were written; none means that the child's input is full.
    pub(crate) fn written(&mut self, count: usize) {
        if count == 0 {
            self.blocked = true;
        } else {
            self.commit.advance(count);
        }
    }

    pub(crate) fn writable(&mut self) {
        self.blocked = false;
    }

    /// Nothing more can be written. Requests of which a byte left keep their delivery.
    pub(crate) fn close(&mut self) {
        self.input = Input::Closed;
        self.queue = VecDeque::new();
        self.queued_bytes = 0;
        self.dead = 0;
        self.cancels = VecDeque::new();
        self.replies.clear();
        self.commit.drop_rest();
    }
}

fn push_cancel(out: &mut Vec<u8>, id: u64, why: Abandoned) {
    let params = OneLine::new(format!(r#"{{"requestId":{id},"reason":"{}"}}"#, why.as_str()));
    encode::push_notification(out, "notifications/cancelled", Some(&params));
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Link { queue, queued_bytes, dead, cancels, replies, commit, blocked, input } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_debug!(Item: Item::Request(1), Item::Request(2));

#[cfg(feature = "explore")]
crate::digest::digest_debug!(Abandoned: Abandoned::TimedOut, Abandoned::Cancelled);

#[cfg(feature = "explore")]
crate::digest::digest_debug!(Input: Input::Open, Input::Closed);

#[cfg(test)]
mod tests;
