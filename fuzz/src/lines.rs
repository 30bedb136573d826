//! Output of a server: cut in any way, and split by a naive reader, it comes to the same (rows W01 to W03).
//!
//! The first byte sets how the session reads, the second how the output is cut; the rest is the output, in which 0xfe and
//! a number stand for sixteen times that many letters, so that small inputs have long lines.

use sans_mcp::{Conduct, IdMatching, Server, Settings, Utf8};
use sans_mcp_tests::random::{Chunking, Random};

use crate::source::Source;
use crate::stage::Stage;

/// Limits on lines and on what is discarded: the least that can be set, and then more.
const LIMITS: [(usize, usize); 4] =
    [(1 << 10, 1 << 10), (1 << 10, 3 << 10), (1 << 10, 64 << 20), (2 << 10, 5 << 10)];

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut source = Source::new(data);
    let how = source.byte();
    let mut random = Random::new(u64::from(source.byte()));
    let stream = stretched(source);

    let whole = heard(how, [&stream[..]], stream.len());
    let mut pieces = Vec::new();
    let mut rest = &stream[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(Chunking::Pieces.size(&mut random, rest.len()));
        pieces.push(piece);
        rest = after;
    }
    assert_eq!(heard(how, pieces, stream.len()), whole, "in pieces, and at once");

    let lines = naive_lines(&stream, how);
    assert_eq!(
        heard(how, lines.iter().map(|line| &line[..]), stream.len()),
        whole,
        "by naive lines, and at once"
    );
}

fn stretched(mut source: Source<'_>) -> Vec<u8> {
    let mut stream = Vec::new();
    while !source.is_empty() {
        match source.byte() {
            0xfe => stream.resize(stream.len() + 16 * usize::from(source.byte()), b'x'),
            byte => stream.push(byte),
        }
    }
    stream
}

fn limits(how: u8) -> (usize, usize) {
    LIMITS.get(usize::from(how & 3)).copied().unwrap_or((1 << 10, 1 << 10))
}

/// What the host was told of output that came so, up to the end of the session, and how many lines were too long.
fn heard<'a>(how: u8, pieces: impl IntoIterator<Item = &'a [u8]>, length: usize) -> (Vec<String>, u64) {
    let mut settings = Settings::default();
    (settings.limits.line, settings.limits.discard) = limits(how);
    settings.capabilities.roots = true;
    if how & 4 != 0 {
        settings.conduct = Conduct::Strict;
    }
    if how & 8 != 0 {
        settings.utf8 = Utf8::Replace;
    }
    if how & 16 != 0 {
        settings.id_matching = IdMatching::Decimal;
    }
    let version = if how & 32 != 0 { "2025-03-26" } else { "2025-11-25" };
    let server = Server::new("lines", "lines").settings(settings);
    let Some(mut stage) = Stage::connected(server, version) else {
        unreachable!("the settings of this target")
    };
    for token in 1..5 {
        stage.call(token);
    }
    for piece in pieces {
        stage.hear(piece);
    }
    let held = stage.session.counters();
    assert!(held.noise_lines + held.long_lines <= length as u64 + 1, "more lines than bytes: {held:?}");
    stage.session.handle_eof(stage.now);
    stage.finish();
    let long_lines = stage.session.counters().long_lines;
    (stage.told, long_lines)
}

/// The lines, each with what is certain to be no part of a message taken away before it.
fn naive_lines(stream: &[u8], how: u8) -> Vec<Vec<u8>> {
    let (limit, _) = limits(how);
    let mut lines = Vec::new();
    let mut pieces = stream.split(|byte| *byte == b'\n').peekable();
    while let Some(piece) = pieces.next() {
        let is_last = pieces.peek().is_none();
        let mut line = if piece.len() > limit { piece.to_vec() } else { plain(piece).to_vec() };
        if !is_last {
            line.push(b'\n');
        } else if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    lines
}

/// A line whose object begins behind escape sequences and the like begins with the object; any other stays as it is.
fn plain(line: &[u8]) -> &[u8] {
    let mut rest = line;
    while !rest.starts_with(b"{") {
        rest = match rest {
            [0xef, 0xbb, 0xbf, after @ ..] => after,
            [0x1b, b'[', after @ ..] => {
                let parameters = after.iter().take_while(|byte| (b' '..=b'?').contains(byte)).count();
                match after.get(parameters..) {
                    Some([b'@'..=b'~', after @ ..]) => after,
                    _ => return line,
                }
            }
            [0x1b, b']', after @ ..] => {
                let ends = |at: &usize| {
                    let here = after.get(*at..).unwrap_or_default();
                    here.starts_with(b"\x07") || here.starts_with(b"\x1b\\")
                };
                match (0..after.len()).find(ends) {
                    Some(at) if after.get(at) == Some(&7) => after.get(at + 1..).unwrap_or_default(),
                    Some(at) => after.get(at + 2..).unwrap_or_default(),
                    None => return line,
                }
            }
            [0x1b, b'(', _, after @ ..] | [0x1b, b'=' | b'>' | b'c' | b'7' | b'8', after @ ..] => after,
            [0x1b, ..] => return line,
            [0..=b' ', after @ ..] => after,
            _ => return line,
        };
    }
    rest
}
