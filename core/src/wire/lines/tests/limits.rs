//! Lines over the limit.

use super::*;

fn response(id: &str) -> Event {
    Event::Oversized(Some(id.to_owned()), true)
}

#[test]
fn w02_the_id_is_found_wherever_it_stands() {
    let filling = "x".repeat(200);
    let bounds = Bounds { line: 64, discard: 10_000 };
    for (stream, expected) in [
        (format!(r#"{{"id":7,"result":"{filling}"}}"#), response("7")),
        (format!(r#"{{"jsonrpc":"2.0","result":"{filling}","id":7}}"#), response("7")),
        (format!(r#"{{"a":"{filling}","id":"seven","b":"{filling}","error":{{}}}}"#), response("\"seven\"")),
        (
            format!(r#"{{"result":{{"id":1,"x":[{{"id":2}}]}},"t":"\"id\":3 {filling}","id":7}}"#),
            response("7"),
        ),
        (format!(r#"{{"res\u0075lt":"{filling}","\u0069d":7}}"#), response("7")),
        (format!("\u{feff}\x1b[2K {{\"result\":\"{filling}\",\"id\":null}}"), response("null")),
        (
            format!(r#"{{"id":7,"method":"m","params":"{filling}"}}"#),
            Event::Oversized(Some("7".into()), false),
        ),
        (format!(r#"{{"result":"{filling}"}}"#), Event::Oversized(None, true)),
        (format!(r#"{{"id":{{"id":7}},"result":"{filling}"}}"#), Event::Oversized(None, true)),
        (format!(r#"{{"id":["\\7"],"result":"{filling}"}}"#), Event::Oversized(None, true)),
        (format!(r#"{{"id":"{filling}","result":1}}"#), Event::Oversized(None, true)),
        (format!(r#"{{"ID":7,"Result":"{filling}"}}"#), Event::Oversized(None, false)),
        (format!(r#"[{{"id":7,"result":"{filling}"}}]"#), Event::Oversized(None, false)),
        (format!(r#"log {{"id":7,"result":"{filling}"}}"#), Event::Oversized(None, false)),
        (filling.clone(), Event::Oversized(None, false)),
    ] {
        for last in ["", "\n", "\r\n"] {
            let expected = [line("{}"), expected.clone(), line("[]")];
            let stream = format!("{{}}\n{stream}{last}");
            let stream = if last.is_empty() { stream } else { stream + "[]" };
            let expected = if last.is_empty() { &expected[..2] } else { &expected };
            assert_eq!(whole(stream.as_bytes(), bounds), expected, "{stream}");
            assert_eq!(split(stream.as_bytes(), &[1], bounds).0, expected, "{stream}");
        }
    }
}

#[test]
fn w02_a_call_is_told_before_its_line_ends_and_only_once() {
    let mut buffer = LineBuffer::new(64, 10_000);
    let mut events = Vec::new();
    for piece in [r#"{"id":7,"result":""#, &"x".repeat(60), &"{\"id\":8}".repeat(50), "\",\"id\":9}\n{}\n"] {
        buffer.read_space()[..piece.len()].copy_from_slice(piece.as_bytes());
        buffer.filled(piece.len());
        drain(&mut buffer, &mut events);
        events.push(Event::Endless); // stands for the end of the piece
    }
    let mark = Event::Endless;
    assert_eq!(events, [mark.clone(), response("7"), mark.clone(), mark.clone(), line("{}"), mark]);
    assert_eq!(buffer.discarded(), 18 + 60 + 400 + 9);
}

#[test]
fn w02_the_limit_counts_the_bytes_before_the_newline() {
    let bounds = Bounds { line: 10, discard: 20 };
    let of = |length: usize| "x".repeat(length);
    let over = Event::Oversized(None, false);
    for size in [1, 3, usize::MAX] {
        let run = |length: usize| split(format!("{}\n{{}}\n", of(length)).as_bytes(), &[size], bounds).0;
        assert_eq!(run(10), [line(of(10)), line("{}")]);
        assert_eq!(run(11), [over.clone(), line("{}")]);
        assert_eq!(run(20), [over.clone(), line("{}")]);
        assert_eq!(run(21), [Event::Endless]);
        assert_eq!(split(of(20).as_bytes(), &[size], bounds).0, std::slice::from_ref(&over));
        assert_eq!(split(of(21).as_bytes(), &[size], bounds).0, [Event::Endless]);
    }
}

#[test]
fn w02_a_line_over_the_limit_without_an_end_is_told_once() {
    let mut buffer = LineBuffer::new(10, 100);
    let mut events = Vec::new();
    buffer.read_space()[..20].fill(b'x');
    buffer.filled(20);
    drain(&mut buffer, &mut events);
    buffer.end();
    drain(&mut buffer, &mut events);
    assert_eq!((events, buffer.discarded()), (vec![Event::Oversized(None, false)], 20));
}

#[test]
fn w02_all_of_a_line_over_the_limit_counts_as_thrown_away() {
    let stream = format!("{{}}\n{}\n{{}}\n", "x".repeat(300_000));
    for limit in [10, SHARED, 200_000] {
        for size in [4_099, usize::MAX] {
            let (_, buffer) = split(stream.as_bytes(), &[size], Bounds { line: limit, discard: 1 << 20 });
            assert_eq!(buffer.discarded(), 300_000, "{limit} {size}");
        }
    }
}

#[test]
fn w02_a_line_is_long_once_64_kib_are_there_or_some_were_thrown_away() {
    for (line, long) in [(WIDE.line, SHARED), (10, 11)] {
        let mut buffer = LineBuffer::new(line, WIDE.discard);
        assert!(!buffer.is_long());
        for (bytes, is_long) in [(&vec![b'x'; long - 1][..], false), (b"x", true), (b"\nx", false)] {
            buffer.read_space()[..bytes.len()].copy_from_slice(bytes);
            buffer.filled(bytes.len());
            drain(&mut buffer, &mut Vec::new());
            assert_eq!(buffer.is_long(), is_long, "{} of {long}", bytes.len());
        }
    }
}

#[test]
fn w02_past_the_discard_limit_nothing_more_comes_out() {
    let mut buffer = LineBuffer::new(100, 200_000);
    let mut events = Vec::new();
    let mut given = 0;
    while given < 1_000_000 {
        let space = buffer.read_space();
        space.fill(b'a');
        given += SHARED;
        let n = space.len();
        buffer.filled(n);
        drain(&mut buffer, &mut events);
    }
    assert_eq!(events, [Event::Endless]);
    assert_eq!(buffer.discarded(), 200_000);
    assert!(buffer.read_space().is_empty());
    assert_eq!(buffer.held(), 0);
    buffer.end();
    assert_eq!(buffer.next(), None);
}

#[test]
fn w02_equal_limits_end_at_the_line_limit() {
    let bounds = Bounds { line: 10, discard: 0 };
    assert_eq!(whole(b"xxxxxxxxxx\nxxxxxxxxxxx\n{}\n", bounds), [line("xxxxxxxxxx"), Event::Endless]);
}
