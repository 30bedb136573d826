//! What tests of this module need of a server.

use std::sync::Arc;

use sans_mcp::{Output, Server, Session, Time, Tool};
use serde_json::Value;

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"testing","version":"1"}}"#;

/// A tool called `tool` with this schema, as a session lists it.
pub(super) fn tool(schema: &str) -> Arc<Tool> {
    let mut session = Session::<()>::new(Server::new("testing", "testing")).expect("a good configuration");
    session.connect(Time::ZERO, ()).expect("a new session connects");
    loop {
        let written = match session.poll_output() {
            Output::Spawn => {
                session.handle_spawned(Time::ZERO, 1);
                continue;
            }
            Output::Write(bytes) => bytes.to_vec(),
            Output::Complete(done) => {
                done.outcome.expect("it connects");
                break;
            }
            _ => continue,
        };
        session.handle_written(Time::ZERO, written.len());
        for line in written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let request: Value = serde_json::from_slice(line).expect("a message");
            let result = match request["method"].as_str() {
                Some("initialize") => INITIALIZED.to_owned(),
                // As text, so that the members of the schema keep their order.
                Some("tools/list") => format!(r#"{{"tools":[{{"name":"tool","inputSchema":{schema}}}]}}"#),
                _ => continue,
            };
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"]);
            let line = answer.replace('\n', " ") + "\n";
            assert_eq!(session.handle_stdout(Time::ZERO, line.as_bytes()), line.len());
        }
    }
    session.catalog().get("tool").expect("it was listed").clone()
}
