//! Results, lent or handed over.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::error::{Failure, FailureKind, Report};
use crate::tool::Tool;
use crate::wire::lines::LineBuffer;

/// What an operation that went well gives.
#[derive(Debug)]
pub enum Reply<'a> {
    /// Connected: read version, server and catalog from the session.
    Connected,
    /// Listed: read the catalog from the session.
    Listed,
    /// The server's result.
    Answer(Answer<'a>),
}

/// A result as raw JSON text, exactly as the server wrote it.
///
/// It is lent from the read buffer; [`Answer::take`] makes it the caller's own, without copying if it is large.
pub struct Answer<'a> {
    lent: Lent<'a>,
    check: Option<Box<ResultCheck>>,
}

pub(crate) enum Lent<'a> {
    Shared(&'a str),
    Line { lines: &'a mut LineBuffer, span: Range<usize> },
}

/// What is needed to check a result once nothing is locked any more.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct ResultCheck {
    pub(crate) tool: Arc<Tool>,
    pub(crate) report: Report,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(lent: Lent<'a>, check: Option<Box<ResultCheck>>) -> Answer<'a> {
        Answer { lent, check }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.lent {
            Lent::Shared(text) => text,
            Lent::Line { lines, span } => lines.text().get(span.clone()).unwrap_or_default(),
        }
    }

    /// Makes it the caller's own: copies a small one, hands the buffer of a large one over.
    pub fn take(self) -> Payload {
        let check = self.check;
        match self.lent {
            Lent::Shared(text) => Payload { range: 0..text.len(), buffer: text.to_owned(), check },
            Lent::Line { lines, span } => match lines.take_text() {
                Some(buffer) => Payload { buffer, range: span, check },
                None => {
                    let buffer = lines.text().get(span).unwrap_or_default().to_owned();
                    Payload { range: 0..buffer.len(), buffer, check }
                }
            },
        }
    }

    /// Checks the result against the tool's output schema, if that is asked for (row L25). It costs time in
    /// proportion to the result, so a driver does it after it has let go of every lock; see [`Payload::check`].
    ///
    /// # Errors
    /// [`FailureKind::InvalidResult`].
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.check.take() {
            Some(check) => check.run(self.as_str()),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("bytes", &self.as_str().len()).finish_non_exhaustive()
    }
}

impl ResultCheck {
    fn run(self, result: &str) -> Result<(), Failure> {
        self.tool.check_result(result).map_err(|problem| {
            Failure::new(Report { kind: FailureKind::InvalidResult(problem.into()), ..self.report })
        })
    }
}

/// A result that belongs to the caller: raw JSON text in a buffer that may be larger than it.
pub struct Payload {
    buffer: String,
    range: Range<usize>,
    check: Option<Box<ResultCheck>>,
}

impl Payload {
    /// Checks the result against the tool's output schema, if that is asked for (row L25).
    ///
    /// # Errors
    /// [`FailureKind::InvalidResult`].
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.check.take() {
            Some(check) => check.run(self),
            None => Ok(()),
        }
    }
}

impl Deref for Payload {
    type Target = str;

    fn deref(&self) -> &str {
        self.buffer.get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("bytes", &self.range.len()).finish_non_exhaustive()
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(ResultCheck { tool, report } leaves out {});
