//! What a host hands in: what is written is one message, and means what was handed in (rows L21, L26, L34, W04).
//!
//! The first byte says what is done, the second how; then come texts, parted by 0xff.

use sans_mcp::error::FailureKind;
use sans_mcp::{Call, ClientInfo, PeerReply, Refused, Request, Server, Settings};
use sans_mcp_tests::Token;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::source::{Source, texts};
use crate::stage::Stage;

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut source = Source::new(data);
    let what = source.byte();
    let how = source.byte();
    let given = texts(&mut source, 4);
    let [first, second, third, fourth] = &given[..] else { return };
    let mut settings = Settings::default();
    settings.capabilities.roots = true;
    if what % 6 == 5 {
        settings.client = ClientInfo { name: first.clone(), version: second.clone() };
        check_client(settings, first, second);
        return;
    }
    let server = Server::new("encoding", "encoding").settings(settings);
    let Some(mut stage) = Stage::connected(server, "2025-11-25") else {
        unreachable!("the settings of this target")
    };
    stage.take_written();
    match what % 6 {
        0 => check_call(&mut stage, first, second, third, fourth, how),
        1 => check_request(&mut stage, first, second, third, fourth, how),
        2 => check_notification(&mut stage, first, second),
        3 => check_reply(&mut stage, first, second, how),
        _ => check_cancel(&mut stage, first),
    }
}

/// One message, each member as it stands there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    jsonrpc: &'a str,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Reads a line as one message; members that a message does not have, or has twice, are an error of serde.
fn message(line: &str) -> Message<'_> {
    assert!(!line.contains(['\n', '\r']), "{line}");
    match serde_json::from_str::<Message<'_>>(line) {
        Ok(message) => {
            assert_eq!(message.jsonrpc, "2.0");
            message
        }
        Err(error) => unreachable!("{error}: {line}"),
    }
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// The value of raw JSON, unless it has what values cannot hold.
fn value(raw: &str) -> Option<Value> {
    serde_json::from_str(raw).ok()
}

/// Compares raw JSON: as values, or where those cannot be had without line ends and what is around it.
fn assert_same(written: &str, given: &str) {
    match (value(written), value(given)) {
        (Some(written), Some(given)) => assert_eq!(written, given),
        (None, None) => assert_eq!(written.trim_ascii(), given.trim_ascii().replace(['\n', '\r'], " ")),
        _ => unreachable!("{written} for {given}"),
    }
}

/// The raw value of a member of an object.
fn member(object: Option<&RawValue>, name: &str) -> Option<String> {
    let members: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(object?.get()).ok()?;
    members.get(name).map(|raw| raw.get().to_owned())
}

fn only_line(stage: &mut Stage) -> String {
    stage.settle();
    let mut lines = stage.take_written();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.pop().unwrap_or_default()
}

fn nothing_written(stage: &mut Stage) {
    stage.settle();
    assert_eq!(stage.take_written(), Vec::<String>::new(), "refused, and written all the same");
}

fn is_object(json: &str) -> bool {
    serde_json::from_str::<&RawValue>(json).is_ok_and(|raw| raw.get().starts_with('{'))
}

fn check_call(stage: &mut Stage, arguments: &str, key: &str, meta: &str, tool: &str, how: u8) {
    let tool = if how & 1 != 0 { tool } else { "t" };
    let mut call = Call::new(tool, arguments);
    if how & 2 != 0 {
        match call.meta(key, meta) {
            Ok(with_meta) => call = with_meta,
            Err(_) => return,
        }
    }
    if how & 4 != 0 {
        call = call.progress();
    }
    match stage.session.call(stage.now, call, 1) {
        Err(Refused { value, .. }) => {
            assert_eq!(value, 1);
            assert!(!is_object(arguments) || !["t", "u"].contains(&tool), "{tool} {arguments} was refused");
            nothing_written(stage);
        }
        Ok(handle) => {
            let line = only_line(stage);
            let message = message(&line);
            assert_eq!(message.id.map(RawValue::get), Some(&*handle.number().to_string()));
            assert_eq!(text(message.method).as_deref(), Some("tools/call"));
            assert_eq!(member(message.params, "name"), Some(format!("\"{tool}\"")));
            assert_same(&member(message.params, "arguments").unwrap_or_default(), arguments);
            let written = member(message.params, "_meta");
            assert_eq!(written.is_some(), how & 6 != 0, "{line}");
            if how & 2 != 0 {
                let written =
                    written.and_then(|written| serde_json::from_str::<Box<RawValue>>(&written).ok());
                assert_same(&member(written.as_deref(), key).unwrap_or_default(), meta);
            }
        }
    }
}

fn check_request(stage: &mut Stage, method: &str, params: &str, key: &str, meta: &str, how: u8) {
    let mut request = Request::new(method);
    if how & 1 != 0 {
        request = request.params(params);
    }
    if how & 2 != 0 {
        match request.meta(key, meta) {
            Ok(with_meta) => request = with_meta,
            Err(_) => return,
        }
    }
    match stage.session.request(stage.now, request, 1) {
        Err(Refused { value, .. }) => {
            assert_eq!(value, 1);
            nothing_written(stage);
        }
        Ok(_) => {
            let line = only_line(stage);
            let message = message(&line);
            assert_eq!(text(message.method).as_deref(), Some(method));
            let given = if how & 1 != 0 { params } else { "{}" };
            let given = serde_json::from_str::<Value>(given);
            let written =
                message.params.map_or(Some(Value::Object(serde_json::Map::new())), |raw| value(raw.get()));
            if let (Ok(mut given), Some(mut written), true) = (given, written, how & 2 == 0) {
                // An empty `_meta` may be left out.
                for side in [&mut given, &mut written] {
                    if let Some(members) = side.as_object_mut() {
                        members.retain(|name, value| {
                            name != "_meta" || value.as_object().is_none_or(|meta| !meta.is_empty())
                        });
                    }
                }
                assert_eq!(written, given, "{line}");
            }
        }
    }
}

fn check_notification(stage: &mut Stage, method: &str, params: &str) {
    let given = (!params.is_empty()).then_some(params);
    match stage.session.notify(stage.now, method, given) {
        Err(_) => nothing_written(stage),
        Ok(()) => {
            let line = only_line(stage);
            let message = message(&line);
            assert!(message.id.is_none() && message.result.is_none() && message.error.is_none());
            assert_eq!(text(message.method).as_deref(), Some(method));
            match (message.params, given) {
                (Some(written), Some(given)) => assert_same(written.get(), given),
                (written, given) => assert_eq!((written.is_some(), given.is_some()), (false, false)),
            }
        }
    }
}

fn check_reply(stage: &mut Stage, id: &str, given: &str, how: u8) {
    stage.hear(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"roots/list\",\"id\":{id}}}\n").as_bytes());
    let Some(handle) = stage.requests.pop() else { return };
    // It may have asked for more, in members or in lines of its own.
    stage.take_written();
    let reply = if how & 1 != 0 {
        PeerReply::Error { code: i64::from(how) - 128, message: given }
    } else {
        PeerReply::Result(given)
    };
    if stage.session.respond(stage.now, handle, reply).is_err() {
        assert!(how & 1 == 0 && !is_object(given), "{given} was refused");
        nothing_written(stage);
        return;
    }
    let line = only_line(stage);
    let message = message(&line);
    if let Some(id) = message.id.map(RawValue::get) {
        assert!(id.starts_with(['"', '-']) || id.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    }
    match (message.result, message.error) {
        (Some(result), None) => assert_same(result.get(), given),
        (None, Some(error)) => {
            assert_eq!(member(Some(error), "code"), Some((i64::from(how) - 128).to_string()));
            let written =
                member(Some(error), "message").and_then(|raw| serde_json::from_str::<String>(&raw).ok());
            assert_eq!(written.as_deref(), Some(given));
        }
        _ => unreachable!("a reply has one of both: {line}"),
    }
}

fn check_cancel(stage: &mut Stage, reason: &str) {
    let token: Token = 1;
    let Ok(handle) = stage.session.call(stage.now, Call::without_arguments("t"), token) else {
        unreachable!("the tool is listed")
    };
    only_line(stage);
    assert!(stage.session.cancel(stage.now, handle, reason));
    let line = only_line(stage);
    let message = message(&line);
    assert_eq!(text(message.method).as_deref(), Some("notifications/cancelled"));
    assert_eq!(member(message.params, "requestId"), Some(handle.number().to_string()));
    // The caller's reason is for the failure: it may say more than the server is to know.
    assert_eq!(member(message.params, "reason").as_deref(), Some("\"cancelled by the caller\""));
    let failure = stage.outcomes.get(&token).and_then(|outcome| outcome.as_ref().err());
    let kept = failure.map(|failure| failure.kind());
    let Some(FailureKind::Cancelled(kept)) = kept else { unreachable!("it was cancelled: {kept:?}") };
    assert!(reason.starts_with(&**kept), "{kept:?} for {reason:?}");
}

/// `initialize` names the client as it was configured.
fn check_client(settings: Settings, name: &str, version: &str) {
    let Some(mut stage) = Stage::new(Server::new("encoding", "encoding").settings(settings)) else { return };
    assert!(stage.session.connect(stage.now, 0).is_ok());
    let line = only_line(&mut stage);
    let message = message(&line);
    assert_eq!(text(message.method).as_deref(), Some("initialize"));
    let params = message.params.and_then(|raw| value(raw.get())).unwrap_or_default();
    let told = |member: &str| params.pointer(&format!("/clientInfo/{member}")).and_then(Value::as_str);
    assert_eq!((told("name"), told("version")), (Some(name), Some(version)));
}
