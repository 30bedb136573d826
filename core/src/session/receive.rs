//! From lines to messages to what they mean.

use std::ops::Range;

use super::{Cursor, Machine, Session};
use crate::config::Conduct;
use crate::error::{Cause, FailureKind, InvalidResponse, PeerFault};
use crate::output::DiagnosticKind;
use crate::protocol::Version;
use crate::wire::decode;
use crate::wire::envelope::Element;
use crate::wire::envelope::{self, Envelope};
use crate::wire::json::skip_blanks;
use crate::wire::lines::{Framed, Oversized};
use crate::wire::scan::Scanner;

impl<T> Session<T> {
    /// Reads the next message, if a whole one is there, and lets the machine act on it. What comes of it waits in
    /// `ready`.
    pub(super) fn read_message(&mut self) -> bool {
        if self.cursor != Cursor::Between && !self.machine.listens() {
            self.cursor = Cursor::Between;
        }
        match self.cursor {
            Cursor::Between => self.read_line(),
            Cursor::Messages(at) => {
                self.read_envelope(at);
                true
            }
            Cursor::Batch(at) => {
                self.read_element(at);
                true
            }
        }
    }

    fn read_line(&mut self) -> bool {
        let Some(framed) = self.lines.next() else {
            if self.machine.output_ended {
                self.machine.end_noise();
            }
            return false;
        };
        if !self.machine.listens() {
            return true;
        }
        match framed {
            Framed::Oversized(line) => self.machine.on_oversized(&line),
            Framed::Endless => {
                self.machine.fault(Cause::Peer(PeerFault::EndlessLine {
                    limit: self.machine.server.settings.limits.discard,
                }));
            }
            Framed::Line if !self.lines.make_text(self.machine.server.settings.utf8) => {
                let cut_off = self.lines.is_cut_off();
                self.machine.on_malformed(self.lines.bytes(), InvalidResponse::Utf8, cut_off);
            }
            Framed::Line => {
                let text = self.lines.text();
                if skip_blanks(text.as_bytes()).starts_with(b"[") {
                    if self.machine.unpacks_batches() && is_batch(text) {
                        self.cursor = Cursor::Batch(0);
                    } else {
                        self.machine.on_array(text);
                    }
                } else {
                    self.cursor = Cursor::Messages(0);
                }
            }
        }
        true
    }

    fn read_envelope(&mut self, at: usize) {
        let text = self.lines.text();
        self.cursor = Cursor::Between;
        match envelope::read(text, at) {
            Ok((envelope, end)) => {
                if text.get(end..).is_some_and(|rest| !skip_blanks(rest.as_bytes()).is_empty()) {
                    self.cursor = Cursor::Messages(end);
                }
                self.machine.on_envelope(text, &envelope, at..end);
            }
            Err(_) => {
                let rest = text.get(at..).unwrap_or_default();
                self.machine.on_malformed(rest.as_bytes(), InvalidResponse::Syntax, self.lines.is_cut_off());
            }
        }
    }

    fn read_element(&mut self, at: usize) {
        let text = self.lines.text();
        self.cursor = Cursor::Between;
        let (span, next) = match envelope::element(text, at) {
            Ok(Element::Value(span, next)) => (span, next),
            Ok(Element::End(end)) => {
                let rest = text.get(end..).unwrap_or_default();
                if !skip_blanks(rest.as_bytes()).is_empty() {
                    self.machine.on_noise(rest.as_bytes());
                }
                return;
            }
            Err(_) => {
                // The element that stands here is told apart from the rest, which cannot be read any more.
                let rest = text.get(at..).unwrap_or_default();
                let element = rest.find('{').and_then(|begin| rest.get(begin..)).unwrap_or_default();
                let cut_off = self.lines.is_cut_off();
                if self.machine.on_malformed(element.as_bytes(), InvalidResponse::Syntax, cut_off) {
                    self.machine.on_noise(rest.as_bytes());
                }
                return;
            }
        };
        self.cursor = Cursor::Batch(next);
        match envelope::read(text, span.start) {
            Ok((envelope, end)) if end == span.end => self.machine.on_envelope(text, &envelope, span),
            _ => {
                let element = text.get(span).unwrap_or_default();
                self.machine.on_malformed(element.as_bytes(), InvalidResponse::Syntax, false);
            }
        }
    }
}

impl<T> Machine<T> {
    /// Whether output of the server still means anything.
    pub(super) fn listens(&self) -> bool {
        use super::lifecycle::Phase::{Draining, Initializing, Losing, Ready};
        matches!(self.phase, Initializing | Ready | Draining | Losing)
    }

    /// Whether output of the server is read only to be thrown away.
    pub(super) fn drains_output(&self) -> bool {
        self.phase >= super::lifecycle::Phase::Leaving
    }

    fn unpacks_batches(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.version == Version::V2025_03_26)
    }

    pub(super) fn is_strict(&self) -> bool {
        self.server.settings.conduct == Conduct::Strict
    }

    /// A line that begins like an array: a batch where there are none, or a log line such as `[INFO] up`.
    fn on_array(&mut self, text: &str) {
        if is_batch(text) && !self.is_strict() {
            self.counters.batches += 1;
            self.diagnose(DiagnosticKind::Batch);
        } else {
            self.on_noise(text.as_bytes());
        }
    }

    fn on_oversized(&mut self, line: &Oversized) {
        self.counters.long_lines += 1;
        let limit = self.server.settings.limits.line;
        if self.is_strict() {
            self.fault(Cause::Peer(PeerFault::LongLine { limit }));
            return;
        }
        let named = line.id.as_ref().filter(|_| line.is_response).and_then(|id| self.matching(id.as_str()));
        match named {
            Some(id) => self.settle_unanswered(id, FailureKind::TooLarge { limit }),
            None => self.diagnose(DiagnosticKind::LongLine(limit)),
        }
    }

    /// A line that cannot be read as a message: if it still names one of our calls as its answer, that call fails at once
    /// (row W06). One that the end of output cut off is no malformed answer but a lost one: its call ends with the loss.
    /// Says whether a call was named; if none was, the line is noise.
    fn on_malformed(&mut self, line: &[u8], why: InvalidResponse, cut_off: bool) -> bool {
        let mut scanner = Scanner::new();
        scanner.feed(line);
        let answers = scanner.has_answer() && !scanner.has_method() && !cut_off;
        let named = if answers { scanner.id().and_then(|id| self.matching(id.as_str())) } else { None };
        match named {
            Some(id) => self.on_invalid_response(id, why),
            None => self.on_noise(line),
        }
        named.is_some()
    }

    /// One message, which stands at `place` in `text`.
    fn on_envelope(&mut self, text: &str, envelope: &Envelope, place: Range<usize>) {
        self.end_noise();
        let message = text.get(place).unwrap_or_default().as_bytes();
        let raw = |span: &Option<Range<usize>>| span.clone().and_then(|span| text.get(span));
        // A serializer that writes absent members as null is understood.
        if let Some(method) = raw(&envelope.method).filter(|method| *method != "null") {
            match decode::string(method) {
                Some(method) if envelope.version_ok && !envelope.repeated => match raw(&envelope.id) {
                    Some(id) => self.on_request(text, id, &method, envelope.params.clone()),
                    None => self.on_notification(text, &method, envelope.params.clone()),
                },
                _ => self.on_noise(message),
            }
        } else if envelope.result.is_some() || envelope.error.is_some() || envelope.id.is_some() {
            self.on_response(text, envelope);
        } else {
            self.on_noise(message);
        }
    }
}

/// Whether a line begins as an array of objects.
fn is_batch(text: &str) -> bool {
    let inside = skip_blanks(text.as_bytes()).strip_prefix(b"[");
    inside.is_some_and(|inside| skip_blanks(inside).starts_with(b"{"))
}
