//! Calls of tools as futures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use sans_mcp::{Call, Refusal, Session, Time};
use tracing::Span;

use crate::client::Alive;
use crate::error::CallError;
use crate::operation::Accepted;
use crate::reply::ToolReply;
use crate::request::{Ask, Asking, request_builders};
use crate::shared::Shared;
use crate::slot::Slot;

/// A call of a tool, made by [`Client::call_tool`](crate::Client::call_tool): a future of its result.
///
/// Nothing happens before it is first polled, or [`started`](ToolCall::start): then it is accepted or
/// refused, its time begins to run, and it takes its place in the order on the wire. Dropping it cancels the
/// call: it is settled at once, and the server is told if any of it had left. A call that is dropped before
/// it was accepted leaves no trace.
///
/// It owns a handle of the client, so it can be spawned, and keeps the server alive.
#[derive(Debug)]
#[must_use = "a call does nothing until it is awaited"]
pub struct ToolCall(Asking<Call>);

request_builders!(ToolCall);

impl ToolCall {
    pub(crate) fn new(alive: Arc<Alive>, call: Result<Call, Refusal>) -> ToolCall {
        ToolCall(Asking::new(alive, call))
    }
}

impl Future for ToolCall {
    type Output = Result<ToolReply, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let call = &mut self.0;
        call.poll(cx).map(|answered| {
            let (payload, id) = answered?;
            ToolReply::new(payload).map_err(|problem| CallError::Undecodable {
                server: call.server(),
                id,
                problem,
            })
        })
    }
}

impl Ask for Call {
    fn method(&self) -> &str {
        "tools/call"
    }

    fn prepare(self, shared: &Shared, span: &Span) -> Result<Call, Refusal> {
        // Checking arguments costs time, so it is done without the lock. What the session would refuse for
        // another reason it refuses when the call is handed in.
        match shared.view(|session| session.tool(self.tool())) {
            Ok(Some(tool)) => {
                span.record("tool", tool.name());
                self.prepare(&tool, &shared.settings).map_err(|refused| refused.refusal)
            }
            Ok(None) | Err(_) => Ok(self),
        }
    }

    fn accept(self, session: &mut Session<Arc<Slot>>, now: Time, slot: Arc<Slot>) -> Accepted {
        session.call(now, self, slot)
    }
}
