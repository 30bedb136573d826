//! Events that were not fetched yet, in bounded memory.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Operation, Script, event};
use crate::session::Session;

/// Events that were not fetched yet.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    queue: VecDeque<Event>,
    bytes: usize,
    /// Events of the queue that are not text yet.
    unwritten: usize,
    dropped: u64,
}

#[derive(Debug)]
pub(super) enum Event {
    Text(String),
    /// Written once the session can be asked.
    Ready(Duration),
    Listed(Option<Box<str>>, Duration),
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether so much waits that nothing more should be made.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= Script::BACKLOG
    }

    /// Adds an event that must not be lost.
    pub(super) fn push(&mut self, text: String) {
        if self.dropped > 0 && !self.is_full() {
            let dropped = event::dropped(std::mem::take(&mut self.dropped));
            self.bytes += dropped.len();
            self.queue.push_back(Event::Text(dropped));
        }
        self.bytes += text.len();
        self.queue.push_back(Event::Text(text));
    }

    /// Adds an event unless too many wait.
    pub(super) fn offer(&mut self, text: impl FnOnce() -> String) {
        if !self.is_full() {
            self.push(text());
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn push_unwritten(&mut self, event: Event) {
        self.unwritten += 1;
        self.queue.push_back(event);
    }

    /// Writes those events for which the session is asked, at the place in the order where they happened.
    pub(super) fn write(&mut self, session: &Session<Operation>) {
        if self.unwritten == 0 {
            return;
        }
        self.unwritten = 0;
        for event in &mut self.queue {
            let text = match event {
                Event::Text(_) => continue,
                Event::Ready(elapsed) => event::ready(session, *elapsed),
                Event::Listed(id, elapsed) => {
                    event::answered(id.as_deref(), &session.catalog().to_json(), *elapsed)
                }
            };
            self.bytes += text.len();
            *event = Event::Text(text);
        }
    }

    pub(super) fn poll(&mut self) -> Option<String> {
        match self.queue.pop_front()? {
            Event::Text(text) => {
                self.bytes = self.bytes.saturating_sub(text.len());
                Some(text)
            }
            unwritten => {
                self.queue.push_front(unwritten);
                None
            }
        }
    }
}

#[cfg(test)]
impl Backlog {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
