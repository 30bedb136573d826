//! The least that is done with what a server writes.

use std::borrow::Cow;
use std::hint::black_box;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Outcome;

/// What was read and is not a whole line yet.
pub(crate) struct Lines {
    buffer: Vec<u8>,
    filled: usize,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Option<Vec<Content<'a>>>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    // In an `Option` it would be a copy.
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

impl Lines {
    pub(crate) fn new() -> Lines {
        Lines { buffer: vec![0; 256 << 10], filled: 0 }
    }

    /// Room to read to; more if a line filled it.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// Reads the lines that became whole by `count` bytes more, and says how many those are.
    pub(crate) fn filled(&mut self, count: usize) -> Outcome<usize> {
        let searched = self.filled;
        self.filled += count;
        let read = self.buffer.get(..self.filled).unwrap_or_default();
        let (mut start, mut lines) = (0, 0);
        for end in memchr::memchr_iter(b'\n', read.get(searched..).unwrap_or_default()) {
            let end = searched + end;
            understand(read.get(start..end).unwrap_or_default())?;
            start = end + 1;
            lines += 1;
        }
        self.buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(lines)
    }
}

/// Reads the envelope, and the text of a result that has one.
fn understand(line: &[u8]) -> Outcome {
    let envelope: Envelope<'_> = serde_json::from_slice(line)?;
    let id = envelope.id.ok_or("no id")?.get().parse::<u64>()?;
    black_box((id, envelope.method, envelope.error));
    let result: CallResult<'_> = serde_json::from_str(envelope.result.ok_or("no result")?.get())?;
    black_box(result.is_error);
    for content in result.content.iter().flatten() {
        black_box((&content.r#type, &content.text));
    }
    Ok(())
}
