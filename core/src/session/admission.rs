//! What may be accepted: checked and measured before anything happens (rows L09, L20, L21, L23, L25).

use std::sync::Arc;

use super::lifecycle::Phase;
use super::{LAST_ID, Machine};
use crate::error::{Code, Full, Refusal};
use crate::tool::{Call, Request, Tool, check_method, check_object};
use crate::wire::encode::{self, OneLine};

/// The longest name that is quoted, in bytes.
const NAME: usize = 256;

/// A call that may be accepted, and how.
pub(super) enum Admitted {
    Now(Call, OneLine),
    AfterWalk(Box<Call>),
}

impl<T> Machine<T> {
    /// The name of why the session is ending or over. A loss that is noticed and not yet declared has no cause yet.
    pub(super) fn closing_code(&self) -> Code {
        match &self.cause {
            Some(cause) => cause.code(),
            None if self.phase == Phase::Losing => Code::PROCESS_EXIT,
            None => Code::CLOSED,
        }
    }

    /// Why new calls are refused, if they are.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self.phase {
            Phase::New => Some(Refusal::NotReady),
            Phase::Spawning | Phase::Initializing => Some(Refusal::Connecting),
            Phase::Ready if self.link.is_closed() => Some(Refusal::StdinClosed),
            Phase::Ready => None,
            _ => Some(Refusal::Closed(self.closing_code())),
        }
    }

    /// Why nothing more of `bytes` can be taken, if so.
    pub(super) fn full(&self, bytes: usize) -> Option<Refusal> {
        let limits = &self.server.settings.limits;
        if self.pending.len() >= limits.pending {
            Some(Refusal::Busy(Full::Pending))
        } else if self.link.queued_bytes() + self.waiting_bytes + bytes > limits.send_queue {
            Some(Refusal::Busy(Full::SendQueue))
        } else if self.next_id > LAST_ID {
            Some(Refusal::IdsExhausted)
        } else {
            None
        }
    }

    pub(super) fn admit_call(&self, call: Call) -> Result<Admitted, Refusal> {
        if let Some(refusal) = self.refusal().or_else(|| self.full(0)) {
            return Err(refusal);
        }
        if !self.peer.as_ref().is_some_and(|peer| peer.capabilities.tools) {
            return Err(Refusal::NotOffered("tools"));
        }
        let call = match self.tools.catalog.get(call.tool()) {
            _ if call.prepared().is_some() => call,
            Some(tool) => call.prepare(tool, &self.server.settings).map_err(|refused| refused.refusal)?,
            None if self.tools.is_stale() => {
                let params = call.parameters(None, self.server.settings.limits.parameters)?;
                return match self.full(params.len()) {
                    Some(refusal) => Err(refusal),
                    None => Ok(Admitted::AfterWalk(Box::new(call))),
                };
            }
            None => return Err(self.unknown_tool(call.tool())),
        };
        let token = call.options().asks_progress().then_some(self.next_id);
        let params = call.parameters(token, self.server.settings.limits.parameters)?;
        match self.full(params.len()) {
            Some(refusal) => Err(refusal),
            None => Ok(Admitted::Now(call, params)),
        }
    }

    /// The method of a request, and its parameters on one line.
    pub(super) fn admit_request(&self, request: Request) -> Result<(Box<str>, Option<OneLine>), Refusal> {
        if let Some(refusal) = self.refusal().or_else(|| self.full(0)) {
            return Err(refusal);
        }
        check_method(request.method())?;
        match request.method() {
            "initialize" => return Err(Refusal::ReservedMethod("initialize")),
            "tools/call" => return Err(Refusal::ReservedMethod("tools/call")),
            method => self.check_offered(method)?,
        }
        let token = request.options().asks_progress().then_some(self.next_id);
        let (method, params) = request.into_parts(token, self.server.settings.limits.parameters)?;
        match self.full(params.as_deref().map_or(0, str::len)) {
            Some(refusal) => Err(refusal),
            None => Ok((method, params)),
        }
    }

    pub(super) fn admit_notification(
        &self,
        method: &str,
        params: Option<&str>,
    ) -> Result<Box<[u8]>, Refusal> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        check_method(method)?;
        match method {
            "notifications/initialized" => return Err(Refusal::ReservedMethod("notifications/initialized")),
            "notifications/cancelled" => return Err(Refusal::ReservedMethod("notifications/cancelled")),
            "notifications/roots/list_changed" if !self.server.settings.capabilities.roots => {
                return Err(Refusal::NotDeclared("roots"));
            }
            _ => {}
        }
        let limit = self.server.settings.limits.parameters;
        let params = params.map(|params| object_on_one_line(params, limit)).transpose()?;
        let mut frame = Vec::new();
        encode::push_notification(&mut frame, method, params.as_ref());
        if self.link.queued_bytes() + self.waiting_bytes + frame.len()
            > self.server.settings.limits.send_queue
        {
            return Err(Refusal::Busy(Full::SendQueue));
        }
        Ok(frame.into())
    }

    /// Refuses what needs a capability that the server did not offer.
    fn check_offered(&self, method: &str) -> Result<(), Refusal> {
        let Some(peer) = &self.peer else { return Err(Refusal::NotReady) };
        let offers = &peer.capabilities;
        let (offered, name) = match method {
            "resources/subscribe" | "resources/unsubscribe" => {
                (offers.resources_subscribe, "resources.subscribe")
            }
            "logging/setLevel" => (offers.logging, "logging"),
            "completion/complete" => {
                // The first revision has the method without the capability.
                (offers.completions || peer.version == crate::Version::V2024_11_05, "completions")
            }
            _ if method.starts_with("tools/") => (offers.tools, "tools"),
            _ if method.starts_with("resources/") => (offers.resources, "resources"),
            _ if method.starts_with("prompts/") => (offers.prompts, "prompts"),
            _ if method.starts_with("tasks/") => (offers.tasks, "tasks"),
            _ => return Ok(()),
        };
        if offered { Ok(()) } else { Err(Refusal::NotOffered(name)) }
    }

    pub(super) fn tool(&self, name: &str) -> Result<Option<Arc<Tool>>, Refusal> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        match self.tools.catalog.get(name) {
            Some(tool) => Ok(Some(tool.clone())),
            None if self.tools.is_stale() => Ok(None),
            None => Err(self.unknown_tool(name)),
        }
    }

    fn unknown_tool(&self, name: &str) -> Refusal {
        let near = self.tools.catalog.near(name);
        Refusal::UnknownTool { name: crate::sample::escaped(name, NAME), near }
    }
}

/// Checks that a caller's text is one JSON object of at most `limit` bytes, and puts it on one line.
pub(super) fn object_on_one_line(text: &str, limit: usize) -> Result<OneLine, Refusal> {
    if text.len() > limit {
        return Err(Refusal::TooLarge { bytes: text.len(), limit });
    }
    check_object(text)?;
    Ok(OneLine::new(text.trim_ascii().to_owned()))
}
