//! What the server asks of the host (row L26).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sans_mcp::protocol::code;
use sans_mcp::{Capabilities, PeerHandle, PeerReply};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::shared::Shared;

/// A request of the server, for a handler that was given to the [`Builder`](crate::Builder).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRequest {
    method: &'static str,
    params: Option<Box<str>>,
}

impl PeerRequest {
    /// The method.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Its parameters as raw JSON.
    pub fn params(&self) -> Option<&str> {
        self.params.as_deref()
    }

    /// Its parameters, decoded; absent ones are `null`.
    ///
    /// # Errors
    /// They do not fit: a [`PeerError`] that a handler can give back with `?`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, PeerError> {
        serde_json::from_str(self.params().unwrap_or("null"))
            .map_err(|error| PeerError::new(code::INVALID_PARAMS, format!("invalid params: {error}")))
    }
}

/// An error as the answer to a request of the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct PeerError {
    code: i64,
    message: String,
}

impl PeerError {
    /// An error with a code of JSON-RPC or of the host, and a message that the server may show.
    pub fn new(code: i64, message: impl Into<String>) -> PeerError {
        PeerError { code, message: message.into() }
    }

    /// The user said no: code -1, as the specification has it for sampling.
    pub fn rejected() -> PeerError {
        PeerError::new(-1, "rejected by the user")
    }

    fn internal(message: &str) -> PeerError {
        PeerError::new(code::INTERNAL_ERROR, message)
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<String, PeerError>> + Send>>;
type Handler = Box<dyn Fn(PeerRequest) -> Answer + Send + Sync>;

/// What answers the server's requests. What has no handler is not declared, so the server does not ask for
/// it.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) roots: Option<Handler>,
    pub(crate) sampling: Option<Handler>,
    pub(crate) elicitation: Option<Handler>,
}

impl Handlers {
    pub(crate) fn declare(&self, capabilities: &mut Capabilities) {
        capabilities.roots = self.roots.is_some();
        capabilities.sampling = self.sampling.is_some();
        capabilities.elicitation = self.elicitation.is_some();
    }

    fn of(&self, method: &str) -> Option<&Handler> {
        match method {
            "roots/list" => self.roots.as_ref(),
            "sampling/createMessage" => self.sampling.as_ref(),
            "elicitation/create" => self.elicitation.as_ref(),
            _ => None,
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("roots", &self.roots.is_some())
            .field("sampling", &self.sampling.is_some())
            .field("elicitation", &self.elicitation.is_some())
            .finish()
    }
}

pub(crate) fn handler<H, F, R>(handler: H) -> Option<Handler>
where
    H: Fn(PeerRequest) -> F + Send + Sync + 'static,
    F: Future<Output = Result<R, PeerError>> + Send + 'static,
    R: Serialize,
{
    Some(Box::new(move |request| {
        let answer = handler(request);
        Box::pin(async move {
            let result = answer.await?;
            serde_json::to_string(&result).map_err(|_| PeerError::internal("the result could not be written"))
        })
    }))
}

/// A request that waits for its answer.
pub(crate) struct Asked {
    handle: PeerHandle,
    request: PeerRequest,
}

impl Asked {
    pub(crate) fn new(request: sans_mcp::PeerRequest<'_>) -> Asked {
        let params = request.params.map(Into::into);
        Asked { handle: request.handle, request: PeerRequest { method: request.method, params } }
    }

    pub(crate) fn number(&self) -> u64 {
        self.handle.number()
    }

    /// Lets the handler answer. If it panics, or is dropped with its runtime, the guard answers for it.
    pub(crate) async fn answer(self, shared: Arc<Shared>) {
        let mut guard = Guard { shared, handle: Some(self.handle) };
        let answer = match guard.shared.handlers.of(self.request.method) {
            Some(handler) => handler(self.request).await,
            None => Err(PeerError::internal("nobody answers this")),
        };
        guard.respond(answer);
    }
}

struct Guard {
    shared: Arc<Shared>,
    handle: Option<PeerHandle>,
}

impl Guard {
    fn respond(&mut self, answer: Result<String, PeerError>) {
        let Some(handle) = self.handle.take() else { return };
        if !self.shared.claim(handle.number()) {
            return;
        }
        self.shared.command(|session, now| {
            let reply = match &answer {
                Ok(result) => PeerReply::Result(result),
                Err(error) => PeerReply::Error { code: error.code, message: &error.message },
            };
            if let Err(refused) = session.respond(now, handle, reply) {
                let message = refused.refusal.to_string();
                let error = PeerError::internal(&message);
                let reply = PeerReply::Error { code: error.code, message: &error.message };
                // Refused once more: there is no room, or the request is not open any more. Then its deadline
                // answers.
                let _ = session.respond(now, refused.value, reply);
            }
        });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.respond(Err(PeerError::internal("the handler gave no answer")));
    }
}
