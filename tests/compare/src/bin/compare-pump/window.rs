//! Requests of which so many are open at a time.

use crate::Outcome;
use crate::pipes::Pipes;

/// So many requests and their answers fit into the pipes, so that waiting in a write cannot go on for ever.
const FITS: usize = 256;

/// Lines, and where each ends.
pub(crate) struct Requests {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Requests {
    pub(crate) fn echo(n: usize) -> Requests {
        let mut requests = Requests { bytes: Vec::new(), ends: Vec::with_capacity(n) };
        for number in 0..n {
            requests.bytes.extend_from_slice(echo(number).as_bytes());
            requests.ends.push(requests.bytes.len());
        }
        requests
    }

    /// Where the line of this number ends, or the last one.
    fn end(&self, number: usize) -> usize {
        let number = number.min(self.ends.len());
        number.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }
}

/// The request for an echo; the numbers below 100 are for the handshake.
pub(crate) fn echo(number: usize) -> String {
    let id = number + 100;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"value":"hello {number}"}}}}}}"#
    ) + "\n"
}

pub(crate) fn run(pipes: &mut Pipes, window: usize, requests: &Requests) -> Outcome {
    let n = requests.ends.len();
    let (mut written, mut answered) = (0, 0);
    if window <= FITS {
        while answered < n {
            let end = requests.end(answered + window);
            pipes.write_all(requests.bytes.get(written..end).unwrap_or_default())?;
            written = end;
            answered += pipes.read()?;
        }
        return Ok(());
    }
    pipes.never_wait()?;
    while answered < n {
        let end = requests.end(answered + window);
        let count = match requests.bytes.get(written..end) {
            Some(bytes) if !bytes.is_empty() => pipes.write(bytes)?,
            _ => 0,
        };
        written += count;
        match pipes.try_read()? {
            Some(lines) => answered += lines,
            None if count == 0 => pipes.wait(written < end)?,
            None => {}
        }
    }
    Ok(())
}
