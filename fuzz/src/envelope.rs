//! One line of output means what a naive reader takes it for (rows L07, L10, W05 to W08).
//!
//! The first byte sets how the session reads, the rest is the line. The naive reader builds whole values and knows the
//! rules as sentences; where a line cannot be held in values, or breaks off, only what holds for every line is checked.

mod naive;

use sans_mcp::error::{FailureKind, InvalidResponse};
use sans_mcp::{Counters, IdMatching, Server, Settings, Utf8};
use sans_mcp_tests::Token;
use serde_json::Value;

use crate::stage::Stage;
use naive::{Meaning, Number, Reading};

/// Operations that are open when the line comes: two calls of a tool and another request.
const OPEN: [Token; 3] = [1, 2, 3];

/// Runs the target.
pub fn run(data: &[u8]) {
    let (how, line) = data.split_first().unwrap_or((&0, &[]));
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let decimal = how & 1 != 0;
    let mut settings = Settings::default();
    settings.capabilities.roots = true;
    if decimal {
        settings.id_matching = IdMatching::Decimal;
    }
    if how & 2 != 0 {
        settings.utf8 = Utf8::Replace;
    }
    let text = match (std::str::from_utf8(line), how & 2) {
        (Err(_), 2) => Some(String::from_utf8_lossy(line).into_owned()),
        (text, _) => text.ok().map(str::to_owned),
    };
    let Some(mut stage) = Stage::connected(Server::new("line", "line").settings(settings), "2025-11-25")
    else {
        unreachable!("the settings of this target")
    };
    let mut expected = Expected {
        decimal,
        ids: vec![stage.call(1), stage.call(2), stage.request(3)],
        ..Expected::default()
    };
    stage.take_written();
    let before = stage.session.counters();
    stage.hear(line);
    stage.hear(b"\n");

    let reading = match text {
        Some(text) => naive::read(&text),
        // The title of a terminal, in whatever encoding, is no part of the message that follows it.
        None if line.iter().find(|byte| b"\x1b{".contains(byte)) == Some(&0x1b) => Reading::Unknown,
        None => Reading::Broken(Vec::new()),
    };
    match reading {
        Reading::Messages(meanings) => {
            meanings.into_iter().for_each(|meaning| expected.add(meaning));
            expected.check(&mut stage, &before);
        }
        Reading::Broken(meanings) => {
            meanings.into_iter().for_each(|meaning| expected.add(meaning));
            expected.check_broken(&stage, &before);
        }
        Reading::Unknown => {}
    }
    every_line(&stage);
}

/// What holds whatever the line was.
fn every_line(stage: &Stage) {
    let after = stage.session.counters();
    let open = OPEN.iter().filter(|token| !stage.outcomes.contains_key(token)).count();
    assert_eq!(after.pending, open, "what has not ended is pending");
    for sample in stage.session.noise_samples() {
        assert!(sample.len() <= 256 && !sample.contains(char::is_control), "{sample:?}");
    }
}

/// What a line must come to.
#[derive(Default)]
struct Expected {
    decimal: bool,
    ids: Vec<u64>,
    outcomes: Vec<(Token, Expectation)>,
    /// Answers that name no open request: late, second, unknown or nearly right ones.
    strangers: u64,
    uncorrelated: u64,
    malformed: u64,
    noise: u64,
    pings: Vec<Value>,
    refused: Vec<Value>,
    asked: usize,
    notifications: u64,
    /// Some request has an id that a value cannot hold exactly.
    odd_ids: bool,
}

#[derive(Debug)]
enum Expectation {
    Result(Value),
    Error(Value),
    Invalid(InvalidResponse),
}

impl Expected {
    fn add(&mut self, meaning: Meaning) {
        match meaning {
            Meaning::Noise => self.noise += 1,
            Meaning::Request { id: Some(Number::Odd), .. } => self.odd_ids = true,
            Meaning::Request { id: None, .. } => {}
            Meaning::Request { id: Some(Number::Plain(id)), method } => match method.as_str() {
                "ping" => self.pings.push(id),
                "roots/list" => self.asked += 1,
                _ => self.refused.push(id),
            },
            Meaning::Notification => self.notifications += 1,
            Meaning::Answer { id: None, error: Some(_), .. } => self.uncorrelated += 1,
            Meaning::Answer { id: None, error: None, .. } => self.strangers += 1,
            Meaning::Answer { id: Some(id), result, error, problem } => {
                let Some(place) = self.place(&id) else {
                    self.strangers += 1;
                    return;
                };
                let token = OPEN.get(place).copied().unwrap_or_default();
                if self.outcomes.iter().any(|(ended, _)| *ended == token) {
                    self.strangers += 1;
                    return;
                }
                let expectation = match (problem, result, error) {
                    (Some(problem), ..) => Expectation::Invalid(problem),
                    (None, Some(_), Some(_)) => Expectation::Invalid(InvalidResponse::Both),
                    (None, None, None) => Expectation::Invalid(InvalidResponse::Neither),
                    (None, None, Some(error)) => Expectation::Error(error),
                    (None, Some(result), None) if token < 3 && !result.is_object() => {
                        Expectation::Invalid(InvalidResponse::Shape)
                    }
                    (None, Some(result), None) => Expectation::Result(result),
                };
                let is_shape = matches!(expectation, Expectation::Invalid(InvalidResponse::Shape));
                if matches!(expectation, Expectation::Invalid(_)) && !is_shape {
                    self.malformed += 1;
                }
                self.outcomes.push((token, expectation));
            }
        }
    }

    /// Which of the open requests an id names.
    fn place(&self, id: &Value) -> Option<usize> {
        let number = match id {
            Value::Number(number) => number.as_u64()?,
            Value::String(text) if self.decimal => {
                text.parse().ok().filter(|id: &u64| id.to_string() == *text)?
            }
            _ => return None,
        };
        self.ids.iter().position(|id| *id == number)
    }

    fn check(&self, stage: &mut Stage, before: &Counters) {
        let after = stage.session.counters();
        let strangers = |of: &Counters| of.late + of.duplicate + of.stale + of.unknown + of.near_misses;
        assert_eq!(strangers(&after) - strangers(before), self.strangers, "answers that name nothing open");
        assert_eq!(after.uncorrelated - before.uncorrelated, self.uncorrelated, "errors that name nothing");
        assert_eq!(after.malformed - before.malformed, self.malformed, "malformed answers");
        assert_eq!(after.noise_lines - before.noise_lines, self.noise, "noise");
        let told = |of: &Counters| of.notifications + of.ignored_notifications + of.dropped_notifications;
        assert_eq!(told(&after) - told(before), self.notifications, "notifications");
        assert_eq!(
            stage.outcomes.len() - 1,
            self.outcomes.len(),
            "operations that ended: {:?}",
            self.outcomes
        );
        for (token, expectation) in &self.outcomes {
            check_outcome(stage, *token, expectation);
        }
        if !self.odd_ids {
            self.check_replies(stage, &after);
        }
    }

    fn check_replies(&self, stage: &mut Stage, after: &Counters) {
        assert_eq!(after.pings, self.pings.len() as u64, "pings");
        assert_eq!(stage.requests.len(), self.asked, "requests for the host");
        let (mut pongs, mut refusals) = (Vec::new(), Vec::new());
        for line in stage.take_written() {
            let reply: Value = serde_json::from_str(&line).unwrap_or_default();
            let id = reply.get("id").cloned().unwrap_or_default();
            match (reply.get("result"), reply.get("error")) {
                (Some(_), None) => pongs.push(id),
                (None, Some(error)) => {
                    assert_eq!(error.get("code"), Some(&Value::from(-32601)));
                    refusals.push(id);
                }
                // The tools are listed anew once the server says that they have changed.
                _ => assert_eq!(reply.get("method"), Some(&Value::from("tools/list")), "{line}"),
            }
        }
        assert_eq!((pongs, refusals), (self.pings.clone(), self.refused.clone()), "replies");
    }

    /// The rest of a line that cannot be read fails one call, or is noise.
    fn check_broken(&self, stage: &Stage, before: &Counters) {
        let after = stage.session.counters();
        let broken = |outcome: &&crate::stage::Outcome| {
            let kind = outcome.as_ref().err().map(|failure| failure.kind());
            matches!(
                kind,
                Some(FailureKind::InvalidResponse(InvalidResponse::Syntax | InvalidResponse::Utf8))
            )
        };
        let failed = stage.outcomes.values().filter(broken).count() as u64;
        assert_eq!(
            after.noise_lines - before.noise_lines + failed,
            self.noise + 1,
            "one call fails, or it is noise"
        );
        for (token, expectation) in &self.outcomes {
            check_outcome(stage, *token, expectation);
        }
    }
}

fn is_minus_zero(number: f64) -> bool {
    number == 0.0 && number.is_sign_negative()
}

fn check_outcome(stage: &Stage, token: Token, expectation: &Expectation) {
    let outcome = stage.outcomes.get(&token);
    match (expectation, outcome) {
        (Expectation::Result(value), Some(Ok(Some(text)))) => {
            assert_eq!(serde_json::from_str::<Value>(text).ok().as_ref(), Some(value));
        }
        (Expectation::Invalid(why), Some(Err(failure))) => {
            assert_eq!(failure.kind(), &FailureKind::InvalidResponse(*why));
        }
        (Expectation::Error(value), Some(Err(failure))) => {
            let Some(error) = failure.remote() else { unreachable!("no error of the server: {failure}") };
            let (code, message) = (value.get("code"), value.get("message").and_then(Value::as_str));
            match (code.and_then(Value::as_i64), message) {
                (Some(code), Some(message)) => {
                    assert_eq!((error.code, &*error.message), (code, message));
                    let data = error.data.as_deref().map(|data| serde_json::from_str::<Value>(data).ok());
                    assert_eq!(data.flatten().as_ref(), value.get("data"));
                }
                // A tree has -0, which is an integer, as a fraction, and -0.0, which is none, as the same.
                (None, Some(message)) if code.and_then(Value::as_f64).is_some_and(is_minus_zero) => {
                    assert!(
                        error.code == -32603 || (error.code, &*error.message) == (0, message),
                        "{error:?}"
                    );
                }
                _ => assert_eq!(error.code, -32603, "what is no error object"),
            }
        }
        _ => unreachable!("{expectation:?} was expected, it is {outcome:?}"),
    }
}
