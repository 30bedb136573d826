//! A script: every command completes once, events are JSON, and it is the same when it comes in pieces.
//!
//! A byte for how the script is cut, a count and as many bytes that say how the server answers one request after another;
//! the rest is the script.

use std::collections::BTreeMap;

use sans_mcp::script::{Answers, Operation, Script};
use sans_mcp::{Exit, Output, Server, Session, Settings, Time, Tree};
use sans_mcp_tests::random::{Chunking, Random};
use sans_mcp_tests::scripted;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::source::Source;

/// More turns than any script of a fuzzer needs.
const TURNS: usize = 100_000;

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut source = Source::new(data);
    let mut random = Random::new(u64::from(source.byte()));
    let count = usize::from(source.byte() % 32);
    let moods = source.take(count);
    let text = source.rest();
    let whole = Stage::new(moods).play([text]);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(Chunking::Pieces.size(&mut random, rest.len()));
        pieces.push(piece);
        rest = after;
    }
    assert_eq!(Stage::new(moods).play(pieces), whole, "in pieces, and at once");
    check_events(&whole, text);
}

/// Each command that has an answer completes once, and the last event is `closed`.
fn check_events(events: &[String], text: &[u8]) {
    let events: Vec<Value> = events
        .iter()
        .map(|event| {
            assert!(!event.contains(['\n', '\r']), "{event}");
            // A result is the server's own text, and this one writes nothing odd; params of a script are not repeated.
            serde_json::from_str(event).unwrap_or_else(|error| unreachable!("{error}: {event}"))
        })
        .collect();
    let named = |name: &'static str| {
        events.iter().filter(move |event| event.get("event") == Some(&Value::from(name)))
    };
    assert_eq!(named("closed").count(), 1);
    assert_eq!(events.last().and_then(|event| event.get("event")), Some(&Value::from("closed")));
    let bad: Vec<u64> =
        named("error").filter_map(|event| event.get("line").and_then(Value::as_u64)).collect();
    let mut answered = 0;
    let mut unread = 0;
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if bad.contains(&number) || line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let members = serde_json::from_slice::<BTreeMap<String, &RawValue>>(line).ok();
        let op = members
            .as_ref()
            .and_then(|members| serde_json::from_str::<String>(members.get("op")?.get()).ok());
        match op.as_deref() {
            Some("call" | "request" | "ping" | "list") => answered += 1,
            Some("notify" | "cancel" | "wait" | "sleep" | "counters" | "shutdown" | "close") => {}
            _ => unread += 1,
        }
    }
    assert_eq!(unread, 0, "lines that are no commands, and no event says so");
    assert_eq!(named("completed").count(), answered, "{events:?}");
}

struct Stage<'a> {
    session: Session<Operation>,
    script: Script,
    now: Time,
    moods: std::slice::Iter<'a, u8>,
    /// What the server says next.
    said: Vec<u8>,
    events: Vec<String>,
}

impl<'a> Stage<'a> {
    fn new(moods: &'a [u8]) -> Stage<'a> {
        let mut answers = Answers::default();
        assert!(answers.set("roots/list", r#"{"roots":[]}"#).is_ok());
        let mut settings = Settings::default();
        settings.capabilities = answers.capabilities();
        let session = Session::new(Server::new("script", "server").settings(settings));
        Stage {
            session: session.unwrap_or_else(|error| unreachable!("the settings of this target: {error}")),
            script: Script::new(answers),
            now: Time::ZERO,
            moods: moods.iter(),
            said: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Connects, hands the script in, and runs it to its end.
    fn play<'b>(mut self, pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<String> {
        self.advance();
        for _ in 0..TURNS {
            let before = self.events.len();
            self.turn();
            if self.events.len() > before {
                break;
            }
        }
        for piece in pieces {
            self.script.handle_input(piece);
            self.script.advance(&mut self.session, self.now);
        }
        self.script.handle_end();
        for _ in 0..TURNS {
            self.advance();
            if self.script.is_over() {
                return self.events;
            }
            self.turn();
        }
        unreachable!("the script never ends: {:?}", self.events.iter().rev().take(5).collect::<Vec<_>>());
    }

    fn advance(&mut self) {
        loop {
            self.script.advance(&mut self.session, self.now);
            let before = self.events.len();
            while let Some(event) = self.script.poll_event() {
                self.events.push(event);
            }
            if self.events.len() == before {
                return;
            }
        }
    }

    /// One output, and what comes of it.
    fn turn(&mut self) {
        let (session, now) = (&mut self.session, self.now);
        match session.poll_output() {
            Output::Spawn => session.handle_spawned(now, 1),
            Output::Write(bytes) => {
                let bytes = bytes.to_vec();
                session.handle_written(now, bytes.len());
                self.answer(&bytes);
            }
            Output::CloseStdin => {
                session.handle_stdin_closed(now);
                session.handle_eof(now);
                session.handle_exit(now, Exit::Code(0));
            }
            Output::Reap => session.handle_reaped(now, Exit::Code(0)),
            Output::ProbeTree => session.handle_tree(now, Tree::Gone),
            Output::Wait { until, .. } => self.wait(until),
            output => self.script.handle_output(output),
        }
        self.advance();
    }

    /// The server speaks, or time passes.
    fn wait(&mut self, until: Option<Time>) {
        let said = std::mem::take(&mut self.said);
        if !said.is_empty() {
            let taken = self.session.handle_stdout(self.now, &said);
            self.said = said.get(taken..).unwrap_or_default().to_vec();
            return;
        }
        match until.into_iter().chain(self.script.next_timeout()).min() {
            Some(next) => {
                self.now = self.now.max(next);
                self.session.handle_timeout(self.now);
            }
            // Nothing will ever happen by itself: a call may wait for ever if it is told to.
            None => {
                self.session.handle_eof(self.now);
                self.session.handle_exit(self.now, Exit::Code(3));
            }
        }
    }

    fn answer(&mut self, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            let message: Value = serde_json::from_slice(line).unwrap_or_default();
            let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str))
            else {
                continue;
            };
            let token = message.pointer("/params/_meta/progressToken").unwrap_or(&Value::Null);
            let result = match method {
                "initialize" => {
                    scripted::initialize("2025-11-25", r#"{"tools":{},"resources":{},"logging":{}}"#)
                }
                "tools/list" => scripted::list(&["t", "u"]),
                _ => r#"{"content":[]}"#.to_owned(),
            };
            let good = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            let is_handshake = matches!(method, "initialize" | "tools/list");
            let mood = if is_handshake { 0 } else { self.moods.next().copied().unwrap_or(0) };
            let said = match mood % 8 {
                0 => good,
                1 => continue,
                2 => format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no\n","data":[1]}}}}"#
                ),
                3 => format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},\"progress\":1}}}}\n{good}"
                ),
                4 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n{good}"),
                5 => format!(
                    "noise\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\r\"data\":1}}}}\n{good}"
                ),
                6 => format!("{good}\n{good}"),
                _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],{}"n" : 1}}}}"#, '\r'),
            };
            self.said.extend_from_slice(said.as_bytes());
            self.said.push(b'\n');
        }
    }
}
