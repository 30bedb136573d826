//! Requests as futures, and what they have in common with calls.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sans_mcp::{Payload, Refusal, Request, Session, Time};
use tracing::{Span, field};

use crate::client::Alive;
use crate::error::CallError;
use crate::operation::{Accepted, Operation};
use crate::progress::Progress;
use crate::shared::Shared;
use crate::slot::{Given, Slot};

/// A request of any method, made by [`Client::request`](crate::Client::request): a future of its raw result.
///
/// It begins, and is cancelled by dropping, as a [`ToolCall`](crate::ToolCall) is.
#[derive(Debug)]
#[must_use = "a request does nothing until it is awaited"]
pub struct RequestCall(Asking<Request>);

request_builders!(RequestCall);

impl RequestCall {
    pub(crate) fn new(alive: Arc<Alive>, request: Result<Request, Refusal>) -> RequestCall {
        RequestCall(Asking::new(alive, request))
    }
}

impl Future for RequestCall {
    type Output = Result<Payload, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx).map_ok(|(payload, _)| payload)
    }
}

impl Ask for Request {
    fn method(&self) -> &str {
        self.method()
    }

    fn prepare(self, _shared: &Shared, _span: &Span) -> Result<Request, Refusal> {
        Ok(self)
    }

    fn accept(self, session: &mut Session<Arc<Slot>>, now: Time, slot: Arc<Slot>) -> Accepted {
        session.request(now, self, slot)
    }
}

/// What can be asked of a server.
pub(crate) trait Ask: Sized {
    fn method(&self) -> &str;

    /// What is to be done before the lock is taken.
    fn prepare(self, shared: &Shared, span: &Span) -> Result<Self, Refusal>;

    fn accept(self, session: &mut Session<Arc<Slot>>, now: Time, slot: Arc<Slot>) -> Accepted;
}

/// One call or request from its making to its end.
pub(crate) struct Asking<A> {
    alive: Arc<Alive>,
    stage: Stage<A>,
    on_progress: Option<Box<dyn FnMut(Progress) + Send>>,
}

enum Stage<A> {
    New(A),
    Refused(Refusal),
    Accepted { operation: Operation, span: Span },
    Done,
}

/// A result, and the number of the request that it answers.
pub(crate) type Answered = (Payload, u64);

impl<A: Ask> Asking<A> {
    pub(crate) fn new(alive: Arc<Alive>, ask: Result<A, Refusal>) -> Asking<A> {
        Asking { alive, stage: ask.map_or_else(Stage::Refused, Stage::New), on_progress: None }
    }

    pub(crate) fn edit(&mut self, edit: impl FnOnce(A) -> Result<A, Refusal>) {
        self.stage = match mem::replace(&mut self.stage, Stage::Done) {
            Stage::New(ask) => edit(ask).map_or_else(Stage::Refused, Stage::New),
            other => other,
        };
    }

    pub(crate) fn on_progress(&mut self, tell: impl FnMut(Progress) + Send + 'static) {
        self.on_progress = Some(Box::new(tell));
    }

    pub(crate) fn start(&mut self) {
        self.stage = match mem::replace(&mut self.stage, Stage::Done) {
            Stage::New(ask) => self.accept(ask).unwrap_or_else(Stage::Refused),
            other => other,
        };
    }

    fn accept(&self, ask: A) -> Result<Stage<A>, Refusal> {
        let shared = self.alive.shared();
        let span = tracing::debug_span!(
            "request",
            server = &*shared.name,
            instance = shared.instance,
            method = ask.method(),
            tool = field::Empty,
            id = field::Empty,
        );
        let ask = ask.prepare(shared, &span)?;
        let operation = Operation::accept(&self.alive, |session, now, slot| ask.accept(session, now, slot))?;
        span.record("id", operation.id());
        Ok(Stage::Accepted { operation, span })
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answered, CallError>> {
        if matches!(self.stage, Stage::New(_)) {
            self.start();
        }
        let (operation, span) = match &mut self.stage {
            Stage::Accepted { operation, span } => (operation, span),
            // It gave its result before: there is nothing more to come.
            Stage::Done => return Poll::Pending,
            Stage::New(_) | Stage::Refused(_) => return Poll::Ready(Err(self.refused())),
        };
        let on_progress = &mut self.on_progress;
        let settled = ready!(operation.poll(cx, |raw| {
            if let Some(tell) = on_progress {
                tell(Progress::new(raw));
            }
        }));
        let outcome = settled.outcome.and_then(|given| match given {
            Given::Answer(mut payload) => {
                // Checking the result costs time as well, and here it is the caller's.
                payload.check().map(|()| Some(payload))
            }
            // Only a connect or a listing ends without a result of its own.
            Given::Nothing => Ok(None),
        });
        let id = operation.id();
        let code = outcome.as_ref().map_or_else(|failure| failure.code().as_str(), |_| "OK");
        tracing::debug!(parent: &*span, code, elapsed_us = micros(settled.elapsed), "settled");
        self.stage = Stage::Done;
        Poll::Ready(match outcome {
            Ok(Some(payload)) => Ok((payload, id)),
            Ok(None) => Err(self.refused()),
            Err(failure) => Err(CallError::Failed(failure)),
        })
    }

    fn refused(&mut self) -> CallError {
        let refusal = match mem::replace(&mut self.stage, Stage::Done) {
            Stage::Refused(refusal) => refusal,
            Stage::New(_) | Stage::Accepted { .. } | Stage::Done => Refusal::NotOpen,
        };
        let shared = self.alive.shared();
        tracing::debug!(
            server = &*shared.name,
            instance = shared.instance,
            code = refusal.code().as_str(),
            "refused"
        );
        CallError::Refused { server: self.server(), refusal }
    }

    pub(crate) fn server(&self) -> Arc<str> {
        self.alive.shared().name.clone()
    }
}

/// A duration for a log.
pub(crate) fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

impl<A> fmt::Debug for Asking<A> {
    /// Says nothing of arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::New(_) => "new",
            Stage::Refused(_) => "refused",
            Stage::Accepted { .. } => "accepted",
            Stage::Done => "done",
        };
        f.debug_struct("Asking").field("stage", &stage).finish_non_exhaustive()
    }
}

/// Gives [`ToolCall`](crate::ToolCall) and [`RequestCall`] the same builders.
macro_rules! request_builders {
    ($of:ident) => {
        /// Set these before it is accepted; later they change nothing.
        impl $of {
            /// Sets how long the answer may take, from acceptance on and also while it waits to be sent (row
            /// L11). Without this it is [`Timeouts::call`](crate::Timeouts::call).
            pub fn timeout(mut self, timeout: std::time::Duration) -> $of {
                self.0.edit(|ask| Ok(ask.timeout(Some(timeout))));
                self
            }

            /// Lets the answer take as long as it likes.
            pub fn no_timeout(mut self) -> $of {
                self.0.edit(|ask| Ok(ask.timeout(None)));
                self
            }

            /// Lets progress of the server start the timeout anew, up to [`maximum`](Self::maximum).
            pub fn reset_on_progress(mut self) -> $of {
                self.0.edit(|ask| Ok(ask.reset_on_progress()));
                self
            }

            /// Sets the most that progress may extend the time to, from acceptance on; `None`: no end.
            /// Without this it is [`Timeouts::maximum`](crate::Timeouts::maximum).
            pub fn maximum(mut self, maximum: Option<std::time::Duration>) -> $of {
                self.0.edit(|ask| Ok(ask.maximum(maximum)));
                self
            }

            /// Asks the server to tell of its progress, and hands that to `tell`, in order and before the
            /// result, in the task that polls this future. Of what waits for a future that is not polled, the
            /// newest 1,024 are kept, and at most 1 MiB.
            pub fn on_progress(mut self, tell: impl FnMut($crate::Progress) + Send + 'static) -> $of {
                self.0.edit(|ask| Ok(ask.progress()));
                self.0.on_progress(tell);
                self
            }

            /// Sets the largest result that is taken, in bytes, below the line limit (row L21).
            pub fn result_limit(mut self, bytes: usize) -> $of {
                self.0.edit(|ask| Ok(ask.result_limit(bytes)));
                self
            }

            /// Adds a member to `_meta`, such as `traceparent` (row L34). `json` is the raw JSON value. A key
            /// that is reserved or no key, and a value that is not JSON, are refused when this is awaited.
            pub fn meta(mut self, key: &str, json: &str) -> $of {
                self.0.edit(|ask| ask.meta(key, json));
                self
            }

            /// Hands it in now, so that its place on the wire and its deadline do not depend on when it is
            /// first polled. A refusal is told when it is awaited.
            pub fn start(mut self) -> $of {
                self.0.start();
                self
            }
        }
    };
}
pub(crate) use request_builders;
