//! Runs a session against a server in memory, in virtual time.

mod outcome;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use sans_mcp::{
    Call, Counters, End, Handle, Output, PeerHandle, PeerReply, Pumped, Refusal, Refused, Request, Server,
    Session, State, Time, pump,
};

use crate::Token;
use crate::invariants::{Asked, Checked, Invariants};
use crate::link::{Link, LinkOptions};
use crate::peer::Peer;
use crate::trace::{self, Trace};
use outcome::outcome;

pub use outcome::{Done, Outcome, PeerAsked};

/// More pumps at one moment than anything needs: a machine that asks for so many never goes idle.
const PUMPS: usize = 100_000;

/// Bytes and outputs of one pump: enough for every test to be whole, and an end for a machine that offers for ever.
const BUDGET: usize = 16 << 20;

/// A session, its server, and the clock of both.
///
/// Panics at the first violation of an invariant, and when the machine never goes idle.
#[derive(Debug)]
pub struct Runner {
    session: Session<Token>,
    link: Link,
    invariants: Rc<RefCell<Invariants>>,
    now: Time,
    until: Option<Time>,
    budget: usize,
    next_token: Token,
    handles: BTreeMap<Token, Handle>,
    done: BTreeMap<Token, Done>,
    requests: VecDeque<PeerAsked>,
    cancelled_requests: Vec<u64>,
    host: Vec<(Time, String)>,
    closed: bool,
}

impl Runner {
    /// A session for `server`, whose process is `peer`. A configuration that is refused panics.
    pub fn new(server: Server, peer: impl Peer + 'static, options: LinkOptions) -> Runner {
        let invariants = Rc::new(RefCell::new(Invariants::new(&server)));
        let session =
            Session::new(server).unwrap_or_else(|error| unreachable!("the test's configuration: {error}"));
        Runner {
            session,
            link: Link::new(Box::new(peer), options, Rc::clone(&invariants)),
            invariants,
            now: Time::ZERO,
            until: None,
            budget: BUDGET,
            next_token: 1,
            handles: BTreeMap::new(),
            done: BTreeMap::new(),
            requests: VecDeque::new(),
            cancelled_requests: Vec::new(),
            host: Vec::new(),
            closed: false,
        }
    }

    /// Lets each pump move no more than `budget` bytes and outputs.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Runner {
        self.budget = budget;
        self
    }

    /// The session.
    pub const fn session(&self) -> &Session<Token> {
        &self.session
    }

    /// The session, for what has no command here.
    pub const fn session_mut(&mut self) -> &mut Session<Token> {
        &mut self.session
    }

    /// The link.
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// What time it is.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The counters of the session.
    pub fn counters(&self) -> Counters {
        self.session.counters()
    }

    /// Connects.
    pub fn connect(&mut self) -> Token {
        let token = self.token();
        let accepted = self.session.connect(self.now, token);
        self.accepted(token, accepted, Asked::Waiting, None)
            .unwrap_or_else(|refusal| unreachable!("{refusal}"))
    }

    /// Connects, and runs until that has ended: the token of a session that is connected, or failed to be.
    pub fn connected(&mut self) -> Token {
        let token = self.connect();
        self.run_until(|runner| runner.outcome(token).is_some());
        token
    }

    /// Connects once more, which may be refused.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn try_connect(&mut self) -> Result<Token, Refusal> {
        let token = self.token();
        let accepted = self.session.connect(self.now, token);
        self.accepted(token, accepted, Asked::Waiting, None)
    }

    /// Calls a tool. With `deadline`, the checker holds the call to it.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn call(&mut self, call: Call) -> Result<Token, Refusal> {
        let token = self.token();
        let accepted = self.session.call(self.now, call, token);
        self.accepted(token, accepted, Asked::Call, None)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn request(&mut self, request: Request) -> Result<Token, Refusal> {
        let token = self.token();
        let accepted = self.session.request(self.now, request, token);
        self.accepted(token, accepted, Asked::Request, None)
    }

    /// Pings.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn ping(&mut self, timeout: Option<Duration>) -> Result<Token, Refusal> {
        let token = self.token();
        let accepted = self.session.ping(self.now, timeout, token);
        self.accepted(token, accepted, Asked::Request, timeout.map(|timeout| self.now + timeout))
    }

    /// Lists the tools anew.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn list(&mut self) -> Result<Token, Refusal> {
        let token = self.token();
        let accepted = self.session.list_tools(self.now, token);
        self.accepted(token, accepted, Asked::Waiting, None)
    }

    /// Cancels an operation.
    pub fn cancel(&mut self, token: Token, reason: &str) -> bool {
        let Some(handle) = self.handles.get(&token).copied() else { return false };
        let was_open = self.session.cancel(self.now, handle, reason);
        self.check(|invariants| invariants.cancelled(handle, was_open));
        was_open
    }

    /// Answers a request of the server.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn respond(&mut self, handle: PeerHandle, reply: PeerReply<'_>) -> Result<(), Refused<PeerHandle>> {
        self.session.respond(self.now, handle, reply)
    }

    /// Shuts down.
    pub fn shutdown(&mut self, grace: Duration) {
        self.session.shutdown(self.now, grace);
    }

    /// Closes.
    pub fn close(&mut self) {
        self.session.close(self.now);
    }

    /// Closes and runs until it is over.
    pub fn closed(&mut self) -> &End {
        self.close();
        self.run_until(|runner| runner.closed);
        self.session.end().unwrap_or_else(|| unreachable!("closed without an end"))
    }

    /// The handle of an operation.
    pub fn handle(&self, token: Token) -> Option<Handle> {
        self.handles.get(&token).copied()
    }

    /// What became of an operation, if it has ended.
    pub fn outcome(&self, token: Token) -> Option<&Outcome> {
        self.done.get(&token).map(|done| &done.outcome)
    }

    /// The completion of an operation.
    pub fn done(&self, token: Token) -> Option<&Done> {
        self.done.get(&token)
    }

    /// Runs until an operation has ended, and gives what became of it.
    pub fn ended(&mut self, token: Token) -> &Outcome {
        self.run_until(|runner| runner.outcome(token).is_some());
        self.outcome(token).unwrap_or_else(|| unreachable!("operation {token} never ends"))
    }

    /// The oldest request of the server that the host has not answered.
    pub fn take_request(&mut self) -> Option<PeerAsked> {
        self.requests.pop_front()
    }

    /// Requests of the server that need no answer any more.
    pub fn cancelled_requests(&self) -> &[u64] {
        &self.cancelled_requests
    }

    /// Whether the session is over.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// All that came out so far.
    pub fn trace(&self) -> Trace {
        Trace {
            host: self.host.clone(),
            wire: self.link.wire().to_vec(),
            process: self.link.process().to_vec(),
        }
    }

    /// Lines that the server got.
    pub fn wire(&self) -> impl Iterator<Item = &str> {
        self.link.wire().iter().map(|(_, line)| line.as_str())
    }

    /// Requests and notifications of `method` that the server got.
    pub fn sent(&self, method: &str) -> usize {
        let wanted = format!(r#""method":"{method}""#);
        self.wire().filter(|line| line.contains(&wanted)).count()
    }

    /// Does all that can be done at this moment.
    pub fn settle(&mut self) {
        for _ in 0..PUMPS {
            self.link.advance(self.now);
            let pumped = self.pump();
            self.until = pumped.until;
            if pumped.closed {
                self.closed = true;
                self.check_settled();
                return;
            }
            if !pumped.starved {
                let until = pumped.until;
                self.check(|invariants| invariants.wait(until));
                self.check_settled();
                // Of a server that leaves no more is read at some point, and nothing is waited for there.
                let reads = self.session.state() < State::Closing || !self.session.read_space().is_empty();
                if !self.link.has_news(reads) {
                    return;
                }
            }
        }
        unreachable!("the machine never goes idle: {:?}", self.host.iter().rev().take(5).collect::<Vec<_>>());
    }

    /// Jumps to the next moment at which something happens, and does what is to be done then. False: nothing ever will,
    /// or the session is over.
    pub fn step(&mut self) -> bool {
        self.settle();
        let Some(next) = self.until.into_iter().chain(self.link.next()).min().filter(|_| !self.closed) else {
            return false;
        };
        self.now = self.now.max(next);
        self.settle();
        true
    }

    /// Runs until `reached`, or until nothing happens any more.
    pub fn run_until(&mut self, reached: impl Fn(&Runner) -> bool) {
        self.settle();
        for _ in 0..PUMPS {
            if reached(self) || !self.step() {
                return;
            }
        }
        unreachable!("time goes on for ever");
    }

    /// Runs for this long.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle();
        while let Some(next) =
            self.until.into_iter().chain(self.link.next()).min().filter(|next| *next <= end)
        {
            self.now = self.now.max(next);
            self.settle();
            if self.closed {
                break;
            }
        }
        self.now = end;
        self.settle();
    }

    /// Lets time pass in which the host does nothing, not even what is due.
    pub fn stall(&mut self, time: Duration) {
        self.settle();
        self.now = self.now + time;
        self.settle();
    }

    fn pump(&mut self) -> Pumped {
        let Runner {
            session, link, invariants, host, done, requests, cancelled_requests, now, budget, ..
        } = self;
        let now = *now;
        invariants.borrow_mut().time(now);
        let mut checked: Checked = Ok(());
        let pumped = pump(session, link, now, *budget, |output| {
            if checked.is_ok() {
                checked = invariants.borrow_mut().output(&output);
            }
            host.push((now, trace::line(&output)));
            match output {
                Output::Complete(completion) => {
                    let token = completion.token;
                    done.insert(token, Done { at: now, outcome: outcome(completion) });
                }
                Output::Request(request) => requests.push_back(PeerAsked {
                    handle: request.handle,
                    method: request.method,
                    params: request.params.map(str::to_owned),
                }),
                Output::RequestCancelled(number) => {
                    requests.retain(|request| request.handle.number() != number);
                    cancelled_requests.push(number);
                }
                _ => {}
            }
        });
        let checked = checked.and(self.link.checked());
        assert!(checked.is_ok(), "{checked:?} after\n{}", self.trace());
        pumped
    }

    fn check_settled(&mut self) {
        let checked = self.invariants.borrow_mut().settled(&self.session);
        assert!(checked.is_ok(), "{checked:?} after\n{}", self.trace());
        assert!(
            !self.closed || self.session.state() == State::Closed,
            "closed in {:?}",
            self.session.state()
        );
    }

    fn check(&mut self, check: impl FnOnce(&mut Invariants) -> Checked) {
        let checked = check(&mut self.invariants.borrow_mut());
        assert!(checked.is_ok(), "{checked:?} after\n{}", self.trace());
    }

    fn token(&mut self) -> Token {
        self.next_token += 1;
        self.next_token - 1
    }

    fn accepted(
        &mut self,
        token: Token,
        accepted: Result<Handle, Refused<Token>>,
        asked: Asked,
        deadline: Option<Time>,
    ) -> Result<Token, Refusal> {
        let now = self.now;
        self.invariants.borrow_mut().time(now);
        match accepted {
            Ok(handle) => {
                self.handles.insert(token, handle);
                self.check(|invariants| invariants.accepted(token, handle, asked, deadline));
                Ok(token)
            }
            Err(Refused { value, refusal }) => {
                self.check(|invariants| invariants.refused(token, value));
                Err(refusal)
            }
        }
    }
}
