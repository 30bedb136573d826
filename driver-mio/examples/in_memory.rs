//! A server in memory, for tests of a host: no process, and no waiting, since the host hands in the time.

use std::{collections::VecDeque, io::Read};

use sans_mcp_mio::{
    Call, Code, Connection, Exit, Moved, Output, Pipes, Server, Signal, Signalled, Time, Tree,
};
use serde_json::Value;

const HELLO: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"memory","version":"1"}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"greet","inputSchema":{}},{"name":"never","inputSchema":{}}]}"#;
const GREETING: &str = r#"{"content":[{"type":"text","text":"hello"}]}"#;

#[derive(Default)]
struct Memory {
    input: Vec<u8>,
    output: VecDeque<u8>,
    exit: Option<Exit>,
}

impl Pipes for Memory {
    fn spawn(&mut self, _: &Server) -> Result<u32, sans_mcp_mio::StartFailure> {
        Ok(1)
    }
    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        match self.output.read(space) {
            Ok(count @ 1..) => Moved::Bytes(count),
            _ if self.exit.is_some() => Moved::Ended,
            _ => Moved::Blocked,
        }
    }
    fn read_stderr(&mut self, _: &mut [u8]) -> Moved {
        Moved::Blocked
    }
    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        self.input.extend(bytes);
        while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            let request: Value = serde_json::from_slice(&line).unwrap_or_default();
            let Some(id) = request.get("id") else { continue };
            let text = |path| request.pointer(path).and_then(Value::as_str);
            let result = match (text("/method"), text("/params/name")) {
                (Some("initialize"), _) => HELLO,
                (Some("tools/list"), _) => TOOLS,
                (Some("tools/call"), Some("greet")) => GREETING,
                _ => continue,
            };
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n");
            self.output.extend(answer.bytes());
        }
        Moved::Bytes(bytes.len())
    }
    fn take_writable(&mut self) -> bool {
        false
    }
    fn close_stdin(&mut self) {
        self.exit.get_or_insert(Exit::Code(0));
    }
    fn signal(&mut self, _: Signal) -> Signalled {
        self.exit.get_or_insert(Exit::Signal(9));
        Signalled::Delivered
    }
    fn exit(&mut self) -> Option<Exit> {
        self.exit
    }
    fn reap(&mut self) -> Exit {
        self.exit.unwrap_or(Exit::Unknown)
    }
    fn probe(&mut self) -> Tree {
        if self.exit.is_some() { Tree::Gone } else { Tree::Alive(1) }
    }
}

/// What ends next and why it failed, if the host under test does nothing but let the time pass.
fn next(docs: &mut Connection<&'static str, Memory>, now: &mut Time) -> Option<(&'static str, Option<Code>)> {
    let mut told = None;
    while told.is_none() {
        *now = *now + docs.timeout(*now)?;
        docs.pump(*now, |output| match output {
            Output::Complete(done) => {
                told = Some((done.token, done.outcome.err().map(|failure| failure.code())))
            }
            Output::Closed(_) => told = Some(("close", None)),
            _ => {}
        });
    }
    told
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut docs = Connection::over(Server::new("docs", "docs-server"), Memory::default())?;
    let mut now = Time::ZERO;
    docs.connect(now, "connect")?;
    assert_eq!(next(&mut docs, &mut now), Some(("connect", None)));
    docs.call(now, Call::new("greet", "{}"), "greet")?;
    assert_eq!(next(&mut docs, &mut now), Some(("greet", None)));
    docs.call(now, Call::new("never", "{}"), "never")?;
    assert_eq!(next(&mut docs, &mut now), Some(("never", Some(Code::TIMEOUT))));
    docs.close(now);
    assert_eq!(next(&mut docs, &mut now), Some(("close", None)));
    Ok(())
}
