//! One conversation: connect, do something, close, whatever happens.

use std::path::Path;
use std::sync::Arc;

use sans_mcp::{End, Server, StderrMode};

use super::console::Console;
use super::interrupt::Interrupt;
use super::report;
use super::server_options;
use super::status::Status;
use crate::{Builder, Client, ConnectError, Event, Events};

/// Connects to a server, does `work` with it, and closes. A signal cuts the work short, and a second one the closing;
/// either way no process is left.
pub(super) async fn visit(
    console: &Arc<Console>,
    interrupt: &mut Interrupt,
    server: Server,
    configure: impl FnOnce(Builder) -> Builder,
    work: impl AsyncFnOnce(&Client) -> Status,
) -> Status {
    let directory = server.working_directory.clone();
    let shows_stderr = server.stderr == StderrMode::Tail;
    let mut builder = configure(Client::builder(server));
    let told = tokio::spawn(tell(console.clone(), builder.events()));
    let client = match builder.build() {
        Ok(client) => client,
        Err(error) => {
            console.note(&server_options::config(&error));
            return Status::Usage;
        }
    };
    let result = tokio::select! {
        status = connected(console, &client, directory.as_deref(), work) => Ok(status),
        signal = interrupt.next() => Err(signal),
    };
    console.clear_progress();
    if result.is_err() {
        console.note("closing the server; once more kills it at once");
    }
    let Some(end) = close(interrupt, &client).await else {
        return result.unwrap_or_else(|signal| signal);
    };
    // It ends with the session.
    let _ = told.await;
    if let Some(left) = report::left(&end) {
        console.note(&left);
    }
    if result == Ok(Status::Reported) && shows_stderr {
        let stderr = report::stderr(&end.stderr);
        if !stderr.is_empty() {
            console.note(&format!("the tool reported an error{stderr}"));
        }
    }
    result.unwrap_or_else(|signal| signal)
}

async fn connected(
    console: &Console,
    client: &Client,
    directory: Option<&Path>,
    work: impl AsyncFnOnce(&Client) -> Status,
) -> Status {
    match connect(console, client).await {
        Ok(()) => work(client).await,
        Err(error) => {
            let (text, status) = report::connect(&error, directory);
            console.note(&text);
            status
        }
    }
}

/// Connects; what takes long is shown on a terminal.
pub(super) async fn connect(console: &Console, client: &Client) -> Result<(), ConnectError> {
    console.watch(&format!("connecting to {}", client.name()), String::new, client.start()).await
}

/// Closes within its bound, or until a signal says that this is too long. Then dropping the client kills at once.
pub(super) async fn close(interrupt: &mut Interrupt, client: &Client) -> Option<Arc<End>> {
    tokio::select! {
        end = client.close() => Some(end),
        _ = interrupt.next() => None,
    }
}

/// Says what is odd, as it comes.
async fn tell(console: Arc<Console>, mut events: Events) {
    while let Some(event) = events.next().await {
        match event {
            Event::Diagnostic(diagnostic) => console.note(&diagnostic.to_string()),
            Event::Dropped(count) => {
                console.note(&format!("{count} messages about the server were left out"))
            }
            _ => {}
        }
    }
}
