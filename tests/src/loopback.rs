//! A session whose server is at hand in memory, for counting what calls cost.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use sans_mcp::{Call, Completion, Output, Reply, Request, Server, Session, Settings, Time, ToolResult};

use crate::Token;

/// What was asked for, or why not, in words.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request by its method; nothing is read of its result.
    Generic,
    /// A call of a tool with all defaults; its result is checked, and the text of it is read.
    Tool,
}

/// A call that is not handed in yet.
#[derive(Debug)]
pub enum Prepared {
    /// By its method.
    Request(Request),
    /// Of a tool.
    Call(Call),
}

/// A connected session.
#[derive(Debug)]
pub struct Loopback {
    session: Session<Token>,
    now: Time,
    answered: usize,
    failed: usize,
}

/// What is said of the session's own requests, which have the numbers after that of the connect.
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"loopback","version":"1"}}}"#;

/// Tells from its token what kind a call is.
const GENERIC: Token = 0;
const TOOL: Token = 1;

/// How much time passes from step to step.
const STEP: Duration = Duration::from_micros(1);

impl Kind {
    /// A call of some 120 bytes on the wire.
    pub fn prepare(self) -> Prepared {
        let json = r#"{"value":"hello from the caller"}"#;
        match self {
            Kind::Generic => Prepared::Request(Request::new("bench/echo").params(json)),
            Kind::Tool => Prepared::Call(Call::new("echo", json)),
        }
    }
}

/// The line of some 150 bytes that answers the call with this number.
pub fn answer(number: u64) -> String {
    let text = format!("hello from the echo tool number {number}, some padding");
    let [head, tail] = around(number);
    format!("{head}{text}{tail}")
}

/// What stands before and after the text in a line that answers the call with this number.
pub fn around(number: u64) -> [String; 2] {
    [
        format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":""#),
        "\"}],\"isError\":false}}\n".to_owned(),
    ]
}

impl Loopback {
    /// The number of the first call.
    pub const FIRST_CALL: u64 = 4;

    /// A session with a server of which the one tool is `echo`.
    ///
    /// # Errors
    ///
    /// What keeps it from being connected.
    pub fn connect() -> Outcome<Loopback> {
        Loopback::connect_to(&listing(1))
    }

    /// A session with a server of this [`listing`]. All settings are the defaults, but for the number of open calls and the
    /// length of a line, which are far above what is measured.
    ///
    /// # Errors
    ///
    /// What keeps it from being connected.
    pub fn connect_to(listing: &str) -> Outcome<Loopback> {
        let mut settings = Settings::default();
        settings.limits.pending = 1 << 20;
        settings.limits.line = 1 << 28;
        settings.limits.discard = 1 << 28;
        let session = Session::new(Server::new("loopback", "none").settings(settings))?;
        let mut loopback = Loopback { session, now: Time::ZERO, answered: 0, failed: 0 };
        loopback.session.connect(loopback.now, GENERIC)?;
        loopback.write();
        loopback.read(format!("{INITIALIZED}\n").as_bytes(), usize::MAX)?;
        loopback.write();
        loopback.read(listing.as_bytes(), usize::MAX)?;
        match loopback.answered()? {
            0 => Err("it is not connected".into()),
            _ => Ok(loopback),
        }
    }

    /// Hands calls in, and gives the number of the last one.
    ///
    /// # Errors
    ///
    /// A call that is refused.
    pub fn call(&mut self, calls: impl IntoIterator<Item = Prepared>) -> Outcome<u64> {
        self.step();
        let mut last = 0;
        for call in calls {
            let handle = match call {
                Prepared::Request(request) => self.session.request(self.now, request, GENERIC)?,
                Prepared::Call(call) => self.session.call(self.now, call, TOOL)?,
            };
            last = handle.number();
        }
        Ok(last)
    }

    /// Writes what waits to be written, and gives how many bytes that was.
    pub fn write(&mut self) -> usize {
        self.step();
        self.poll()
    }

    /// Reads this, at most `piece` bytes at a time.
    ///
    /// # Errors
    ///
    /// The session does not take it.
    pub fn read(&mut self, mut bytes: &[u8], piece: usize) -> Outcome {
        while !bytes.is_empty() {
            self.step();
            let most = bytes.get(..piece.min(bytes.len())).unwrap_or_default();
            let count = self.session.handle_stdout(self.now, most);
            if count == 0 {
                return Err("the session reads no more".into());
            }
            bytes = bytes.get(count..).unwrap_or_default();
            self.poll();
        }
        Ok(())
    }

    /// How many operations went well so far, the connect included.
    ///
    /// # Errors
    ///
    /// Some did not.
    pub fn answered(&self) -> Outcome<usize> {
        if self.failed == 0 { Ok(self.answered) } else { Err(format!("{} calls failed", self.failed).into()) }
    }

    fn step(&mut self) {
        self.now = self.now + STEP;
        self.session.handle_timeout(self.now);
    }

    /// Does what is due, and gives how many bytes were written.
    fn poll(&mut self) -> usize {
        let mut written = 0;
        loop {
            match self.session.poll_output() {
                Output::Write(bytes) => {
                    let count = bytes.len();
                    written += count;
                    self.session.handle_written(self.now, count);
                }
                Output::Spawn => self.session.handle_spawned(self.now, 1),
                Output::Complete(done) => {
                    let count = if is_well(done) { &mut self.answered } else { &mut self.failed };
                    *count += 1;
                }
                Output::Wait { .. } | Output::Closed(_) => return written,
                _ => {}
            }
        }
    }
}

/// Whether the operation went well; what its kind reads of the result is read.
fn is_well(done: Completion<'_, Token>) -> bool {
    match done.outcome {
        Ok(Reply::Answer(answer)) if done.token == GENERIC => !black_box(answer.as_str()).is_empty(),
        Ok(Reply::Answer(mut answer)) => {
            answer.check().is_ok()
                && ToolResult::parse(answer.as_str()).is_ok_and(|result| !black_box(result.text()).is_empty())
        }
        Ok(Reply::Connected | Reply::Listed) => true,
        Err(_) => false,
    }
}

/// The line that answers the request for tools: so many, the first of which is `echo`.
pub fn listing(tools: usize) -> String {
    let others = (1..tools).map(|number| tool(&format!("other_{number}")));
    let tools: Vec<String> = std::iter::once(tool("echo")).take(tools).chain(others).collect();
    format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"tools\":[{}]}}}}\n", tools.join(","))
}

fn tool(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"gives back what it is given","inputSchema":{{"type":"object","properties":{{"value":{{"type":"string"}}}}}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_kinds_are_answered_in_any_pieces() {
        for kind in [Kind::Generic, Kind::Tool] {
            for piece in [1, 7, 64, usize::MAX] {
                let mut loopback = Loopback::connect_to(&listing(3)).unwrap();
                let last = loopback.call([kind.prepare(), kind.prepare()]).unwrap();
                assert_eq!(last, Loopback::FIRST_CALL + 1);
                assert!(loopback.write() > 150);
                for number in [last, last - 1] {
                    loopback.read(answer(number).as_bytes(), piece).unwrap();
                }
                assert_eq!(loopback.answered().unwrap(), 3, "{kind:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn an_answer_to_nothing_is_no_answer() {
        let mut loopback = Loopback::connect().unwrap();
        loopback.read(answer(99).as_bytes(), usize::MAX).unwrap();
        assert_eq!(loopback.answered().unwrap(), 1);
    }
}
