//! A session in memory at one moment: a driver that moves everything at once, and what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use sans_mcp::error::Failure;
use sans_mcp::{
    Answer, Call, Exit, Output, PeerHandle, Reply, Request, Server, Session, Signalled, State, Time, Tree,
};
use sans_mcp_tests::{Token, scripted, trace};
use serde_json::Value;

/// More polls than any input of a fuzzer needs.
const POLLS: usize = 1_000_000;

/// What became of an operation: the raw result, if it has one.
pub(crate) type Outcome = Result<Option<String>, Failure>;

pub(crate) struct Stage {
    pub(crate) session: Session<Token>,
    pub(crate) now: Time,
    /// What the host was told, as text.
    pub(crate) told: Vec<String>,
    pub(crate) outcomes: BTreeMap<Token, Outcome>,
    pub(crate) requests: Vec<PeerHandle>,
    /// Standard error output that the host was given.
    pub(crate) stderr: Vec<u8>,
    written: Vec<u8>,
    until: Option<Time>,
}

/// What a driver does about an output, once its borrow is over.
enum Reaction {
    Nothing,
    Spawn,
    Wrote(usize),
    CloseInput,
    Kill,
    Reap,
    Probe,
    Rest,
}

impl Stage {
    /// A session of `server`, to which nothing has happened; nothing if it cannot be one.
    pub(crate) fn new(server: Server) -> Option<Stage> {
        Some(Stage {
            session: Session::new(server).ok()?,
            now: Time::ZERO,
            told: Vec::new(),
            outcomes: BTreeMap::new(),
            requests: Vec::new(),
            stderr: Vec::new(),
            written: Vec::new(),
            until: None,
        })
    }

    /// One that is connected, and has the tools `t` and `u`.
    pub(crate) fn connected(server: Server, version: &str) -> Option<Stage> {
        let mut stage = Stage::new(server)?;
        stage.connect(version);
        stage.answer("tools/list", &scripted::list(&["t", "u"]));
        Some(stage)
    }

    /// Connects, up to the list of tools.
    pub(crate) fn connect(&mut self, version: &str) {
        let capabilities =
            r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}}"#;
        assert!(self.session.connect(self.now, 0).is_ok());
        self.settle();
        self.answer("initialize", &scripted::initialize(version, capabilities));
    }

    /// Answers the newest request, which is of `method`.
    pub(crate) fn answer(&mut self, method: &str, result: &str) {
        let request = self.take_written().pop().unwrap_or_default();
        let request: Value = serde_json::from_str(&request).unwrap_or_default();
        assert_eq!(request.get("method").and_then(Value::as_str), Some(method));
        let id = request.get("id").unwrap_or(&Value::Null);
        self.hear(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").as_bytes());
    }

    /// Calls the tool `t` and gives the id of the request.
    pub(crate) fn call(&mut self, token: Token) -> u64 {
        let accepted = self.session.call(self.now, Call::without_arguments("t"), token);
        self.settle();
        accepted.map_or(0, |handle| handle.number())
    }

    /// Sends another request and gives its id.
    pub(crate) fn request(&mut self, token: Token) -> u64 {
        let accepted = self.session.request(self.now, Request::new("resources/list"), token);
        self.settle();
        accepted.map_or(0, |handle| handle.number())
    }

    /// The server writes this.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        let mut stuck = false;
        while !rest.is_empty() && !stuck {
            let taken = self.session.handle_stdout(self.now, rest);
            rest = rest.get(taken..).unwrap_or_default();
            self.settle();
            stuck = taken == 0;
        }
        assert!(rest.is_empty() || self.session.state() == State::Closed, "the session does not read");
    }

    /// Polls until there is nothing to do at this moment.
    pub(crate) fn settle(&mut self) {
        for _ in 0..POLLS {
            let output = self.session.poll_output();
            let for_host = !matches!(
                output,
                Output::Write(_)
                    | Output::Wait { .. }
                    | Output::Spawn
                    | Output::CloseStdin
                    | Output::Signal(_)
                    | Output::Reap
                    | Output::ProbeTree
            );
            if for_host && self.told.last().is_none_or(|last| !last.starts_with("closed")) {
                self.told.push(trace::line(&output));
            }
            let reaction = match output {
                Output::Spawn => Reaction::Spawn,
                Output::Write(bytes) => {
                    self.written.extend_from_slice(bytes);
                    Reaction::Wrote(bytes.len())
                }
                Output::CloseStdin => Reaction::CloseInput,
                Output::Signal(_) => Reaction::Kill,
                Output::Reap => Reaction::Reap,
                Output::ProbeTree => Reaction::Probe,
                Output::Wait { until, .. } => {
                    self.until = until;
                    Reaction::Rest
                }
                Output::Closed(_) => Reaction::Rest,
                Output::Complete(completion) => {
                    let outcome = completion.outcome.map(|reply| match reply {
                        Reply::Answer(answer) => Some(Answer::as_str(&answer).to_owned()),
                        Reply::Connected | Reply::Listed => None,
                    });
                    let before = self.outcomes.insert(completion.token, outcome);
                    assert!(before.is_none(), "token {} came back twice", completion.token);
                    Reaction::Nothing
                }
                Output::Request(request) => {
                    self.requests.push(request.handle);
                    Reaction::Nothing
                }
                Output::Stderr(bytes) => {
                    self.stderr.extend_from_slice(bytes);
                    Reaction::Nothing
                }
                _ => Reaction::Nothing,
            };
            if !self.react(reaction) {
                return;
            }
        }
        unreachable!("the session never comes to rest: {:?}", self.session);
    }

    /// Whether there is more to do.
    fn react(&mut self, reaction: Reaction) -> bool {
        let (session, now) = (&mut self.session, self.now);
        match reaction {
            Reaction::Nothing => {}
            Reaction::Rest => return false,
            Reaction::Spawn => session.handle_spawned(now, 1),
            Reaction::Wrote(count) => session.handle_written(now, count),
            Reaction::CloseInput => session.handle_stdin_closed(now),
            Reaction::Kill => {
                session.handle_signalled(now, Signalled::Delivered);
                session.handle_eof(now);
                session.handle_exit(now, Exit::Signal(15));
            }
            Reaction::Reap => session.handle_reaped(now, Exit::Signal(15)),
            Reaction::Probe => session.handle_tree(now, Tree::Gone),
        }
        true
    }

    /// Lets time pass until the session is over.
    pub(crate) fn finish(&mut self) {
        self.settle();
        for _ in 0..POLLS {
            if self.session.state() == State::Closed {
                return;
            }
            self.now = self.until.unwrap_or(self.now + Duration::from_secs(1));
            self.session.handle_timeout(self.now);
            self.settle();
        }
        unreachable!("the session never ends: {:?}", self.session);
    }

    /// Lines that were written since the last look.
    pub(crate) fn take_written(&mut self) -> Vec<String> {
        let written = std::mem::take(&mut self.written);
        assert!(written.is_empty() || written.ends_with(b"\n"), "a line is not whole");
        let text = String::from_utf8(written).unwrap_or_else(|error| unreachable!("not UTF-8: {error}"));
        text.lines().map(str::to_owned).collect()
    }
}
