//! What is written to the server, line by line.

use std::collections::BTreeMap;

use sans_mcp::Delivery;

/// A line that is to be written: what it is, and the id if it is a request.
#[derive(Clone, Debug)]
struct Line {
    label: String,
    request: Option<u64>,
    /// What it takes from a budget while it waits.
    size: usize,
}

/// Lines that wait, in three queues: notices first, then replies, then the rest. What is taken out of them in one go is written
/// in one go, and nothing comes between; then there is the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Writing {
    notices: Vec<Line>,
    replies: Vec<Line>,
    rest: Vec<Line>,
    going: Vec<Line>,
    begun: bool,
    /// Nothing can be written now.
    full: bool,
    state: State,
    delivered: BTreeMap<u64, Delivery>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    NoProcess,
    Open,
    Closed,
}

impl Writing {
    pub(super) fn open(&mut self) {
        self.state = State::Open;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub(super) fn fill(&mut self, full: bool) {
        self.full = full;
    }

    /// Whether nothing that waits can be written now.
    pub(super) fn is_stuck(&self) -> bool {
        self.full || self.state != State::Open
    }

    pub(super) fn is_idle(&self) -> bool {
        self.notices.is_empty() && self.replies.is_empty() && self.rest.is_empty() && self.going.is_empty()
    }

    pub(super) fn queued(&self) -> usize {
        self.rest.iter().map(|line| line.size).sum()
    }

    pub(super) fn reply_bytes(&self) -> usize {
        self.replies.iter().map(|line| line.size).sum()
    }

    /// Whether replies that take more than this are to be written before anything else is done, since they can be.
    pub(super) fn puts_replies_first(&self, most: usize) -> bool {
        self.reply_bytes() > most && !self.is_stuck()
    }

    pub(super) fn delivery(&self, id: u64) -> Delivery {
        self.delivered.get(&id).copied().unwrap_or(Delivery::NotSent)
    }

    pub(super) fn request(&mut self, id: u64, method: &str, size: usize) {
        if !self.is_closed() {
            self.rest.push(Line { label: format!("{method} {id}"), request: Some(id), size });
        }
    }

    pub(super) fn notification(&mut self, method: &str, size: usize) {
        if !self.is_closed() {
            self.rest.push(Line { label: method.to_owned(), request: None, size });
        }
    }

    pub(super) fn reply(&mut self, id: &str, outcome: &str, size: usize) {
        if !self.is_closed() {
            self.replies.push(Line { label: format!("{outcome} for {id}"), request: None, size });
        }
    }

    pub(super) fn cancel(&mut self, id: u64) {
        if self.state == State::Open {
            let label = format!("notifications/cancelled {id}");
            self.notices.push(Line { label, request: None, size: 0 });
        }
    }

    /// A request that is not begun is not written any more.
    pub(super) fn forget(&mut self, id: u64) {
        if self.delivery(id) == Delivery::NotSent {
            self.rest.retain(|line| line.request != Some(id));
            self.going.retain(|line| line.request != Some(id));
        }
    }

    /// Requests that wait are not written any more, since all were settled.
    pub(super) fn forget_requests(&mut self) {
        self.rest.retain(|line| line.request.is_none());
    }

    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.notices.clear();
        self.replies.clear();
        self.rest.clear();
        self.going.clear();
    }

    /// These lines are offered; the first may be the rest of one that was begun. Gives what should be offered instead, if it
    /// is not these. Only replies should be where they go before the rest.
    pub(super) fn offered(&mut self, labels: &[String], only_replies: bool) -> Option<Vec<String>> {
        if self.going.is_empty() && only_replies {
            self.going.append(&mut self.replies);
        } else if self.going.is_empty() {
            self.going.append(&mut self.notices);
            self.going.append(&mut self.replies);
            self.going.append(&mut self.rest);
        }
        let wanted: Vec<String> = self.going.iter().map(|line| line.label.clone()).collect();
        let begun = usize::from(self.begun);
        let same = wanted.len() == labels.len() && wanted.iter().skip(begun).eq(labels.iter().skip(begun));
        if same && self.state == State::Open && !self.full { None } else { Some(wanted) }
    }

    /// So many whole lines of what was offered left, and whether a part of the next one.
    pub(super) fn written(&mut self, whole: usize, part: bool) {
        for line in self.going.drain(..whole.min(self.going.len())) {
            if let Some(id) = line.request {
                self.delivered.insert(id, Delivery::Sent);
            }
        }
        if part && let Some(id) = self.going.first().and_then(|line| line.request) {
            self.delivered.insert(id, Delivery::Partial);
        }
        self.begun = part || (self.begun && whole == 0);
    }
}
