//! The same answers from a naive reader that has the whole stream at hand, and streams to compare them on.

use proptest::prelude::*;
use serde_json::Value;

use super::{Bounds, Event, line};

/// Splits as the rows say it, with the whole stream at hand. Knows lines over the limit only as whole JSON objects.
pub(super) fn oracle(stream: &[u8], bounds: Bounds) -> Vec<Event> {
    let mut events = Vec::new();
    for piece in stream.split(|byte| *byte == b'\n') {
        if piece.len() > bounds.line {
            let seen = &piece[..piece.len().min(bounds.discard)];
            let object = serde_json::from_slice::<Value>(&naive_strip(seen)).ok();
            let member = |name: &str| object.as_ref().and_then(|object| object.get(name));
            let answers =
                (member("result").is_some() || member("error").is_some()) && member("method").is_none();
            if piece.len() <= bounds.discard {
                events.push(Event::Oversized(member("id").map(Value::to_string), answers));
            } else {
                events.push(Event::Endless);
                return events;
            }
        } else {
            let stripped = naive_strip(piece);
            if stripped.iter().any(|byte| !b" \t\r".contains(byte)) {
                events.push(line(stripped));
            }
        }
    }
    events
}

fn naive_strip(piece: &[u8]) -> Vec<u8> {
    let text: Vec<char> = piece.iter().map(|byte| char::from(*byte)).collect();
    let mut text: &[char] = &text;
    if let [before @ .., '\r'] = text {
        text = before;
    }
    let plain = match text {
        ['\u{ef}', '\u{bb}', '\u{bf}', after @ ..] => after,
        _ => text,
    };
    let mut rest = text;
    let stripped = loop {
        rest = match rest {
            ['{', ..] => break rest,
            ['\u{ef}', '\u{bb}', '\u{bf}', after @ ..] => after,
            ['\u{1b}', '[', after @ ..] => match after.iter().position(|c| !(' '..='?').contains(c)) {
                Some(last) if ('@'..='~').contains(&after[last]) => &after[last + 1..],
                _ => break plain,
            },
            ['\u{1b}', ']', after @ ..] => {
                let bell = after.iter().position(|c| *c == '\u{7}').map(|at| at + 1);
                let terminator = after.windows(2).position(|two| two == ['\u{1b}', '\\']).map(|at| at + 2);
                match bell.into_iter().chain(terminator).min() {
                    Some(end) => &after[end..],
                    None => break plain,
                }
            }
            ['\u{1b}', '(', _, after @ ..] | ['\u{1b}', '=' | '>' | 'c' | '7' | '8', after @ ..] => after,
            ['\0'..=' ', after @ ..] if rest[0] != '\u{1b}' => after,
            _ => break plain,
        };
    };
    stripped.iter().map(|c| *c as u8).collect()
}

fn line_piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&'static [u8]> = vec![
        b"",
        b" \t ",
        b"\r",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf{}",
        b"\xef\xbb[]",
        b"{\"id\":1,\"result\":{}}",
        b"  {\"id\":1,\"result\":{}}  ",
        b"\x1b[2K\x1b[1G{\"id\":2}",
        b"\x1b]0;title\x07\x1b(B\x1b[m{\"id\":3}",
        b"\x1b]8;;x\x1b\\\x1b=\x00\x08{\"id\":4}",
        b"\x1b[31mred\x1b[0m {\"id\":5}",
        b"\x1b]0;never closed {\"id\":6}",
        b"\x1b[0",
        "{\"text\":\"\u{e9}\u{20ac}\u{1f600}\u{2028}\u{85}\"}".as_bytes(),
        b"\xff\xfe{}",
        b"listening on port 80",
        b"{\"a\":\"x\ry\"}",
        b"\xc3",
    ];
    prop_oneof![
        4 => proptest::sample::select(fixed).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..20)
            .prop_map(|bytes| bytes.into_iter().filter(|byte| *byte != b'\x1b').collect()),
        2 => long_response(),
    ]
}

/// An object of some 50 to 250 bytes with decoys, its members in any order.
pub(super) fn long_response() -> impl Strategy<Value = Vec<u8>> {
    let filling = "x".repeat(40);
    let members = vec![
        r#""jsonrpc":"2.0""#.to_owned(),
        r#""id" : 17"#.to_owned(),
        format!(r#""result":{{"id":99,"method":"no","text":"\"id\":98,{{[\\","more":"{filling}"}}"#),
        r#""ID":97"#.to_owned(),
        r#""other":[{"id":96},"id",{"error":1}]"#.to_owned(),
        r#""method":"x""#.to_owned(),
    ];
    (Just(members).prop_shuffle(), 2..=6_usize)
        .prop_map(|(members, count)| format!("{{{}}}", members[..count].join(",")).into_bytes())
}

/// Such a response is told as one before its method is seen, which the naive reader cannot know.
pub(super) fn has_no_late_method(object: &[u8]) -> bool {
    let text = String::from_utf8_lossy(object);
    let place = |member: &str| text.find(member).unwrap_or(usize::MAX);
    let method = place(r#""method":"x""#);
    method == usize::MAX || method < place(r#""result""#).max(place(r#""id" : 17"#))
}

pub(super) fn stream() -> impl Strategy<Value = Vec<u8>> {
    let end = proptest::sample::select(vec![&b"\n"[..], b"\r\n", b"\n\n"]);
    (proptest::collection::vec((line_piece(), end), 0..12), line_piece()).prop_map(|(lines, last)| {
        let mut stream = Vec::new();
        for (piece, end) in lines {
            stream.extend(piece);
            stream.extend(end);
        }
        stream.extend(last);
        stream
    })
}
