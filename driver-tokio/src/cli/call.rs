//! `call`.

use std::sync::{Arc, Mutex, PoisonError};

use sans_mcp::script::Answers;
use sans_mcp::{PeerReply, Timeouts, Tool};
use serde_json::value::RawValue;

use super::arguments::Given;
use super::console::Console;
use super::options;
use super::status::Status;
use super::{report, show, text};
use crate::{Builder, CallError, Client, PeerError, Progress, ToolCall, ToolReply};

pub(super) async fn call(
    console: &Console,
    client: &Client,
    options: &options::Call,
    given: Given,
) -> Status {
    match called(console, client, options, given).await {
        Ok(reply) => {
            let shown = if options.json {
                format!("{}\n", reply.raw().replace('\r', " "))
            } else {
                show::result(&reply.result())
            };
            match console.result(shown).await {
                Err(status) => status,
                Ok(()) if reply.is_error() => Status::Reported,
                Ok(()) => Status::Fine,
            }
        }
        Err((problem, status)) => {
            console.note(&problem);
            status
        }
    }
}

async fn called(
    console: &Console,
    client: &Client,
    options: &options::Call,
    given: Given,
) -> Result<ToolReply, (String, Status)> {
    let maximum = options.max_total.unwrap_or(Timeouts::MAXIMUM);
    let maximum = options.reset_on_progress.then_some(maximum);
    let failed = |error: CallError| report::call(&error, maximum);
    let tools = client.list_tools().await.map_err(failed)?;
    let Some(tool) = tools.get(&options.tool) else {
        return Err((unknown(&options.tool, &tools.near(&options.tool)), Status::Usage));
    };
    let arguments = given.for_tool(tool, !options.tools.no_validate);
    let arguments = arguments.map_err(|error| (error.to_string(), Status::Usage))?;
    let mut call = client.call(sans_mcp::Call::new(tool.name(), arguments));
    if options.reset_on_progress {
        call = call.reset_on_progress();
    }
    let reply = if console.is_watched() { watched(console, tool, call).await } else { call.await };
    reply.map_err(failed)
}

/// Awaits a call while somebody may be watching.
async fn watched(console: &Console, tool: &Tool, call: ToolCall) -> Result<ToolReply, CallError> {
    let latest = Arc::new(Mutex::new(None::<Progress>));
    let store = latest.clone();
    let call = call.on_progress(move |progress| {
        *store.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    });
    let so_far = || {
        let latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_ref().map(described).unwrap_or_default()
    };
    console.watch(tool.name(), so_far, call).await
}

fn described(progress: &Progress) -> String {
    let far = match (progress.progress(), progress.total()) {
        (Some(progress), Some(total)) => format!(", {progress} of {total}"),
        (Some(progress), None) => format!(", {progress}"),
        (None, _) => String::new(),
    };
    let message = progress.message().map(|message| format!(", {message}"));
    far + message.as_deref().unwrap_or_default()
}

fn unknown(name: &str, near: &[String]) -> String {
    let name = text::one_line(name, text::WORD);
    match near {
        [] => format!("the server has no tool `{name}`; `list` shows those it has"),
        near => format!("the server has no tool `{name}`; did you mean `{}`?", near.join("`, `")),
    }
}

/// Lets the client give the configured answers to what the server asks.
pub(super) fn with_answers(builder: Builder, answers: &Answers) -> Builder {
    let declared = answers.capabilities();
    let answer = |method: &'static str| answered(answers.get(method));
    let (roots, sampling) = (answer("roots/list"), answer("sampling/createMessage"));
    let elicitation = answer("elicitation/create");
    let mut builder = builder;
    if declared.roots {
        builder = builder.on_roots(move |_| std::future::ready(roots.clone()));
    }
    if declared.sampling {
        builder = builder.on_sampling(move |_| std::future::ready(sampling.clone()));
    }
    if declared.elicitation {
        builder = builder.on_elicitation(move |_| std::future::ready(elicitation.clone()));
    }
    builder
}

fn answered(reply: Option<PeerReply<'_>>) -> Result<Box<RawValue>, PeerError> {
    match reply {
        Some(PeerReply::Result(json)) => RawValue::from_string(json.to_owned())
            .map_err(|error| PeerError::new(-32603, format!("the answer is not JSON: {error}"))),
        Some(PeerReply::Error { code, message }) => Err(PeerError::new(code, message)),
        None => Err(PeerError::new(-32601, "no answer was given for this")),
    }
}
