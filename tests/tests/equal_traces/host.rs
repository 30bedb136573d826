//! The host's side, the same for every driver: it gives the commands of the script, answers what the server asks, and
//! writes down all that it is told.

use std::collections::VecDeque;
use std::time::Duration;

use sans_mcp::{Call, Handle, Output, PeerHandle, PeerReply, Refused, Request, Session, Time, Why};
use sans_mcp_tests::Token;
use sans_mcp_tests::invariants::{Asked, MARKER};
use sans_mcp_tests::trace;

use crate::recorded::{Log, Recorded};
use crate::script::{Command, commands};

/// What takes commands.
pub(crate) trait Machine {
    fn connect(&mut self, now: Time, token: Token) -> Result<Handle, Refused<Token>>;
    fn call(&mut self, now: Time, call: Call, token: Token) -> Result<Handle, Refused<Token>>;
    fn request(&mut self, now: Time, request: Request, token: Token) -> Result<Handle, Refused<Token>>;
    fn ping(&mut self, now: Time, token: Token) -> Result<Handle, Refused<Token>>;
    fn list(&mut self, now: Time, token: Token) -> Result<Handle, Refused<Token>>;
    fn notify(&mut self, now: Time, method: &str, params: &str);
    fn respond(&mut self, now: Time, handle: PeerHandle, reply: PeerReply<'_>);
    fn cancel(&mut self, now: Time, handle: Handle, reason: &str) -> bool;
    fn shutdown(&mut self, now: Time, grace: Duration);
    fn close(&mut self, now: Time);
}

/// A session, and the connection of mio, take the same commands under the same names.
macro_rules! machine {
    ($of:ty) => {
        impl Machine for $of {
            fn connect(&mut self, now: Time, token: Token) -> Result<Handle, Refused<Token>> {
                <$of>::connect(self, now, token)
            }
            fn call(&mut self, now: Time, call: Call, token: Token) -> Result<Handle, Refused<Token>> {
                <$of>::call(self, now, call, token)
            }
            fn request(
                &mut self,
                now: Time,
                request: Request,
                token: Token,
            ) -> Result<Handle, Refused<Token>> {
                <$of>::request(self, now, request, token)
            }
            fn ping(&mut self, now: Time, token: Token) -> Result<Handle, Refused<Token>> {
                <$of>::ping(self, now, None, token)
            }
            fn list(&mut self, now: Time, token: Token) -> Result<Handle, Refused<Token>> {
                <$of>::list_tools(self, now, token)
            }
            fn notify(&mut self, now: Time, method: &str, params: &str) {
                let _ = <$of>::notify(self, now, method, Some(params));
            }
            fn respond(&mut self, now: Time, handle: PeerHandle, reply: PeerReply<'_>) {
                let _ = <$of>::respond(self, now, handle, reply);
            }
            fn cancel(&mut self, now: Time, handle: Handle, reason: &str) -> bool {
                <$of>::cancel(self, now, handle, reason)
            }
            fn shutdown(&mut self, now: Time, grace: Duration) {
                <$of>::shutdown(self, now, grace)
            }
            fn close(&mut self, now: Time) {
                <$of>::close(self, now)
            }
        }
    };
}
machine!(Session<Token>);
machine!(sans_mcp_mio::Connection<Token, Recorded>);

/// What the client of tokio says about a call whose future is dropped.
const REASON: &str = "dropped by the caller";

pub(crate) struct Host {
    log: Log,
    commands: VecDeque<(Time, Command)>,
    tokens: Token,
    handles: Vec<Handle>,
    asked: VecDeque<PeerHandle>,
    waited: Option<(Option<Time>, Why)>,
}

/// The call that a command asks for.
pub(crate) fn call(
    token: Token,
    tool: usize,
    timeout: Option<Duration>,
    progress: bool,
    size: usize,
) -> Call {
    let filling = "a".repeat(size);
    let call = Call::new(
        ["t", "u", "none"].get(tool).copied().unwrap_or_default(),
        format!(r#"{{"{MARKER}":{token},"filling":"{filling}"}}"#),
    );
    let call = if timeout.is_some() { call.timeout(timeout) } else { call };
    if progress { call.progress().reset_on_progress() } else { call }
}

/// The script of a seed, in moments.
pub(crate) fn timed(seed: u64) -> VecDeque<(Time, Command)> {
    commands(seed).into_iter().map(|(after, command)| (Time::ZERO + after, command)).collect()
}

impl Host {
    pub(crate) fn new(seed: u64, log: Log) -> Host {
        Host {
            log,
            commands: timed(seed),
            tokens: 0,
            handles: Vec::new(),
            asked: VecDeque::new(),
            waited: None,
        }
    }

    /// When it gives its next command.
    pub(crate) fn next(&self) -> Option<Time> {
        self.commands.front().map(|(at, _)| *at)
    }

    pub(crate) fn output(&mut self, output: Output<'_, Token>) {
        let checked = self.log.invariants.borrow_mut().output(&output);
        self.log.check(checked);
        self.log.push(trace::line(&output));
        match output {
            Output::Request(request) => self.asked.push_back(request.handle),
            Output::RequestCancelled(number) => self.asked.retain(|handle| handle.number() != number),
            _ => {}
        }
    }

    /// Does what is to be done once nothing is left to pump: first it answers the server, then it gives the commands of
    /// this moment. False: there was nothing to be done.
    pub(crate) fn acts(&mut self, machine: &mut impl Machine) -> bool {
        let now = self.log.now();
        if !self.asked.is_empty() {
            for handle in self.asked.drain(..) {
                machine.respond(now, handle, PeerReply::Result(r#"{"roots":[]}"#));
            }
            return true;
        }
        let due = self.commands.partition_point(|(at, _)| *at <= now);
        for (_, command) in self.commands.drain(..due).collect::<Vec<_>>() {
            self.command(machine, command);
        }
        due > 0
    }

    fn command(&mut self, machine: &mut impl Machine, command: Command) {
        let now = self.log.now();
        self.tokens += 1;
        let token = self.tokens;
        let (accepted, asked) = match command {
            Command::Connect => (machine.connect(now, token), Asked::Waiting),
            Command::Call { tool, timeout, progress, size } => {
                (machine.call(now, call(token, tool, timeout, progress, size), token), Asked::Call)
            }
            Command::Request => (machine.request(now, Request::new("resources/list"), token), Asked::Request),
            Command::Ping => (machine.ping(now, token), Asked::Request),
            Command::List => (machine.list(now, token), Asked::Waiting),
            Command::Notify => return machine.notify(now, "notifications/vendor", r#"{"a":1}"#),
            Command::Cancel(place) => {
                let Some(handle) = self.handles.iter().rev().nth(place).copied() else { return };
                let was_open = machine.cancel(now, handle, REASON);
                let checked = self.log.invariants.borrow_mut().cancelled(handle, was_open);
                return self.log.check(checked);
            }
            Command::Shutdown(grace) => return machine.shutdown(now, grace),
            Command::Close => return machine.close(now),
        };
        let checked = match accepted {
            Ok(handle) => {
                self.log.push(format!("accepted {token} as {handle}"));
                self.handles.push(handle);
                self.log.invariants.borrow_mut().accepted(token, handle, asked, None)
            }
            Err(refused) => {
                self.log.push(format!("refused {token}: {refused}"));
                self.log.invariants.borrow_mut().refused(token, refused.value)
            }
        };
        self.log.check(checked);
    }

    /// Nothing is left to be done at this moment, and the driver waits.
    pub(crate) fn waits(&mut self, session: &Session<Token>, until: Option<Time>, why: Why) {
        let checked = self.log.invariants.borrow_mut().wait(until);
        self.log.check(checked);
        let checked = self.log.invariants.borrow_mut().settled(session);
        self.log.check(checked);
        if self.waited.replace((until, why)) != Some((until, why)) {
            self.log.push(format!("wait until {:?} for {why:?}", until.map(Time::as_micros)));
        }
    }

    /// It is over.
    pub(crate) fn ended(&self, session: &Session<Token>) {
        let checked = self.log.invariants.borrow_mut().settled(session);
        self.log.check(checked);
    }
}
