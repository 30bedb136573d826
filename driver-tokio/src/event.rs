//! What happens without having been asked for (row L32).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use sans_mcp::{Diagnostic, End, State};

/// Something that happened in a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The session entered this state.
    State(State),
    /// The server told the host something.
    Notification(Notification),
    /// Something odd that settled no call.
    Diagnostic(Arc<Diagnostic>),
    /// Standard error output, secrets removed; only with [`StderrMode::Events`](crate::StderrMode::Events). A
    /// piece may end within a character.
    Stderr(Arc<[u8]>),
    /// So many events were dropped here, because this queue was full.
    Dropped(u64),
    /// The session is over. It is the last event.
    Closed(Arc<End>),
}

/// A notification of the server whose capability it offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    method: &'static str,
    params: Option<Arc<str>>,
}

impl Notification {
    pub(crate) fn new(method: &'static str, params: Option<&str>) -> Notification {
        Notification { method, params: params.map(Into::into) }
    }

    /// The method.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Its parameters as raw JSON.
    pub fn params(&self) -> Option<&str> {
        self.params.as_deref()
    }
}

/// The events of one session, from the moment of the subscription on.
///
/// A queue that nobody reads is no fault: once it is full what comes is dropped, and [`Event::Dropped`]
/// stands where that was. Dropping it ends the subscription. It does not keep the client alive.
#[derive(Debug)]
pub struct Events(Arc<Queue>);

impl Events {
    /// 8 MiB: their size; one event more may be waiting, whatever its size.
    pub const BYTES: usize = 8 << 20;

    /// The next event; `None` after [`Event::Closed`].
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The form of [`next`](Events::next) for those who write their own futures.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut queue = self.0.lock();
        match queue.events.pop_front() {
            Some(event) => {
                queue.bytes -= size(&event);
                Poll::Ready(Some(event))
            }
            None if queue.finished => Poll::Ready(None),
            None => {
                queue.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.finished = true;
        let (events, waker) = (std::mem::take(&mut queue.events), queue.waker.take());
        drop(queue);
        drop((events, waker));
    }
}

/// Everybody who reads events.
#[derive(Debug)]
pub(crate) struct Subscribers {
    queues: Vec<Arc<Queue>>,
    /// [`Limits::events`](sans_mcp::Limits).
    limit: usize,
}

impl Subscribers {
    /// Each may keep `limit` events that wait to be read.
    pub(crate) fn new(limit: usize) -> Subscribers {
        Subscribers { queues: Vec::new(), limit }
    }

    pub(crate) fn add(&mut self) -> Events {
        let queue = Arc::new(Queue::default());
        queue.lock().limit = self.limit;
        self.queues.push(queue.clone());
        Events(queue)
    }

    /// Adds an event to every queue; it is not even made if there is none.
    pub(crate) fn publish(&mut self, woken: &mut Vec<Waker>, event: impl FnOnce() -> Event) {
        if self.queues.is_empty() {
            return;
        }
        let event = event();
        self.queues.retain(|queue| {
            let mut queue = queue.lock();
            queue.push(event.clone());
            woken.extend(queue.waker.take());
            !queue.finished
        });
    }

    /// The last event.
    pub(crate) fn finish(&mut self, woken: &mut Vec<Waker>, end: &Arc<End>) {
        for queue in std::mem::take(&mut self.queues) {
            let mut queue = queue.lock();
            if !queue.finished {
                queue.events.push_back(Event::Closed(end.clone()));
                queue.finished = true;
            }
            woken.extend(queue.waker.take());
        }
    }
}

#[derive(Debug, Default)]
struct Queue(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    events: VecDeque<Event>,
    limit: usize,
    bytes: usize,
    waker: Option<Waker>,
    /// Nothing more comes, or nobody reads.
    finished: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn push(&mut self, event: Event) {
        if self.finished {
            return;
        }
        if self.events.len() < self.limit && self.bytes < Events::BYTES {
            self.bytes += size(&event);
            self.events.push_back(event);
        } else if let Some(Event::Dropped(count)) = self.events.back_mut() {
            *count += 1;
        } else {
            self.events.push_back(Event::Dropped(1));
        }
    }
}

/// What an event holds beside itself, in bytes.
fn size(event: &Event) -> usize {
    match event {
        Event::Notification(notification) => notification.params().map_or(0, str::len),
        Event::Stderr(bytes) => bytes.len(),
        Event::State(_) | Event::Diagnostic(_) | Event::Dropped(_) | Event::Closed(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 100;

    fn poll(events: &mut Events) -> Poll<Option<Event>> {
        events.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    fn notification(bytes: usize) -> Event {
        Event::Notification(Notification::new("n", Some(&"x".repeat(bytes))))
    }

    #[test]
    fn l32_a_full_queue_drops_and_says_where_and_how_many() {
        let mut subscribers = Subscribers::new(LIMIT);
        let mut events = subscribers.add();
        for _ in 0..LIMIT + 7 {
            subscribers.publish(&mut Vec::new(), || Event::State(State::Ready));
        }
        for _ in 0..LIMIT {
            assert!(matches!(poll(&mut events), Poll::Ready(Some(Event::State(State::Ready)))));
        }
        assert!(matches!(poll(&mut events), Poll::Ready(Some(Event::Dropped(7)))));
        assert!(poll(&mut events).is_pending());
    }

    #[test]
    fn l32_a_queue_is_bounded_in_bytes_and_takes_events_again_once_read() {
        let mut subscribers = Subscribers::new(LIMIT);
        let mut events = subscribers.add();
        for _ in 0..3 {
            subscribers.publish(&mut Vec::new(), || notification(Events::BYTES));
        }
        assert!(matches!(poll(&mut events), Poll::Ready(Some(Event::Notification(_)))));
        subscribers.publish(&mut Vec::new(), || notification(1));
        assert!(matches!(poll(&mut events), Poll::Ready(Some(Event::Dropped(2)))));
        assert!(matches!(poll(&mut events), Poll::Ready(Some(Event::Notification(_)))));
    }

    #[test]
    fn l32_without_a_reader_no_event_is_made() {
        let mut subscribers = Subscribers::new(LIMIT);
        drop(subscribers.add());
        subscribers.publish(&mut Vec::new(), || Event::State(State::Ready));
        subscribers.publish(&mut Vec::new(), || panic!("it was made for nobody"));
    }
}
