//! What came out of a session, as text that can be compared.

use std::fmt::{self, Write};

use sans_mcp::error::Failure;
use sans_mcp::{Completion, Output, Reply, Time};

use crate::Token;

/// A result longer than this is shown by its length and a checksum.
const LONGEST: usize = 400;

/// All that came out, in three streams that have an order of their own: reading and writing are independent, so how they
/// mix depends on how bytes were cut, and nothing else does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// What the host was told.
    pub host: Vec<(Time, String)>,
    /// Lines that the server got.
    pub wire: Vec<(Time, String)>,
    /// What was done with the process.
    pub process: Vec<(Time, String)>,
}

impl Trace {
    /// Whether a line to the host contains `text`.
    pub fn told(&self, text: &str) -> bool {
        self.host.iter().any(|(_, line)| line.contains(text))
    }

    /// Lines to the host that contain `text`.
    pub fn count(&self, text: &str) -> usize {
        self.host.iter().filter(|(_, line)| line.contains(text)).count()
    }

    /// Says where two traces part, if they do.
    pub fn difference(&self, other: &Trace) -> Option<String> {
        let streams = [
            ("host", &self.host, &other.host),
            ("wire", &self.wire, &other.wire),
            ("process", &self.process, &other.process),
        ];
        streams.into_iter().find_map(|(name, one, two)| {
            let at = (0..one.len().max(two.len())).find(|at| one.get(*at) != two.get(*at))?;
            Some(format!("{name} line {at}: {:?} against {:?}", one.get(at), two.get(at)))
        })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, stream) in [("host", &self.host), ("wire", &self.wire), ("process", &self.process)] {
            for (time, line) in stream {
                writeln!(f, "{name} {:>9} {line:.400}", time.as_micros())?;
            }
        }
        Ok(())
    }
}

/// One output as a line.
pub fn line(output: &Output<'_, Token>) -> String {
    match output {
        Output::Complete(completion) => completed(completion),
        Output::Request(request) => {
            format!(
                "request {} {} {}",
                request.handle.number(),
                request.method,
                request.params.unwrap_or("-")
            )
        }
        Output::Progress(progress) => format!("progress {} {}", progress.token, progress.params),
        Output::Notification(notification) => {
            format!("notification {} {}", notification.method, short(notification.params.unwrap_or("-")))
        }
        Output::Diagnostic(diagnostic) => format!("diagnostic {diagnostic}"),
        Output::Stderr(bytes) => format!("stderr {}", String::from_utf8_lossy(bytes)),
        Output::Write(bytes) => format!("write {}", String::from_utf8_lossy(bytes)),
        Output::Closed(end) => format!("closed {end}"),
        other => format!("{other:?}"),
    }
}

fn completed(completion: &Completion<'_, Token>) -> String {
    let outcome = match &completion.outcome {
        Ok(Reply::Connected) => "connected".to_owned(),
        Ok(Reply::Listed) => "listed".to_owned(),
        Ok(Reply::Answer(answer)) => format!("answer {}", short(answer.as_str())),
        Err(failure) => failed(failure),
    };
    let handle = completion.handle;
    format!(
        "complete {} as {handle} after {} us: {outcome}",
        completion.token,
        completion.elapsed.as_micros()
    )
}

/// Code, delivery and text of a failure.
pub fn failed(failure: &Failure) -> String {
    let mut text = format!("{} {} {failure}", failure.code(), failure.delivery().as_str());
    if let Some(data) = failure.remote().and_then(|remote| remote.data.as_deref()) {
        let _ = write!(text, " data {}", short(data));
    }
    text
}

/// A result, or its length and a checksum if it is long.
pub fn short(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    format!("[{} bytes, {:016x}]", text.len(), checksum(text.as_bytes()))
}

/// Tells texts apart (FNV-1a): for comparing, not against an adversary.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
