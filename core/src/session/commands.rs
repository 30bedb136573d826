//! What a host asks for. A command answers at once, or gives back what it was handed (rows L09, L20, L21).

use std::borrow::Cow;
use std::time::Duration;

use super::admission::Admitted;
use super::catalog::size_of;
use super::lifecycle::{Event, Phase};
use super::{Caller, Machine, Owner, Session, Waiting};
use crate::error::{Cause, FailureKind, Refusal, Refused};
use crate::handle::Handle;
use crate::link::Abandoned;
use crate::output::State;
use crate::rpc::{Entry, Stage, Timing};
use crate::sample::bounded;
use crate::time::Time;
use crate::tool::{Call, Request};
use crate::wire::encode::OneLine;

/// A reason that a caller gives is kept up to this size, in bytes.
const REASON: usize = 256;

impl<T> Session<T> {
    /// Connects: starts the process, shakes hands and, unless that is turned off, lists the tools. Connecting twice shares one
    /// handshake; each caller gets a completion of its own (row L05).
    ///
    /// ```
    /// use sans_mcp::{Output, Server, Session, State, Time};
    ///
    /// let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
    /// let one = session.connect(Time::ZERO, "one").unwrap();
    /// let two = session.connect(Time::ZERO, "two").unwrap();
    /// assert!(one < two);
    /// assert_eq!(session.state(), State::Connecting);
    /// # Ok::<(), sans_mcp::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// Refused once the session is closing, and when too many wait already.
    pub fn connect(&mut self, now: Time, token: T) -> Result<Handle, Refused<T>> {
        self.machine.at(now);
        let refusal = match self.machine.phase.state() {
            State::New | State::Connecting | State::Ready => self.machine.full(0),
            _ => Some(Refusal::Closed(self.machine.closing_code())),
        };
        if let Some(refusal) = refusal {
            return self.machine.refuse(token, refusal);
        }
        let endless = Timing::until(self.machine.now, None);
        let handle = self.machine.wait_for(token, "connect", Waiting::Connected, endless);
        match self.machine.phase {
            Phase::New => {
                self.machine.connecting = true;
                self.machine.event(Event::Connect);
            }
            Phase::Ready if !self.machine.connecting => self.machine.finish_connecting(),
            // Everybody who waited for the listing may have given up.
            Phase::Ready => self.machine.start_walk(),
            _ => {}
        }
        Ok(handle)
    }

    /// Calls a tool of the catalog. The arguments are checked against its input schema, unless [`Call::prepare`] did so before
    /// or that is turned off. If the catalog is stale and does not have the tool, it is fetched anew within the call's own
    /// deadline.
    ///
    /// ```
    /// use sans_mcp::{Call, Code, Server, Session, Time};
    ///
    /// let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
    /// let refused = session.call(Time::ZERO, Call::new("search", r#"{"query":"deadline"}"#), "token").unwrap_err();
    /// assert_eq!(refused.refusal.code(), Code::NOT_READY);
    /// assert_eq!(refused.value, "token");
    /// # Ok::<(), sans_mcp::ConfigError>(())
    /// ```
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
    /// ```
    /// use sans_mcp::{Code, Request, Server, Session, Time};
    ///
    /// let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
    /// let read = Request::new("resources/read").params(r#"{"uri":"file:///srv/docs/a.md"}"#);
    /// let refused = session.request(Time::ZERO, read, "token").unwrap_err();
    /// assert_eq!(refused.refusal.code(), Code::NOT_READY);
    /// # Ok::<(), sans_mcp::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// Refused without any effect; see [`Refusal`]. `initialize` and `tools/call` have commands of their own.
    pub fn request(&mut self, now: Time, request: Request, token: T) -> Result<Handle, Refused<T>> {
        self.machine.at(now);
        let timing = self.machine.timing(request.options());
        let caller = Caller::new(token, request.options());
        match self.machine.admit_request(request) {
            Ok((method, params)) => {
                Ok(self.machine.accept(caller, Cow::Owned(method.into()), params, timing))
            }
            Err(refusal) => self.machine.refuse(caller.token, refusal),
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
        let timing = Timing::until(self.machine.now, self.machine.server.settings.timeouts.call);
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
    ///
    /// ```
    /// use sans_mcp::{Code, Output, Server, Session, Time};
    ///
    /// let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
    /// let handle = session.connect(Time::ZERO, "token").unwrap();
    /// assert!(session.cancel(Time::ZERO, handle, "not needed any more"));
    /// assert!(!session.cancel(Time::ZERO, handle, "twice"), "it is settled already");
    /// let settled = loop {
    ///     if let Output::Complete(done) = session.poll_output() {
    ///         break done;
    ///     }
    /// };
    /// assert_eq!(settled.outcome.unwrap_err().code(), Code::ABORTED);
    /// # Ok::<(), sans_mcp::ConfigError>(())
    /// ```
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
        self.machine.event(Event::Shutdown);
    }

    /// Closes: settles every open operation as closed, then ends the process (row L17). Closing twice is closing once. It is
    /// over when [`Output::Closed`](crate::Output::Closed) comes, at the latest after
    /// [`Timeouts::close_bound`](crate::Timeouts::close_bound).
    ///
    /// ```
    /// use sans_mcp::{Output, Server, Session, Time};
    ///
    /// let mut session = Session::<&str>::new(Server::new("docs", "docs-server"))?;
    /// session.close(Time::ZERO);
    /// assert!(matches!(session.poll_output(), Output::State(_)));
    /// let Output::Closed(end) = session.poll_output() else { panic!("nothing was started") };
    /// assert!(end.gone());
    /// # Ok::<(), sans_mcp::ConfigError>(())
    /// ```
    pub fn close(&mut self, now: Time) {
        self.machine.at(now);
        self.machine.event(Event::Close);
    }
}

impl<T> Machine<T> {
    fn refuse<V>(&mut self, value: T, refusal: Refusal) -> Result<V, Refused<T>> {
        self.counters.refused += 1;
        Err(Refused { value, refusal })
    }

    fn accept_call(&mut self, admitted: Admitted, token: T) -> Handle {
        match admitted {
            Admitted::Now(call, params) => {
                let timing = self.timing(call.options());
                let mut caller = Caller::new(token, call.options());
                caller.tool = call.into_prepared();
                self.accept(caller, Cow::Borrowed("tools/call"), Some(params), timing)
            }
            Admitted::AfterWalk(call) => {
                let timing = self.timing(call.options());
                self.waiting_bytes += size_of(&call);
                let caller = Caller::new(token, call.options());
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
        params: Option<OneLine>,
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
}
