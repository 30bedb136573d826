//! Steps, escapes and placeholders.

use std::fmt;
use std::time::Duration;

/// A piece of what a step writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// A member of the message that is answered.
    Field(Field),
    /// The same parts, so many times.
    Repeat(usize, Vec<Part>),
    /// A pause.
    Sleep(Duration),
    /// From here on so many bytes per write, and a pause between writes.
    Chunk(usize, Duration),
    /// The process exits with this status.
    Exit(i32),
    /// Waits until the client has answered the request of this id; nothing: of the id that is being answered.
    WaitReply(Option<String>),
}

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The id.
    Id,
    /// The id plus one.
    IdPlusOne,
    /// The progress token.
    Token,
    /// The id that a cancel notice names.
    CancelledId,
    /// The version that the client asked for.
    Version,
}

/// The text is not in the notation, from this byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub usize);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the trigger at byte {}", self.0)
    }
}

impl std::error::Error for Fault {}

/// Reads the bytes of one step; `cap` is what `CAP` stands for.
///
/// # Errors
/// Where reading stopped.
pub fn parse(text: &str, cap: usize) -> Result<Vec<Part>, Fault> {
    let mut reader = Reader { text, at: 0, cap };
    let parts = reader.parts(false)?;
    if reader.at == text.len() { Ok(parts) } else { Err(Fault(reader.at)) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    cap: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn parts(&mut self, inside: bool) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        while let Some(first) = self.rest().chars().next() {
            match first {
                '>' if inside => break,
                '\\' => {
                    let byte = self.escape()?;
                    push(&mut parts, &[byte]);
                }
                '<' => match self.placeholder()? {
                    Some(part) => parts.push(part),
                    None => push(&mut parts, b"<"),
                },
                other => {
                    self.at += other.len_utf8();
                    push(&mut parts, other.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        Ok(parts)
    }

    fn escape(&mut self) -> Result<u8, Fault> {
        let rest = self.rest();
        let hexadecimal = rest.strip_prefix("\\x").and_then(|rest| rest.get(..2));
        let (byte, length) = match rest.as_bytes().get(1) {
            Some(b'n') => (Some(b'\n'), 2),
            Some(b'r') => (Some(b'\r'), 2),
            Some(b't') => (Some(b'\t'), 2),
            Some(b'\\') => (Some(b'\\'), 2),
            _ => (hexadecimal.and_then(|digits| u8::from_str_radix(digits, 16).ok()), 4),
        };
        let byte = byte.ok_or(Fault(self.at))?;
        self.at += length;
        Ok(byte)
    }

    /// `None`: an angle bracket that forms no placeholder.
    fn placeholder(&mut self) -> Result<Option<Part>, Fault> {
        let rest = self.rest();
        if let Some(after) = rest.strip_prefix("<REPEAT:") {
            let (count, body) = after.split_once(':').ok_or(Fault(self.at))?;
            let count = if count == "CAP" { Some(self.cap) } else { count.parse().ok() };
            let count = count.ok_or(Fault(self.at))?;
            let begin = self.at;
            self.at += rest.len() - body.len();
            let parts = self.parts(true)?;
            if !self.rest().starts_with('>') {
                return Err(Fault(begin));
            }
            self.at += 1;
            return Ok(Some(Part::Repeat(count, parts)));
        }
        let word =
            rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(word, _)| word.to_owned());
        let part = word.as_deref().and_then(simple);
        self.at += if part.is_some() { word.map_or(1, |word| word.len() + 2) } else { 1 };
        Ok(part)
    }
}

fn simple(word: &str) -> Option<Part> {
    let (name, arguments) = word.split_once(':').unwrap_or((word, ""));
    let milliseconds = |text: &str| text.parse().ok().map(Duration::from_millis);
    Some(match name {
        "ID" => Part::Field(Field::Id),
        "ID+1" => Part::Field(Field::IdPlusOne),
        "TOKEN" => Part::Field(Field::Token),
        "CANCELLED_ID" => Part::Field(Field::CancelledId),
        "VERSION" => Part::Field(Field::Version),
        "SLEEP" => Part::Sleep(milliseconds(arguments)?),
        "CHUNK" => {
            let (size, pause) = arguments.split_once(':')?;
            Part::Chunk(size.parse().ok().filter(|size| *size > 0)?, milliseconds(pause)?)
        }
        "EXIT" => Part::Exit(arguments.parse().ok()?),
        "WAIT_REPLY" => Part::WaitReply((arguments != "same").then(|| as_id(arguments))),
        _ => return None,
    })
}

/// The JSON text of an id: a number as it is, any other word as a string.
fn as_id(word: &str) -> String {
    if word.parse::<f64>().is_ok() { word.to_owned() } else { format!("\"{word}\"") }
}

fn push(parts: &mut Vec<Part>, bytes: &[u8]) {
    match parts.last_mut() {
        Some(Part::Bytes(present)) => present.extend_from_slice(bytes),
        _ => parts.push(Part::Bytes(bytes.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_placeholders_become_parts() {
        let parts =
            parse("a\\x41\\n<ID>,<REPEAT:2:[<TOKEN>]> <x> <SLEEP:5><CHUNK:3:4><EXIT:7><WAIT_REPLY:s-1>", 9);
        let bytes = |text: &str| Part::Bytes(text.as_bytes().to_vec());
        assert_eq!(
            parts,
            Ok(vec![
                bytes("aA\n"),
                Part::Field(Field::Id),
                bytes(","),
                Part::Repeat(2, vec![bytes("["), Part::Field(Field::Token), bytes("]")]),
                bytes(" <x> "),
                Part::Sleep(Duration::from_millis(5)),
                Part::Chunk(3, Duration::from_millis(4)),
                Part::Exit(7),
                Part::WaitReply(Some("\"s-1\"".to_owned())),
            ])
        );
        assert_eq!(parse("<REPEAT:CAP:é>", 9), Ok(vec![Part::Repeat(9, vec![bytes("é")])]));
        assert_eq!(parse("<WAIT_REPLY:same>", 9), Ok(vec![Part::WaitReply(None)]));
        assert_eq!(parse("x\\q", 9), Err(Fault(1)));
        assert_eq!(parse("<REPEAT:3:x", 9), Err(Fault(0)));
    }
}
