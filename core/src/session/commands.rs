//! What a host asks for. A command answers at once, or gives back what it was handed (rows L09, L20, L21).

use std::borrow::Cow;
use std::time::Duration;

use super::catalog::size_of;
use super::lifecycle::{Event, Phase};
use super::{Caller, LAST_ID, Machine, Owner, Session, Waiting};
use crate::error::{Cause, Code, FailureKind, Full, Refusal, Refused};
use crate::handle::Handle;
use crate::link::Abandoned;
use crate::output::State;
use crate::rpc::{Entry, Stage, Timing};
use crate::sample::bounded;
use crate::time::Time;
use crate::tool::{Call, Request};
use crate::wire::encode;
use serde_json::value::RawValue;

/// A reason that a caller gives is kept up to this size, in bytes.
const REASON: usize = 256;

impl<T> Session<T> {
    /// Connects: starts the process, shakes hands and, unless that is turned off, lists the tools. Connecting twice shares one
    /// handshake; each caller gets a completion of its own (row L05).
    ///
    /// # Errors
    /// Refused once the session is closing, and when too many wait already.
    pub fn connect(&mut self, now: Time, token: T) -> Result<Handle, Refused<T>> {
        self.machine.at(now);
        let refusal = match self.machine.phase.state() {
            State::New | State::Connecting | State::Ready => self.machine.full(0),
            _ => Some(Refusal::Closed(self.machine.cause.as_ref().map_or(Code::CLOSED, Cause::code))),
        };
        if let Some(refusal) = refusal {
            return self.machine.refuse(token, refusal);
        }
        let handle = self.machine.wait_for(token, "connect", Waiting::Connected, Timing::until(now, None));
        match self.machine.phase {
            Phase::New => self.machine.event(Event::Connect),
            Phase::Ready if !self.machine.is_connecting() => self.machine.finish_connecting(),
            _ => {}
        }
        Ok(handle)
    }

    /// Calls a tool of the catalog. The arguments are checked against its input schema, unless [`Call::prepare`] did so before
    /// or that is turned off. If the catalog is stale and does not have the tool, it is fetched anew within the call's own
    /// deadline.
    ///
    /// # Errors
    /// Refused without any effect; see [`Refusal`].
    pub fn call(&mut self, now: Time, call: Call, token: T) -> Result<Handle, Refused<T>> {
        self.machine.at(now);
        match self.machine.admit_call(call) {
            Ok(admitted) => Ok(self.machine.accept_call(admitted, token)),
            Err(refusal) => self.machine.refuse(token, refusal),
        }
    }

    /// Sends any other request of the protocol, whose capability the server must have offered.
    ///
    /// # Errors
    /// Refused without any effect; see [`Refusal`]. `initialize` and `tools/call` have commands of their own.
    pub fn request(&mut self, now: Time, request: Request, token: T) -> Result<Handle, Refused<T>> {
        self.machine.at(now);
        match self.machine.admit_request(&request) {
            Ok(params) => {
                let timing = self.machine.timing(request.options());
                let caller = Caller {
                    wants_progress: request.options().tells_progress(),
                    result_limit: request.options().result_limit().unwrap_or(usize::MAX),
                    ..Caller::plain(token)
                };
                Ok(self.machine.accept(caller, Cow::Owned(request.method().to_owned()), params, timing))
            }
            Err(refusal) => self.machine.refuse(token, refusal),
        }
    }

    /// Asks whether the server answers at all. Any answer without an error counts.
    ///
    /// # Errors
    /// Refused without any effect; see [`Refusal`].
    pub fn ping(&mut self, now: Time, timeout: Option<Duration>, token: T) -> Result<Handle, Refused<T>> {
        let request = Request::new("ping");
        let request = if timeout.is_some() { request.timeout(timeout) } else { request };
        self.request(now, request, token)
    }

    /// Fetches the list of tools anew, all pages of it, and replaces the catalog (row L33). Joins a walk that is under way.
    ///
    /// # Errors
    /// Refused without any effect; see [`Refusal`].
    pub fn list_tools(&mut self, now: Time, token: T) -> Result<Handle, Refused<T>> {
        self.machine.at(now);
        let offers = self.machine.peer.as_ref().is_some_and(|peer| peer.capabilities.tools);
        let refusal = self.machine.refusal().or_else(|| self.machine.full(0));
        let refusal = refusal.or_else(|| (!offers).then_some(Refusal::NotOffered("tools")));
        if let Some(refusal) = refusal {
            return self.machine.refuse(token, refusal);
        }
        let timing = Timing::until(now, self.machine.server.settings.timeouts.call);
        let handle = self.machine.wait_for(token, "tools/list", Waiting::Listed, timing);
        self.machine.start_walk();
        Ok(handle)
    }

    /// Sends a notification. `params` is a JSON object.
    ///
    /// # Errors
    /// Refused without any effect; see [`Refusal`].
    pub fn notify(&mut self, now: Time, method: &str, params: Option<&str>) -> Result<(), Refusal> {
        self.machine.at(now);
        let refused = self.machine.admit_notification(method, params);
        match refused {
            Ok(frame) => {
                self.machine.link.notify(frame);
                Ok(())
            }
            Err(refusal) => {
                self.machine.counters.refused += 1;
                Err(refusal)
            }
        }
    }

    /// Cancels an operation: it is settled at once, and the server is told if any of it left (row L12). The completion comes with
    /// the next poll. False: nothing is open under this handle.
    ///
    /// When the last caller that waits for the connection gives up, the session closes.
    pub fn cancel(&mut self, now: Time, handle: Handle, reason: &str) -> bool {
        self.machine.at(now);
        self.machine.cancel(handle.number(), reason)
    }

    /// Refuses new calls, lets accepted ones finish for at most `grace`, then closes. No signal is sent if the server leaves by
    /// itself once its input is closed.
    pub fn shutdown(&mut self, now: Time, grace: Duration) {
        self.machine.at(now);
        if self.machine.phase == Phase::Ready {
            self.machine.phase_until = Some(self.machine.now + grace);
        }
        self.machine.leave(Event::Shutdown);
    }

    /// Closes: settles every open operation as closed, then ends the process (row L17). Closing twice is closing once. It is
    /// over when [`Output::Closed`](crate::Output::Closed) comes, at the latest after
    /// [`Timeouts::close_bound`](crate::Timeouts::close_bound).
    pub fn close(&mut self, now: Time) {
        self.machine.at(now);
        self.machine.leave(Event::Close);
    }
}

/// A call that may be accepted, and how.
enum Admitted {
    Now(Box<Call>, Box<str>),
    AfterWalk(Box<Call>),
}

impl<T> Machine<T> {
    fn refuse<V>(&mut self, value: T, refusal: Refusal) -> Result<V, Refused<T>> {
        self.counters.refused += 1;
        Err(Refused { value, refusal })
    }

    /// Why nothing more of `bytes` can be taken, if so.
    fn full(&self, bytes: usize) -> Option<Refusal> {
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

    fn admit_call(&self, call: Call) -> Result<Admitted, Refusal> {
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
            None => Ok(Admitted::Now(Box::new(call), params.into())),
        }
    }

    fn accept_call(&mut self, admitted: Admitted, token: T) -> Handle {
        match admitted {
            Admitted::Now(call, params) => {
                let timing = self.timing(call.options());
                let caller = Caller {
                    token,
                    tool: call.prepared().cloned(),
                    wants_progress: call.options().tells_progress(),
                    result_limit: call.options().result_limit().unwrap_or(usize::MAX),
                };
                self.accept(caller, Cow::Borrowed("tools/call"), Some(params), timing)
            }
            Admitted::AfterWalk(call) => {
                let timing = self.timing(call.options());
                self.waiting_bytes += size_of(&call);
                let caller = Caller {
                    wants_progress: call.options().tells_progress(),
                    result_limit: call.options().result_limit().unwrap_or(usize::MAX),
                    ..Caller::plain(token)
                };
                let id = self.insert(
                    caller,
                    Cow::Borrowed("tools/call"),
                    Stage::Waiting(Waiting::Tool(call)),
                    timing,
                );
                self.start_walk();
                Handle(id)
            }
        }
    }

    fn admit_request(&self, request: &Request) -> Result<Option<Box<str>>, Refusal> {
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
        let params = request.parameters(token, self.server.settings.limits.parameters)?;
        match self.full(params.as_deref().map_or(0, str::len)) {
            Some(refusal) => Err(refusal),
            None => Ok(params.map(Into::into)),
        }
    }

    fn admit_notification(&self, method: &str, params: Option<&str>) -> Result<Box<[u8]>, Refusal> {
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
        encode::push_notification(&mut frame, method, params.as_deref());
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

    /// A notification method that may reach the host, because the server offered what it belongs to.
    pub(super) fn negotiated(&self, method: &str) -> Option<&'static str> {
        let offers = &self.peer.as_ref()?.capabilities;
        let (offered, name) = match method {
            "notifications/message" => (offers.logging, "notifications/message"),
            "notifications/tools/list_changed" => (offers.tools, "notifications/tools/list_changed"),
            "notifications/prompts/list_changed" => (offers.prompts, "notifications/prompts/list_changed"),
            "notifications/resources/list_changed" => {
                (offers.resources, "notifications/resources/list_changed")
            }
            "notifications/resources/updated" => {
                (offers.resources_subscribe, "notifications/resources/updated")
            }
            "notifications/tasks/status" => (offers.tasks, "notifications/tasks/status"),
            _ => return None,
        };
        offered.then_some(name)
    }

    fn timing(&self, options: &crate::tool::Options) -> Timing {
        let timeouts = &self.server.settings.timeouts;
        let timeout = options.timeout(timeouts);
        let timing = Timing::until(self.now, timeout);
        if options.resets_on_progress() {
            timing.extended_by_progress(timeout, options.maximum(timeouts))
        } else {
            timing
        }
    }

    fn accept(
        &mut self,
        caller: Caller<T>,
        method: Cow<'static, str>,
        params: Option<Box<str>>,
        timing: Timing,
    ) -> Handle {
        let bytes = params.as_deref().map_or(0, str::len);
        let id = self.insert(caller, method, Stage::Queued(params), timing);
        self.link.send(id, bytes);
        Handle(id)
    }

    fn wait_for(&mut self, token: T, method: &'static str, waiting: Waiting, timing: Timing) -> Handle {
        Handle(self.insert(Caller::plain(token), Cow::Borrowed(method), Stage::Waiting(waiting), timing))
    }

    fn insert(
        &mut self,
        caller: Caller<T>,
        method: Cow<'static, str>,
        stage: Stage<Waiting>,
        timing: Timing,
    ) -> u64 {
        let id = self.issue_id();
        self.pending.insert(id, Entry { owner: Owner::Caller(caller), handle: id, method, timing, stage });
        id
    }

    /// Whether the connect itself is still under way, its listing included.
    fn is_connecting(&self) -> bool {
        // The one that was just added waits too.
        self.waiting(|waiting| matches!(waiting, Waiting::Connected)).len() > 1
    }

    fn cancel(&mut self, handle: u64, reason: &str) -> bool {
        let id = self.renamed.get(&handle).copied().unwrap_or(handle);
        match self.pending.get(id) {
            Some(entry) if entry.handle == handle && matches!(entry.owner, Owner::Caller(_)) => {}
            _ => return false,
        }
        let Some(entry) = self.pending.take(id) else { return false };
        let waited = entry.is_waiting();
        let kind = FailureKind::Cancelled(bounded(reason, REASON).0.into());
        let step = self.fail(id, entry, kind, Some(Abandoned::Cancelled));
        self.ready.extend(step);
        if waited {
            self.drop_idle_walk();
            let connecting = matches!(self.phase, Phase::Spawning | Phase::Initializing);
            if connecting && self.waiting(|waiting| matches!(waiting, Waiting::Connected)).is_empty() {
                self.cause.get_or_insert(Cause::ConnectCancelled);
                self.event(Event::Close);
            }
        }
        true
    }

    fn leave(&mut self, event: Event) {
        // The cause of a loss that is already noticed stays; an exit that we cause is no fault.
        if self.phase != Phase::Losing && event == Event::Close {
            self.cause.get_or_insert(Cause::Closed);
        }
        let before: Phase = self.phase;
        self.event(event);
        if event == Event::Shutdown && self.phase != before && self.phase != Phase::Draining {
            self.cause.get_or_insert(Cause::Closed);
        }
    }
}

/// Refuses what is no method name.
fn check_method(method: &str) -> Result<(), Refusal> {
    let fits = !method.is_empty() && method.len() <= REASON && !method.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(Refusal::BadMethod) }
}

/// Checks that a caller's text is one JSON object of at most `limit` bytes, and puts it on one line.
pub(super) fn object_on_one_line(text: &str, limit: usize) -> Result<String, Refusal> {
    if text.len() > limit {
        return Err(Refusal::TooLarge { bytes: text.len(), limit });
    }
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if raw.get().starts_with('{') => Ok(encode::on_one_line(raw.get().to_owned())),
        Ok(_) => Err(Refusal::NotAnObject),
        Err(error) => Err(Refusal::NotJson { at: at(text, &error) }),
    }
}

/// Where in `text` reading stopped, in bytes.
fn at(text: &str, error: &serde_json::Error) -> usize {
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    (before + error.column().saturating_sub(1)).min(text.len())
}
