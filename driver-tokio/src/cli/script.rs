//! `script` on tokio: between a connection and the runner of scripts.

use std::sync::Arc;
use std::time::Duration;

use sans_mcp::script::Answers;
use sans_mcp::{Output, Server};
use tokio::sync::Notify;

use super::interrupt::Interrupt;
use super::script_runner::{Runner, Source};
use super::status::Status;
use super::{server_options, stdio};
use crate::Connection;

pub(super) async fn script(
    interrupt: &mut Interrupt,
    server: Server,
    answers: Answers,
    source: Source,
) -> Status {
    let mut connection = match Connection::new(server) {
        Ok(connection) => connection,
        Err(error) => {
            stdio::note(&server_options::config(&error));
            return Status::Usage;
        }
    };
    let news = Arc::new(Notify::new());
    let wake = news.clone();
    let mut runner = Runner::new(answers, source, move || wake.notify_one());
    let mut is_open = true;
    while !runner.is_over() {
        let now = connection.now();
        runner.advance(connection.session_mut(), now);
        if runner.is_over() {
            break;
        }
        let sleep = runner.next_timeout().map(|time| time.since(connection.now()));
        tokio::select! {
            _ = connection.next(|output| {
                is_open &= !matches!(output, Output::Closed(_));
                runner.handle_output(output);
                Some(())
            }), if is_open => {}
            () = news.notified() => {}
            () = tokio::time::sleep(sleep.unwrap_or(Duration::MAX)), if sleep.is_some() => {}
            signal = interrupt.next() => {
                let now = connection.now();
                if !runner.handle_signal(connection.session_mut(), now, signal) {
                    break;
                }
            }
        }
    }
    // What was handed to the printer is printed before the process ends, unless nobody wants to wait for that.
    loop {
        if let Some(status) = runner.status(connection.session()) {
            return status;
        }
        tokio::select! {
            () = news.notified() => {}
            signal = interrupt.next() => return signal,
        }
    }
}
