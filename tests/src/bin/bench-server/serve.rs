//! What is answered.

use std::io;
use std::str;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::members::members;
use crate::sleepers::Sleepers;

/// Answers wait for one write until this many bytes do.
const FLUSH: usize = 1 << 20;

/// A text that is longer than this is written from where it is.
const COPIED: usize = 64 << 10;

const TOOLS: &str = concat!(
    r#"{"tools":["#,
    r#"{"name":"echo","inputSchema":{"type":"object","properties":{"value":{"type":"string"}}}},"#,
    r#"{"name":"blob","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}}}},"#,
    r#"{"name":"sleep","inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}}}},"#,
    r#"{"name":"stats","inputSchema":{"type":"object"}}]}"#,
);

#[derive(Default)]
pub(crate) struct Server {
    out: Vec<u8>,
    /// As long as the longest text so far.
    blob: Vec<u8>,
    sleepers: Sleepers,
    calls: u64,
    cancelled: u64,
}

impl Server {
    /// Answers a line of the client.
    pub(crate) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let (mut id, mut method, mut params) = (None, &b""[..], &b"{}"[..]);
        for (key, value) in members(line) {
            match key {
                b"id" => id = Some(value),
                b"method" => method = value,
                b"params" => params = value,
                _ => {}
            }
        }
        match (id, method) {
            (Some(id), b"\"tools/call\"") => self.call(id, params)?,
            (Some(id), b"\"initialize\"") => {
                let version = member(params, b"protocolVersion").unwrap_or(b"\"2025-06-18\"");
                let offer = br#"{"capabilities":{"tools":{}},"serverInfo":{"name":"bench-server","version":"1"},"protocolVersion":"#;
                self.result(id, &[offer, version, b"}"]);
            }
            (Some(id), b"\"tools/list\"") => self.result(id, &[TOOLS.as_bytes()]),
            (Some(id), b"\"ping\"") => self.result(id, &[b"{}"]),
            (Some(id), method) if !method.is_empty() => self.error(id, -32601, "no such method"),
            (None, b"\"notifications/cancelled\"") => {
                let id = member(params, b"requestId").unwrap_or_default();
                self.cancelled += u64::from(self.sleepers.remove(id));
            }
            _ => {}
        }
        if self.out.len() > FLUSH { self.flush() } else { Ok(()) }
    }

    /// Answers the sleepers whose time has come, and gives the time of the next.
    pub(crate) fn wake(&mut self, now: Instant) -> io::Result<Option<Instant>> {
        while let Some(id) = self.sleepers.pop(now) {
            self.text(&id, b"\"slept\"");
        }
        self.flush()?;
        Ok(self.sleepers.next())
    }

    /// Writes what waits to be written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn call(&mut self, id: &[u8], params: &[u8]) -> io::Result<()> {
        self.calls += 1;
        let (mut tool, mut arguments) = (&b""[..], &b"{}"[..]);
        for (key, value) in members(params) {
            match key {
                b"name" => tool = value,
                b"arguments" => arguments = value,
                _ => {}
            }
        }
        match tool {
            b"\"echo\"" => match member(arguments, b"value") {
                Some(value) if value.first() == Some(&b'"') => self.text(id, value),
                _ => self.error(id, -32602, "value is a string"),
            },
            b"\"blob\"" => match number(member(arguments, b"bytes")) {
                Some(bytes) => self.blob(id, bytes)?,
                None => self.error(id, -32602, "bytes is a number"),
            },
            b"\"sleep\"" => match number(member(arguments, b"ms")) {
                Some(ms) => self.sleepers.insert(id, Instant::now() + Duration::from_millis(ms as u64)),
                None => self.error(id, -32602, "ms is a number"),
            },
            b"\"stats\"" => {
                let (pending, calls, cancelled) = (self.sleepers.len(), self.calls, self.cancelled);
                let stats = format!("\"pending={pending} calls={calls} cancelled={cancelled}\"");
                self.text(id, stats.as_bytes());
            }
            _ => self.error(id, -32602, "no such tool"),
        }
        Ok(())
    }

    fn blob(&mut self, id: &[u8], bytes: usize) -> io::Result<()> {
        if self.blob.len() < bytes {
            self.blob.resize(bytes, b'x');
        }
        self.begin_text(id);
        self.out.push(b'"');
        let text = self.blob.get(..bytes).unwrap_or_default();
        if bytes <= COPIED {
            self.out.extend_from_slice(text);
        } else {
            write_all(&self.out)?;
            self.out.clear();
            write_all(text)?;
        }
        self.out.push(b'"');
        self.end_text();
        Ok(())
    }

    /// Answers a call with a text, which is quoted already.
    fn text(&mut self, id: &[u8], quoted: &[u8]) {
        self.begin_text(id);
        self.out.extend_from_slice(quoted);
        self.end_text();
    }

    fn begin_text(&mut self, id: &[u8]) {
        self.begin(id);
        self.out.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    }

    fn end_text(&mut self) {
        self.out.extend_from_slice(b"}],\"isError\":false}}\n");
    }

    fn result(&mut self, id: &[u8], parts: &[&[u8]]) {
        self.begin(id);
        self.out.extend_from_slice(b",\"result\":");
        parts.iter().for_each(|part| self.out.extend_from_slice(part));
        self.out.extend_from_slice(b"}\n");
    }

    fn error(&mut self, id: &[u8], code: i32, message: &str) {
        self.begin(id);
        let rest = format!(",\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}\n");
        self.out.extend_from_slice(rest.as_bytes());
    }

    fn begin(&mut self, id: &[u8]) {
        self.out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        self.out.extend_from_slice(id);
    }
}

fn member<'a>(json: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    members(json).find_map(|(key, value)| (key == wanted).then_some(value))
}

fn number(json: Option<&[u8]>) -> Option<usize> {
    str::from_utf8(json?).ok()?.parse().ok()
}

fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Err(Errno::INTR) => {}
            count => bytes = bytes.get(count?..).unwrap_or_default(),
        }
    }
    Ok(())
}
