//! The session of a history beside its specification: what the one does is what the other says.

use std::time::Duration;

use sans_mcp::{Output, Refused, Reply, Time};
use serde_json::Value;

use crate::Token;
use crate::history::World;
use crate::invariants::{Checked, Rule, Violation};
use crate::model::{Model, Verdict};

/// The specification, and what came out of the session since the two were compared.
#[derive(Clone)]
pub(in crate::history) struct Twin {
    pub(super) model: Model,
    told: Vec<String>,
}

fn differs<V>(what: &str, is: impl std::fmt::Debug, should: impl std::fmt::Debug) -> Result<V, Violation> {
    Err(Violation { rule: Rule::Model, seen: format!("{what}: {is:?}, it should be {should:?}") })
}

impl World {
    /// Compares the session with the model as well.
    pub(crate) fn with_model(mut self) -> World {
        let model = Model::new(self.session.server(), self.setup.batches);
        self.twin = Some(Twin { model, told: Vec::new() });
        self
    }

    /// Tells the model a fact.
    pub(super) fn fact(&mut self, fact: impl FnOnce(&mut Model)) {
        if let Some(twin) = &mut self.twin {
            fact(&mut twin.model);
        }
    }

    /// A command that takes a token was answered so; what the model says.
    pub(super) fn verdict(
        &mut self,
        answered: &Result<sans_mcp::Handle, Refused<Token>>,
        command: impl FnOnce(&mut Model) -> Verdict,
    ) -> Checked {
        let Some(twin) = &mut self.twin else { return Ok(()) };
        let should = command(&mut twin.model);
        let is = match answered {
            Ok(handle) => Ok(handle.number()),
            Err(refused) => Err(refused.refusal.code().as_str()),
        };
        if is == should { Ok(()) } else { differs("a command", is, should) }
    }

    /// The same for any other answer.
    pub(super) fn answer<A: PartialEq + std::fmt::Debug>(
        &mut self,
        is: &A,
        command: impl FnOnce(&mut Model) -> A,
    ) -> Checked {
        let Some(twin) = &mut self.twin else { return Ok(()) };
        let should = command(&mut twin.model);
        if *is == should { Ok(()) } else { differs("a command", is, should) }
    }
}

impl Twin {
    /// Something came out.
    pub(super) fn output(&mut self, output: &Output<'_, Token>) -> Checked {
        let told = match output {
            Output::Complete(done) => {
                let (token, handle) = (done.token, done.handle);
                match &done.outcome {
                    Ok(Reply::Connected) => format!("{token} {handle}: connected"),
                    Ok(Reply::Listed) => format!("{token} {handle}: listed"),
                    Ok(Reply::Answer(answer)) => {
                        let value: Value = serde_json::from_str(answer.as_str()).unwrap_or_default();
                        format!("{token} {handle}: answer {value}")
                    }
                    Err(failure) => {
                        format!("{token} {handle}: {} {}", failure.code(), failure.delivery().as_str())
                    }
                }
            }
            Output::Request(request) => format!("request {}", request.handle.number()),
            Output::RequestCancelled(number) => format!("unasked {number}"),
            Output::Progress(progress) => format!("progress {}", progress.token),
            Output::Notification(notification) => format!("notification {}", notification.method),
            Output::State(state) => format!("state {state:?}"),
            Output::Spawn => "spawn".to_owned(),
            Output::CloseStdin => "close input".to_owned(),
            Output::Signal(signal) => format!("signal {signal:?}"),
            Output::Reap => "reap".to_owned(),
            Output::ProbeTree => "probe".to_owned(),
            Output::Closed(_) => "closed".to_owned(),
            Output::Write(bytes) => {
                let labels: Vec<String> = lines(bytes).map(label).collect();
                return match self.model.offered(&labels) {
                    Ok(()) => Ok(()),
                    Err(should) => differs("lines", labels, should),
                };
            }
            Output::Stderr(_) | Output::Diagnostic(_) | Output::Wait { .. } => return Ok(()),
        };
        self.told.push(told);
        Ok(())
    }

    /// So much of what was offered left.
    pub(super) fn written(&mut self, offer: &[u8], count: usize) {
        let mut left = count;
        let mut whole = 0;
        for line in lines(offer) {
            if line.len() > left {
                break;
            }
            left -= line.len();
            whole += 1;
        }
        if count > 0 {
            self.model.written(whole, left > 0);
        } else {
            self.model.full(true);
        }
    }

    /// Nothing is left to be polled.
    pub(super) fn compare(&mut self, now: Time, until: Option<Time>) -> Checked {
        if self.model.has_lines() {
            return differs("lines that wait", true, false);
        }
        let mut told = std::mem::take(&mut self.told);
        told.sort();
        let should = self.model.take_told();
        if told != should {
            return differs("what was told", told, should);
        }
        let wanted = self.model.wait().map(|until| until.max(now + Duration::from_micros(1)));
        if until == wanted { Ok(()) } else { differs("the wait", until, wanted) }
    }

    /// The end is there, and stays.
    pub(super) fn compare_end(&mut self) -> Checked {
        self.told.sort();
        self.told.dedup();
        let told = std::mem::take(&mut self.told);
        let mut should = self.model.take_told();
        if told == ["closed"] && should.is_empty() {
            return Ok(());
        }
        should.dedup();
        if told == should { Ok(()) } else { differs("what was told at the end", told, should) }
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn label(line: &[u8]) -> String {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return String::new() };
    let part = |name: &str| message.get(name);
    match (part("method").and_then(Value::as_str), part("id")) {
        (Some("notifications/cancelled"), _) => {
            let id = part("params").and_then(|params| params.get("requestId"));
            format!("notifications/cancelled {}", id.unwrap_or(&Value::Null))
        }
        (Some(method), Some(id)) => format!("{method} {id}"),
        (Some(method), None) => method.to_owned(),
        (None, id) => {
            let outcome = if part("error").is_some() { "error" } else { "result" };
            format!("{outcome} for {}", id.unwrap_or(&Value::Null))
        }
    }
}
