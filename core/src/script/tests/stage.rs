//! A bare session with a script, and the server's side of it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::*;

/// A session with a script, and the server's side of it played by the test.
pub(super) struct Stage {
    pub(super) session: Session<Operation>,
    pub(super) script: Script,
    pub(super) now: Time,
    /// Messages of the client that the test has not looked at.
    pub(super) sent: VecDeque<Value>,
    pub(super) events: Vec<Value>,
}

impl Stage {
    pub(super) fn new(script: &str) -> Stage {
        Stage::with(script, Settings::default(), Answers::default())
    }

    pub(super) fn with(script: &str, mut settings: Settings, answers: Answers) -> Stage {
        settings.capabilities = answers.capabilities();
        let mut stage = Stage {
            session: Session::new(Server::new("stage", "server").settings(settings)).unwrap(),
            script: Script::new(answers),
            now: Time::ZERO,
            sent: VecDeque::new(),
            events: Vec::new(),
        };
        stage.script.handle_input(script.as_bytes());
        stage
    }

    /// A stage whose server has shaken hands and listed `echo`, which has an output schema.
    pub(super) fn connected(script: &str) -> Stage {
        let mut stage = Stage::new(script);
        stage.shake_hands();
        stage
    }

    pub(super) fn shake_hands(&mut self) {
        self.run();
        let id = self.request("initialize")["id"].clone();
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "serverInfo": {"name": "stage", "version": "1", "title": "A stage"}, "instructions": "be kind"}}));
        assert_eq!(self.request("notifications/initialized")["id"], Value::Null);
        let id = self.request("tools/list")["id"].clone();
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [
            {"name": "echo", "inputSchema": {"type": "object"},
             "outputSchema": {"type": "object", "required": ["n"]}},
            {"name": "plain", "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}}}]}}));
    }

    /// Runs both sides until nothing changes at this moment.
    pub(super) fn run(&mut self) {
        for _ in 0..10_000 {
            self.interpret();
            self.session.handle_timeout(self.now);
            let mut written = None;
            match self.session.poll_output() {
                Output::Spawn => self.session.handle_spawned(self.now, 1),
                Output::Write(bytes) => written = Some(bytes.to_vec()),
                Output::CloseStdin => {
                    self.session.handle_stdin_closed(self.now);
                    self.session.handle_eof(self.now);
                    self.session.handle_exit(self.now, Exit::Code(0));
                }
                Output::Reap => self.session.handle_reaped(self.now, Exit::Code(0)),
                Output::ProbeTree => self.session.handle_tree(self.now, Tree::Gone),
                Output::Wait { .. } => return,
                output @ Output::Closed(_) => {
                    let was_over = self.script.is_over();
                    self.script.handle_output(output);
                    if was_over {
                        return;
                    }
                }
                output => self.script.handle_output(output),
            }
            if let Some(bytes) = written {
                self.session.handle_written(self.now, bytes.len());
                let lines = bytes.split_inclusive(|byte| *byte == b'\n');
                self.sent.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
            }
        }
        panic!("it does not come to rest: {:?}", self.events);
    }

    pub(super) fn interpret(&mut self) {
        loop {
            self.script.advance(&mut self.session, self.now);
            let before = self.events.len();
            while let Some(event) = self.script.poll_event() {
                assert!(!event.contains(['\n', '\r']), "{event}");
                self.events.push(serde_json::from_str(&event).unwrap());
            }
            if self.events.len() == before {
                return;
            }
        }
    }

    /// The oldest message that the client sent, which must be of this method.
    pub(super) fn request(&mut self, method: &str) -> Value {
        let message =
            self.sent.pop_front().unwrap_or_else(|| panic!("{method} was not sent: {:?}", self.events));
        assert_eq!(message["method"], method, "{message}");
        message
    }

    pub(super) fn say(&mut self, message: Value) {
        self.say_raw(&message.to_string());
    }

    pub(super) fn say_raw(&mut self, line: &str) {
        let line = format!("{line}\n");
        assert_eq!(self.session.handle_stdout(self.now, line.as_bytes()), line.len());
        self.run();
    }

    pub(super) fn feed(&mut self, script: &str) {
        self.script.handle_input(script.as_bytes());
        self.run();
    }

    pub(super) fn wait(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
        self.run();
    }

    /// The events since the last look.
    pub(super) fn events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn only_event(&mut self) -> Value {
        let events = self.events();
        assert_eq!(events.len(), 1, "{events:?}");
        events[0].clone()
    }
}
