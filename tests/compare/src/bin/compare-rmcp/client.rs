//! A client of rmcp, and calls.

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::{Peer, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;
use tokio::process::Command;

use crate::Outcome;

pub(crate) type Client = RunningService<RoleClient, ()>;

pub(crate) async fn connect(program: &str) -> Outcome<Client> {
    let arguments = std::env::var("BENCH_SERVER_ARGS").unwrap_or_default();
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace());
    Ok(().serve(TokioChildProcess::new(command)?).await?)
}

pub(crate) fn numbered(number: usize) -> CallToolRequestParams {
    call("echo", "value", format!("hello {number}").into())
}

pub(crate) fn sleep(milliseconds: u64) -> CallToolRequestParams {
    call("sleep", "ms", milliseconds.into())
}

pub(crate) fn blob(bytes: usize) -> CallToolRequestParams {
    call("blob", "bytes", bytes.into())
}

fn call(tool: &'static str, argument: &str, value: Value) -> CallToolRequestParams {
    let arguments: JsonObject = [(argument.to_owned(), value)].into_iter().collect();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

/// What `read` makes of the text of a call.
pub(crate) async fn text<T>(
    peer: &Peer<RoleClient>,
    call: CallToolRequestParams,
    read: impl FnOnce(&str) -> T,
) -> Outcome<T> {
    match peer.call_tool_once(call).await? {
        CallToolResponse::Complete(result) => {
            let text = result.content.first().and_then(|content| content.as_text());
            Ok(read(text.map_or("", |content| content.text.as_str())))
        }
        _ => Err("another kind of answer".into()),
    }
}

/// Calls the echo of this number.
pub(crate) async fn echo(peer: &Peer<RoleClient>, number: usize) -> Outcome {
    let is_its_own =
        |text: &str| text.strip_prefix("hello ").and_then(|number| number.parse().ok()) == Some(number);
    if text(peer, numbered(number), is_its_own).await? { Ok(()) } else { Err("another text".into()) }
}
