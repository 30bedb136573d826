//! What the server answered, read from the bytes that the session took.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sans_mcp::error::{Failure, FailureKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::operations::Operation;
use super::{Checked, Rule, ensure};
use crate::trace::checksum;

/// Longest line that is looked at; what is longer is over every line limit that tests set.
const LONGEST: usize = 32 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    line: Vec<u8>,
    results: BTreeMap<u64, Vec<(usize, u64)>>,
    errors: BTreeMap<u64, Vec<Option<i64>>>,
    /// Lines that this plain reader cannot read, and the session perhaps can.
    odd: Vec<String>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// What an error object must have to be one; what else is in it does not matter here.
#[derive(Deserialize)]
struct Error<'a> {
    code: i64,
    #[serde(borrow)]
    message: &'a RawValue,
}

impl Answers {
    pub(super) fn received(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < LONGEST {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.ended();
            }
        }
    }

    pub(super) fn ended(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_batch = line.trim_ascii_start().starts_with(b"[");
        // What stands before the message is the session's to judge.
        let start = line.iter().position(|byte| *byte == if is_batch { b'[' } else { b'{' });
        let Some(start) = start else { return };
        let text = String::from_utf8_lossy(line.get(start..).unwrap_or_default());
        if is_batch {
            match serde_json::from_str::<Vec<&RawValue>>(&text) {
                Ok(batch) => batch.iter().for_each(|element| self.read(element.get())),
                Err(_) => self.odd.push(text.into_owned()),
            }
        } else {
            self.read(&text);
        }
    }

    /// Reads messages that stand one after another.
    fn read(&mut self, text: &str) {
        let messages = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        for message in messages {
            let Ok(message) = message else {
                // A message may begin in what this reader cannot read, such as an escape sequence.
                self.odd.push(text.to_owned());
                return;
            };
            match serde_json::from_str::<Answer<'_>>(message.get()) {
                Ok(answer) => self.note(&answer),
                Err(_) => self.odd.push(message.get().to_owned()),
            }
        }
    }

    fn note(&mut self, answer: &Answer<'_>) {
        let id = answer.id.map(|id| id.get().trim_matches('"')).and_then(|id| id.parse().ok());
        let Some(id) = id else { return };
        // A null result is no member for serde, and a result for the session.
        let result = answer.result.map_or("null", RawValue::get);
        self.results.entry(id).or_default().push((result.len(), checksum(result.as_bytes())));
        if let Some(error) = answer.error {
            let error = serde_json::from_str::<Error<'_>>(error.get()).ok();
            let code = error.filter(|error| error.message.get().starts_with('"')).map(|error| error.code);
            self.errors.entry(id).or_default().push(code);
        }
    }

    pub(super) fn digest(&self, awaited: &BTreeSet<u64>, into: &mut String) {
        let Answers { line, results, errors, odd } = self;
        let _ = write!(into, "{line:?} {odd:?} ");
        for id in awaited {
            let _ = write!(into, "{id} {:?} {:?}, ", results.get(id), errors.get(id));
        }
    }

    pub(super) fn has_result(&self, id: u64, result: &str) -> bool {
        let wanted = (result.len(), checksum(result.as_bytes()));
        self.results.get(&id).is_some_and(|results| results.contains(&wanted))
            || self.odd.iter().any(|line| line.contains(&id.to_string()) && line.contains(result))
    }

    /// A call that failed by the server's error failed by its own.
    pub(super) fn check_error(&self, ended: &Operation, failure: &Failure) -> Checked {
        let (FailureKind::Remote(error), Some(id)) = (failure.kind(), ended.wire) else { return Ok(()) };
        let sent = self
            .errors
            .get(&id)
            .is_some_and(|codes| codes.contains(&Some(error.code)) || codes.contains(&None));
        ensure(sent || !self.odd.is_empty(), Rule::OwnAnswer, || {
            format!("{} got error {}", ended.handle, error.code)
        })
    }
}
