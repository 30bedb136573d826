//! What is called on which server.

use serde_json::json;

use sans_mcp::{Call, Limits, Server, Settings};

/// The program to compare on, with the arguments of the comparison.
pub(super) fn server(program: &str) -> Server {
    let arguments = std::env::var("BENCH_SERVER_ARGS").unwrap_or_default();
    Server::new("bench", program).args(arguments.split_whitespace())
}

/// The same for results of so many bytes: a line may be longer than the default where that is too short for them.
pub(super) fn server_of_blobs(program: &str, bytes: usize) -> Server {
    let line = bytes + 1024;
    let mut settings = Settings::default();
    if line > Limits::LINE {
        settings.limits.line = line;
        settings.limits.discard = settings.limits.discard.max(line);
    }
    server(program).settings(settings)
}

pub(super) fn echo(text: &str) -> Call {
    Call::new("echo", json!({ "value": text }).to_string())
}

/// An echo whose text says which it is.
pub(super) fn numbered(number: usize) -> Call {
    Call::new("echo", format!(r#"{{"value":"hello {number}"}}"#))
}

/// Whether this is the text of the echo with that number.
pub(super) fn is_numbered(text: &str, number: usize) -> bool {
    text.strip_prefix("hello ").and_then(|number| number.parse().ok()) == Some(number)
}

pub(super) fn sleep(milliseconds: u64) -> Call {
    Call::new("sleep", format!(r#"{{"ms":{milliseconds}}}"#))
}

pub(super) fn blob(bytes: usize) -> Call {
    Call::new("blob", format!(r#"{{"bytes":{bytes}}}"#))
}
