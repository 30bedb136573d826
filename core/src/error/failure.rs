//! Calls that were accepted and ended without a result.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Cause, Code, RemoteError};
use crate::process::Exit;
use crate::protocol::Version;
use crate::sample::escaped;
use crate::stderr::Tail;
use crate::tool::Tool;

/// How far a call got on its way to the server (row L16). Nothing is ever replayed by itself: the caller decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// No byte left: it was certainly not executed.
    NotSent,
    /// A part of it left; the server cannot have read it whole when this was said.
    Partial,
    /// All of it left: the server may have executed it.
    Sent,
}

impl Delivery {
    /// The name used in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Delivery::NotSent => "not sent",
            Delivery::Partial => "partly sent",
            Delivery::Sent => "sent",
        }
    }
}

/// Why one call ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailureKind {
    /// Its deadline passed.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The caller cancelled; the reason is bounded.
    #[error("cancelled: {0}")]
    Cancelled(Box<str>),
    /// The server answered with an error.
    #[error("{0}")]
    Remote(RemoteError),
    /// The answer that names the call is no valid response.
    #[error("invalid response: {0}")]
    InvalidResponse(InvalidResponse),
    /// The answer is over its limit.
    #[error("the answer is over the limit of {limit} bytes: ask for less, or raise the limit")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The structured result does not fit the tool's output schema; bounded.
    #[error("the result does not fit the tool's output schema: {0}")]
    InvalidResult(Box<str>),
    /// The tool was not in the list that was fetched to find it.
    #[error("the server has no tool of this name")]
    UnknownTool,
    /// The arguments do not fit the schema of the tool that was found.
    #[error("arguments do not fit the tool's input schema: {0}")]
    InvalidArguments(Box<str>),
    /// A walk over a list did not come to its end.
    #[error("listing failed: {0}")]
    Walk(WalkFault),
    /// The server closed its input before the call could be written.
    #[error("the server closed its input")]
    StdinClosed,
    /// The session ended.
    #[error("{0}")]
    Ended(Cause),
}

impl FailureKind {
    /// The stable name.
    pub const fn code(&self) -> Code {
        match self {
            FailureKind::Timeout(_) => Code::TIMEOUT,
            FailureKind::Cancelled(_) => Code::ABORTED,
            FailureKind::Remote(_) => Code::ERROR,
            FailureKind::InvalidResponse(_) => Code::INVALID_RESPONSE,
            FailureKind::TooLarge { .. } => Code::TOO_LARGE,
            FailureKind::InvalidResult(_) => Code::INVALID_RESULT,
            FailureKind::UnknownTool => Code::UNKNOWN_TOOL,
            FailureKind::InvalidArguments(_) => Code::INVALID_ARGUMENTS,
            FailureKind::Walk(_) => Code::LIST_FAILED,
            FailureKind::StdinClosed => Code::STDIN_CLOSED,
            FailureKind::Ended(cause) => cause.code(),
        }
    }
}

/// What makes a line that names a call no valid response to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidResponse {
    /// The line is not UTF-8.
    #[error("not UTF-8")]
    Utf8,
    /// The line is not JSON.
    #[error("not JSON")]
    Syntax,
    /// `jsonrpc` is missing or not "2.0".
    #[error("`jsonrpc` is not \"2.0\"")]
    Version,
    /// Both a result and an error.
    #[error("both a result and an error")]
    Both,
    /// Neither a result nor an error.
    #[error("neither a result nor an error")]
    Neither,
    /// A member is there twice.
    #[error("a member is there twice")]
    Repeated,
    /// The result has not the shape that the method asks for.
    #[error("the result has the wrong shape")]
    Shape,
}

/// Why a walk over a list ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkFault {
    /// A cursor came again after this many pages.
    #[error("page {0} repeats an earlier cursor")]
    RepeatedCursor(usize),
    /// The list has more pages than allowed.
    #[error("more than {0} pages")]
    TooManyPages(usize),
    /// The deadline over all pages passed.
    #[error("not all pages came within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// A page has no list of tools.
    #[error("page {0} has no list")]
    NoList(usize),
}

/// Something seen on the wire that may explain a timeout, or a server that left before the handshake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Hint {
    /// An answer whose id is the right number in the wrong form.
    #[error("an answer came with id {0}, which is not the id that was sent")]
    NearMiss(Box<str>),
    /// An error that names no call.
    #[error("an error that names no call came: {0}")]
    Uncorrelated(RemoteError),
    /// Lines that look like one message broken over several lines.
    #[error("{0} lines looked like multi-line JSON: a message must be on one line")]
    MultiLineJson(usize),
    /// It left before the handshake; with the first line of its output, if it wrote one.
    #[error("{}is it an MCP server on stdin and stdout, and do its arguments select that?", wrote(.0.as_deref()))]
    NotAServer(Option<Box<str>>),
}

fn wrote(line: Option<&str>) -> String {
    line.map_or_else(String::new, |line| format!("it wrote `{line}`, which is no message: "))
}

/// The longest name that is quoted, in bytes.
const NAME: usize = 256;

/// How much standard error output a one-line message quotes, in bytes.
const EXCERPT: usize = 512;

/// What was known when a call failed, shared by all calls that fail at one moment (row L29).
#[derive(Debug)]
pub(crate) struct Circumstances {
    pub(crate) server: Arc<str>,
    pub(crate) instance: u64,
    pub(crate) version: Option<Version>,
    pub(crate) phase: &'static str,
    pub(crate) exit: Option<Exit>,
    pub(crate) stderr: Arc<Tail>,
}

#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Report {
    pub(crate) kind: FailureKind,
    pub(crate) delivery: Delivery,
    pub(crate) method: std::borrow::Cow<'static, str>,
    /// The tool that was called, if it was in the catalog.
    pub(crate) tool: Option<Arc<Tool>>,
    pub(crate) id: u64,
    pub(crate) elapsed: Duration,
    pub(crate) hints: Vec<Hint>,
    pub(crate) circumstances: Arc<Circumstances>,
}

/// One accepted call that ended without a result: why, how far it got, and what was known at that moment.
///
/// Parameters and results are never part of it.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub struct Failure(Box<Report>);

impl Failure {
    pub(crate) fn new(report: Report) -> Failure {
        Failure(Box::new(report))
    }

    /// Why it failed.
    pub fn kind(&self) -> &FailureKind {
        &self.0.kind
    }

    /// The stable name.
    pub fn code(&self) -> Code {
        self.0.kind.code()
    }

    /// How far the call got.
    pub fn delivery(&self) -> Delivery {
        self.0.delivery
    }

    /// The server's error, if that is why.
    pub fn remote(&self) -> Option<&RemoteError> {
        match &self.0.kind {
            FailureKind::Remote(error)
            | FailureKind::Ended(Cause::Handshake(super::HandshakeFault::Refused(error))) => Some(error),
            _ => None,
        }
    }

    /// Name of the server.
    pub fn server(&self) -> &str {
        &self.0.circumstances.server
    }

    /// Method of the request.
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// Name of the tool, if a tool of the catalog was called.
    pub fn tool(&self) -> Option<&str> {
        self.0.tool.as_deref().map(Tool::name)
    }

    /// The number under which the call was accepted.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Time from acceptance to failure.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// Number of the session that this belongs to.
    pub fn instance(&self) -> u64 {
        self.0.circumstances.instance
    }

    /// The negotiated version, once there is one.
    pub fn version(&self) -> Option<Version> {
        self.0.circumstances.version
    }

    /// In which phase of the session it failed.
    pub fn phase(&self) -> &'static str {
        self.0.circumstances.phase
    }

    /// How the process ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.0.circumstances.exit
    }

    /// The newest of what the server wrote on standard error.
    pub fn stderr(&self) -> &Tail {
        &self.0.circumstances.stderr
    }

    /// What was seen on the wire that may explain it.
    pub fn hints(&self) -> &[Hint] {
        &self.0.hints
    }

    /// All that is known, over several lines, for a log or a bug report.
    pub fn report(&self) -> String {
        use fmt::Write;
        let report = &*self.0;
        let about = &*report.circumstances;
        let mut text = format!(
            "{}: {self}\n  request {} `{}`, {}, after {} ms\n  server `{}` #{}, {}, phase {}",
            self.code(),
            report.id,
            report.method,
            report.delivery.as_str(),
            report.elapsed.as_millis(),
            about.server,
            about.instance,
            about.version.map_or("no version yet", Version::as_str),
            about.phase,
        );
        for hint in &report.hints {
            let _ = write!(text, "\n  hint: {hint}");
        }
        if let Some(exit) = about.exit {
            let _ = write!(text, "\n  process: {exit}");
        }
        if !about.stderr.is_empty() {
            let _ = write!(text, "\n  stderr: {}", about.stderr.to_string().trim_end());
        }
        text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &*self.0;
        write!(f, "server `{}`: `{}`", report.circumstances.server, report.method)?;
        if let Some(tool) = self.tool() {
            write!(f, " of `{}`", escaped(tool, NAME))?;
        }
        write!(f, " failed: {}", report.kind)?;
        if let (Some(exit), false) = (report.circumstances.exit, matches!(report.kind, FailureKind::Ended(_)))
        {
            write!(f, " ({exit})")?;
        }
        for hint in &report.hints {
            write!(f, "; {hint}")?;
        }
        let explains = matches!(report.kind, FailureKind::Ended(ref cause) if *cause != Cause::Closed);
        if explains && !report.circumstances.stderr.is_empty() {
            write!(f, "; stderr: {}", report.circumstances.stderr.excerpt(EXCERPT))?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(feature = "explore")]
crate::digest::digest_debug!(WalkFault: WalkFault::NoList(1), WalkFault::NoList(2));

#[cfg(feature = "explore")]
impl crate::digest::Digest for Failure {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        self.0.digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        self.0.alter(place);
    }
}

#[cfg(feature = "explore")]
impl crate::digest::Digest for Report {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        let Report { kind, delivery, method, tool, id, elapsed, hints, circumstances } = self;
        into.debug(&(kind, delivery, method, id, elapsed, hints, circumstances));
        tool.digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        self.id.alter(place);
    }
}
