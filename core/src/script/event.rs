//! Events as text: one JSON object each, without a line end.

use std::time::Duration;

use super::command::BadLine;
use crate::counters::Counters;
use crate::error::{Code, Delivery, End, Failure, Refusal, RemoteError};
use crate::output::Diagnostic;
use crate::process::{Exit, Tree};
use crate::session::Session;
use crate::stderr::Tail;

/// A JSON object that is written member by member.
pub(super) struct Object(String);

impl Object {
    fn new() -> Object {
        Object(String::from("{"))
    }

    fn event(name: &str) -> Object {
        Object::new().text("event", name)
    }

    fn key(mut self, key: &str) -> Object {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, key);
        self.0.push(':');
        self
    }

    fn text(self, key: &str, value: &str) -> Object {
        let mut object = self.key(key);
        push_string(&mut object.0, value);
        object
    }

    fn number(self, key: &str, value: impl Into<i128>) -> Object {
        self.raw(key, &value.into().to_string())
    }

    fn flag(self, key: &str, value: bool) -> Object {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// A value that is JSON already. A carriage return between its tokens becomes a space, so that no reader takes it
    /// for the end of the line.
    fn raw(self, key: &str, json: &str) -> Object {
        let mut object = self.key(key);
        let start = object.0.len();
        object.0.push_str(json);
        if memchr::memchr2(b'\r', b'\n', json.as_bytes()).is_some() {
            let value = object.0.split_off(start).replace(['\r', '\n'], " ");
            object.0.push_str(&value);
        }
        object
    }

    fn optional_raw(self, key: &str, json: Option<&str>) -> Object {
        match json {
            Some(json) => self.raw(key, json),
            None => self,
        }
    }

    /// Milliseconds with their microseconds.
    fn milliseconds(self, elapsed: Duration) -> Object {
        let micros = elapsed.as_micros();
        self.raw("ms", &format!("{}.{:03}", micros / 1_000, micros % 1_000))
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The end of an operation, up to what became of it.
fn completed(id: Option<&str>, ok: bool) -> Object {
    let event = Object::event("completed");
    let event = match id {
        Some(id) => event.text("id", id),
        None => event.raw("id", "null"),
    };
    event.flag("ok", ok)
}

pub(super) fn answered(id: Option<&str>, result: &str, elapsed: Duration) -> String {
    completed(id, true).raw("result", result).milliseconds(elapsed).finish()
}

pub(super) fn failed(id: Option<&str>, failure: &Failure) -> String {
    let mut error = Object::new()
        .text("code", failure.code().as_str())
        .text("message", &failure.to_string())
        .text("delivery", failure.delivery().as_str());
    if let Some(remote) = failure.remote() {
        error = error.raw("remote", &remote_error(remote));
    }
    error = with_circumstances(error, failure.exit(), failure.stderr());
    completed(id, false).raw("error", &error.finish()).milliseconds(failure.elapsed()).finish()
}

pub(super) fn refused(id: Option<&str>, refusal: &Refusal) -> String {
    let error = Object::new()
        .text("code", refusal.code().as_str())
        .text("message", &refusal.to_string())
        .text("delivery", Delivery::NotSent.as_str());
    completed(id, false).raw("error", &error.finish()).milliseconds(Duration::ZERO).finish()
}

pub(super) fn ready<T>(session: &Session<T>, elapsed: Duration) -> String {
    let mut server = Object::new();
    if let Some(info) = session.server_info() {
        server = server.text("name", &info.name).text("version", &info.version);
        if let Some(title) = &info.title {
            server = server.text("title", title);
        }
    }
    let mut event = Object::event("ready").raw("server", &server.finish());
    if let Some(version) = session.version() {
        event = event.text("version", version.as_str());
    }
    if let Some(instructions) = session.instructions() {
        event = event.text("instructions", instructions);
    }
    let mut tools = String::from("[");
    for tool in session.catalog().tools() {
        if tools.len() > 1 {
            tools.push(',');
        }
        push_string(&mut tools, tool.name());
    }
    tools.push(']');
    event.raw("tools", &tools).milliseconds(elapsed).finish()
}

pub(super) fn progress(id: Option<&str>, params: &str) -> String {
    let event = Object::event("progress");
    let event = match id {
        Some(id) => event.text("id", id),
        None => event.raw("id", "null"),
    };
    event.raw("params", params).finish()
}

pub(super) fn notification(method: &str, params: Option<&str>) -> String {
    Object::event("notification").text("method", method).optional_raw("params", params).finish()
}

/// A request of the server, and what it was answered with, or why that could not be sent.
pub(super) fn request(
    method: &str,
    params: Option<&str>,
    answer: &str,
    unanswered: Option<&Refusal>,
) -> String {
    let event = Object::event("request").text("method", method).optional_raw("params", params);
    match unanswered {
        None => event.raw("answer", answer),
        Some(refusal) => event.text("unanswered", &refusal.to_string()),
    }
    .finish()
}

pub(super) fn diagnostic(diagnostic: &Diagnostic) -> String {
    let event = Object::event("diagnostic").text("message", &diagnostic.kind.to_string());
    event.number("count", diagnostic.count).finish()
}

pub(super) fn bad_line(number: u64, problem: &BadLine) -> String {
    Object::event("error").number("line", number).text("message", &problem.to_string()).finish()
}

pub(super) fn dropped(count: u64) -> String {
    Object::event("dropped").number("count", count).finish()
}

pub(super) fn closed(end: &End) -> String {
    let event = Object::event("closed")
        .text("code", end.cause.code().as_str())
        .text("cause", &end.cause.to_string())
        .flag("gone", end.gone());
    let event = match end.tree {
        Tree::Alive(count) => event.number("left", count),
        Tree::Gone | Tree::Unknown => event,
    };
    if end.cause.code() == Code::CLOSED {
        with_circumstances(event, end.exit, &Tail::default()).finish()
    } else {
        with_circumstances(event, end.exit, &end.stderr).finish()
    }
}

/// Every counter under its name; those that count bytes or calls as numbers, times as histograms by method.
pub(super) fn counters(counters: &Counters) -> String {
    // Named one by one, so that a new counter is not forgotten here.
    let Counters {
        pending,
        timers,
        queued_bytes,
        reply_bytes,
        peer_requests,
        answered,
        remote_errors,
        timeouts,
        cancelled,
        failed,
        refused,
        late,
        duplicate,
        stale,
        unknown,
        near_misses,
        uncorrelated,
        malformed,
        noise_lines,
        long_lines,
        discarded_bytes,
        batches,
        notifications,
        ignored_notifications,
        dropped_notifications,
        refused_requests,
        pings,
        stderr_bytes,
        stderr_truncated,
        latency,
    } = counters;
    let gauge = |count: &usize| u64::try_from(*count).unwrap_or(u64::MAX);
    let counts = [
        ("pending", &gauge(pending)),
        ("timers", &gauge(timers)),
        ("queued_bytes", &gauge(queued_bytes)),
        ("reply_bytes", &gauge(reply_bytes)),
        ("peer_requests", &gauge(peer_requests)),
        ("answered", answered),
        ("remote_errors", remote_errors),
        ("timeouts", timeouts),
        ("cancelled", cancelled),
        ("failed", failed),
        ("refused", refused),
        ("late", late),
        ("duplicate", duplicate),
        ("stale", stale),
        ("unknown", unknown),
        ("near_misses", near_misses),
        ("uncorrelated", uncorrelated),
        ("malformed", malformed),
        ("noise_lines", noise_lines),
        ("long_lines", long_lines),
        ("discarded_bytes", discarded_bytes),
        ("batches", batches),
        ("notifications", notifications),
        ("ignored_notifications", ignored_notifications),
        ("dropped_notifications", dropped_notifications),
        ("refused_requests", refused_requests),
        ("pings", pings),
        ("stderr_bytes", stderr_bytes),
    ];
    let mut event = Object::event("counters");
    for (name, count) in counts {
        event = event.number(name, *count);
    }
    let mut by_method = Object::new();
    for (method, latency) in latency {
        let buckets: Vec<String> = latency.buckets.iter().map(u64::to_string).collect();
        by_method = by_method.raw(method, &format!("[{}]", buckets.join(",")));
    }
    event.flag("stderr_truncated", *stderr_truncated).raw("latency", &by_method.finish()).finish()
}

fn remote_error(remote: &RemoteError) -> String {
    let error = Object::new().number("code", remote.code).text("message", &remote.message);
    let error = error.optional_raw("data", remote.data.as_deref());
    if remote.truncated { error.flag("truncated", true) } else { error }.finish()
}

fn with_circumstances(mut object: Object, exit: Option<Exit>, stderr: &Tail) -> Object {
    object = match exit {
        Some(Exit::Code(code)) => object.raw("exit", &Object::new().number("code", code).finish()),
        Some(Exit::Signal(signal)) => object.raw("exit", &Object::new().number("signal", signal).finish()),
        Some(Exit::Unknown) => object.raw("exit", "{}"),
        None => object,
    };
    if !stderr.is_empty() {
        object = object.text("stderr_tail", stderr.as_str());
    }
    if stderr.is_truncated() {
        object = object.flag("stderr_truncated", true);
    }
    object
}

fn push_string(out: &mut String, text: &str) {
    // Writing a string into memory cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

#[cfg(test)]
mod tests;
