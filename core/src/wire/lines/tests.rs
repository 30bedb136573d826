use proptest::prelude::*;

use self::oracle::{has_no_late_method, long_response, oracle, stream};
use super::*;

#[cfg(feature = "explore")]
mod digest;
mod limits;
mod oracle;

/// What came out, with everything that a caller can see of it.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Line(Vec<u8>),
    Oversized(Option<String>, bool),
    Endless,
}

#[derive(Clone, Copy)]
struct Bounds {
    line: usize,
    discard: usize,
}

const WIDE: Bounds = Bounds { line: 10 << 20, discard: 64 << 20 };

fn line(text: impl AsRef<[u8]>) -> Event {
    Event::Line(text.as_ref().to_vec())
}

fn drain(buffer: &mut LineBuffer, events: &mut Vec<Event>) {
    while let Some(framed) = buffer.next() {
        assert!(events.len() < 100_000, "there is no end of it");
        events.push(match framed {
            Framed::Line => line(buffer.bytes()),
            Framed::Oversized(known) => {
                Event::Oversized(known.id.map(|id| id.as_str().to_owned()), known.is_response)
            }
            Framed::Endless => Event::Endless,
        });
    }
}

/// Feeds the stream in pieces of the given sizes, over and over, and ends it.
fn split(stream: &[u8], sizes: &[usize], bounds: Bounds) -> (Vec<Event>, LineBuffer) {
    let mut buffer = LineBuffer::new(bounds.line, bounds.discard);
    let mut events = Vec::new();
    let mut rest = stream;
    for size in sizes.iter().cycle() {
        let space = buffer.read_space();
        let n = (*size).max(1).min(space.len()).min(rest.len());
        if n == 0 {
            break;
        }
        space[..n].copy_from_slice(&rest[..n]);
        rest = &rest[n..];
        buffer.filled(n);
        drain(&mut buffer, &mut events);
    }
    buffer.end();
    drain(&mut buffer, &mut events);
    (events, buffer)
}

fn whole(stream: &[u8], bounds: Bounds) -> Vec<Event> {
    split(stream, &[usize::MAX], bounds).0
}

proptest! {
    #[test]
    fn w01_any_split_gives_the_same_lines(
        stream in stream(),
        sizes in proptest::collection::vec(1..40_usize, 1..8),
        line in prop_oneof![Just(30), Just(100), Just(10_000)],
        discard in prop_oneof![Just(150), Just(100_000)],
    ) {
        let bounds = Bounds { line, discard };
        let at_once = whole(&stream, bounds);
        prop_assert_eq!(&split(&stream, &[1], bounds).0, &at_once);
        prop_assert_eq!(&split(&stream, &sizes, bounds).0, &at_once);
    }

    #[test]
    fn w01_lines_are_those_of_the_naive_splitter(stream in stream()) {
        prop_assert_eq!(whole(&stream, WIDE), oracle(&stream, WIDE));
    }

    #[test]
    fn w02_lines_over_the_limit_are_told_as_the_naive_reader_tells_them(
        objects in proptest::collection::vec(long_response().prop_filter("told before its method", |object| has_no_late_method(object)), 1..6),
        size in 1..50_usize,
    ) {
        let stream = objects.join(&b'\n');
        let bounds = Bounds { line: 45, discard: 1_000 };
        prop_assert_eq!(split(&stream, &[size], bounds).0, oracle(&stream, bounds));
    }
}

#[test]
fn w01_a_character_may_be_cut_anywhere() {
    let text = "{\"text\":\"\u{e9}\u{20ac}\u{1f600}\"}";
    let stream = format!("{text}\n{text}\n");
    for cut in 1..stream.len() {
        let (events, _) = split(stream.as_bytes(), &[cut, usize::MAX], WIDE);
        assert_eq!(events, [line(text), line(text)], "cut at {cut}");
    }
}

#[test]
fn w01_a_line_across_every_border_of_the_shared_buffer_is_whole() {
    for length in SHARED - 3..SHARED + 3 {
        let long = format!("{{{}}}", "a".repeat(length - 2));
        for lead in [0, 1, 7] {
            let stream = format!("{}\n{long}\r\n{{}}\n", "b".repeat(lead));
            let mut expected = vec![line(&long), line("{}")];
            if lead > 0 {
                expected.insert(0, line("b".repeat(lead)));
            }
            assert_eq!(whole(stream.as_bytes(), WIDE), expected, "{length} behind {lead}");
            assert_eq!(split(stream.as_bytes(), &[4_099], WIDE).0, expected, "{length} behind {lead}");
        }
    }
}

#[test]
fn w01_an_unterminated_rest_is_the_last_line() {
    assert_eq!(whole(b"{}\n{\"id\":1}", WIDE), [line("{}"), line("{\"id\":1}")]);
    assert_eq!(whole(b"{}\n{\"id\":1}\r", WIDE), [line("{}"), line("{\"id\":1}")]);
    assert_eq!(whole(b"", WIDE), []);
    assert_eq!(whole(b" \r", WIDE), []);
}

#[test]
fn w02_reading_waits_for_what_was_read() {
    let mut buffer = LineBuffer::new(100, 100);
    buffer.filled(0);
    assert_eq!(buffer.read_space().len(), SHARED);
    buffer.read_space()[..6].copy_from_slice(b"{}\n[]\n");
    buffer.filled(6);
    assert!(buffer.read_space().is_empty());
    buffer.filled(5);
    assert_eq!(buffer.next(), Some(Framed::Line));
    assert_eq!(buffer.bytes(), b"{}");
    assert!(buffer.read_space().is_empty());
    assert_eq!(buffer.next(), Some(Framed::Line));
    assert_eq!(buffer.bytes(), b"[]");
    assert_eq!(buffer.next(), None);
    assert_eq!(buffer.bytes(), b"");
    assert_eq!(buffer.read_space().len(), SHARED);
    buffer.filled(usize::MAX);
    buffer.end();
    assert!(buffer.read_space().is_empty());
}

#[test]
fn w03_cost_is_linear_whatever_the_chunking() {
    let long = format!("{{\"id\":1,\"result\":\"{}\"}}\n", "x".repeat(300_000));
    let middle = format!("{{\"id\":1,\"result\":\"{}\"}}\n", "x".repeat(40_000)).repeat(8);
    let short = "{\"id\":1,\"result\":{}}\n".repeat(15_000);
    let blank = "\n".repeat(300_000);
    for (stream, bounds) in [
        (&long, WIDE),
        (&long, Bounds { line: 100_000, discard: 1 << 20 }),
        (&long, Bounds { line: 100, discard: 1 << 20 }),
        (&middle, WIDE),
        (&middle, Bounds { line: 100, discard: 1 << 20 }),
        (&short, WIDE),
        (&blank, WIDE),
    ] {
        for sizes in [&[1][..], &[13], &[4_096], &[SHARED], &[SHARED, 1], &[usize::MAX]] {
            let (_, buffer) = split(stream.as_bytes(), sizes, bounds);
            let most = 4 * stream.len() as u64;
            let work = buffer.work.bytes;
            let looked_at = stream.bytes().filter(|byte| *byte != b'\n').count() as u64;
            assert!(work >= looked_at, "{work} bytes of work for {} are not all", stream.len());
            assert!(work <= most, "{work} bytes of work for {} in pieces of {sizes:?}", stream.len());
        }
    }
}

#[test]
fn w03_what_moves_counts_as_work() {
    let mut buffer = current(b"{}\n{\"id\"");
    assert_eq!(buffer.next(), None);
    let before = buffer.work.bytes;
    assert_eq!(buffer.read_space().len(), SHARED - 5);
    assert_eq!(buffer.work.bytes - before, 5);
}

#[test]
fn w03_memory_comes_back_after_a_large_line() {
    let mut buffer = LineBuffer::new(WIDE.line, WIDE.discard);
    let stream = format!("{{\"a\":\"{}\"}}\n{{}}\n", "x".repeat(3 << 20));
    let mut rest = stream.as_bytes();
    let mut most = 0;
    while !rest.is_empty() {
        let space = buffer.read_space();
        let n = space.len().min(rest.len());
        assert!(n > 0, "no line and no space");
        space[..n].copy_from_slice(&rest[..n]);
        buffer.filled(n);
        rest = &rest[n..];
        while buffer.next().is_some() {
            most = most.max(buffer.held());
            assert!(buffer.make_text(Utf8::Reject));
            most = most.max(buffer.held());
        }
    }
    assert!(most > 3 << 20, "{most}");
    assert!(most <= 2 * (3 << 20) + IDLE + SHARED, "{most}");
    assert_eq!(buffer.held(), IDLE);
}

#[test]
fn w03_a_large_line_never_holds_more_than_the_limit() {
    let limit = 200_000;
    let mut buffer = LineBuffer::new(limit, 1 << 20);
    for _ in 0..10 {
        let space = buffer.read_space();
        space.fill(b'x');
        let n = space.len();
        buffer.filled(n);
        assert_eq!(buffer.next(), None);
        assert!(buffer.held() <= limit + IDLE, "{}", buffer.held());
    }
}

#[test]
fn w03_nothing_is_held_before_the_first_read() {
    assert_eq!(LineBuffer::new(WIDE.line, WIDE.discard).held(), 0);
}

fn current(stream: &[u8]) -> LineBuffer {
    let mut buffer = LineBuffer::new(WIDE.line, WIDE.discard);
    let mut rest = stream;
    while !rest.is_empty() {
        let space = buffer.read_space();
        let n = space.len().min(rest.len());
        assert!(n > 0, "no line and no space");
        space[..n].copy_from_slice(&rest[..n]);
        buffer.filled(n);
        rest = &rest[n..];
        if buffer.next() == Some(Framed::Line) {
            break;
        }
    }
    buffer
}

#[test]
fn w03_a_large_line_is_handed_over_without_a_copy() {
    let text = format!("{{\"a\":\"{}\"}}", "\u{e9}".repeat(100_000));
    let mut buffer = current(format!("{text}\r\n").as_bytes());
    assert!(buffer.is_owned());
    assert_eq!(buffer.take_text(), None);
    let bytes = buffer.bytes().as_ptr();
    assert!(buffer.make_text(Utf8::Reject));
    assert_eq!(buffer.text().as_ptr(), bytes);
    let taken = buffer.take_text().unwrap();
    assert_eq!(taken.as_ptr(), bytes);
    assert_eq!(taken, text);
    assert_eq!((buffer.text(), buffer.bytes(), buffer.is_owned()), ("", &b""[..], false));
    assert_eq!(buffer.held(), SHARED);
}

#[test]
fn w03_a_line_in_the_shared_buffer_is_copied_once() {
    let mut buffer = current(b"{\"a\":1}\n");
    assert_eq!(buffer.text(), "");
    assert!(buffer.make_text(Utf8::Reject));
    assert!(buffer.make_text(Utf8::Reject));
    assert_eq!(buffer.text(), "{\"a\":1}");
    assert!(!buffer.is_owned());
    assert_eq!(buffer.take_text(), None);
    assert_eq!(buffer.text(), "{\"a\":1}");
    buffer.release();
    assert_eq!((buffer.text(), buffer.bytes()), ("", &b""[..]));
    assert!(!buffer.make_text(Utf8::Reject));

    let middle = "x".repeat(SHORT + 1);
    let mut buffer = current(format!("{middle}\n").as_bytes());
    assert!(!buffer.is_owned());
    assert!(buffer.make_text(Utf8::Reject));
    assert_eq!(buffer.take_text(), Some(middle));
}

#[test]
fn w04_line_ends_blank_lines_and_byte_order_marks_are_accepted() {
    let stream =
        b"\xef\xbb\xbf{\"a\":1}\r\n\r\n\n \t\n\xef\xbb\xbf\r\n{\"b\":2}\n\xef\xbb\xbf[]\n{\"c\":3}\r\r\n";
    assert_eq!(whole(stream, WIDE), [line("{\"a\":1}"), line("{\"b\":2}"), line("[]"), line("{\"c\":3}\r")]);
    let large = format!("{}\n{{}}\n", " ".repeat(2 * SHARED));
    assert_eq!(whole(large.as_bytes(), WIDE), [line("{}")]);
}

#[test]
fn w05_control_sequences_go_only_before_an_object() {
    for (raw, expected) in [
        (&b"\x1b[?25l\x1b[2J{\"a\":1}"[..], &b"{\"a\":1}"[..]),
        (b"\x1b]0;title\x07{}", b"{}"),
        (b"\x1b]0;title\x1b\\ {}", b"{}"),
        (b"\x1b]0;caf\xe9\x07{}", b"{}"),
        (b"\x1bP+q\x1b\x1b\\{}", b"{}"),
        (b"\x1b(B\x1b7\x00\x07\r{}", b"{}"),
        (b"\x1b{}", b"{}"),
        (b"\x1b[31mready", b"\x1b[31mready"),
        (b"\x1b[31mready {}", b"\x1b[31mready {}"),
        (b"\x1b[31m[1]", b"\x1b[31m[1]"),
        (b"\x1b]0;{}", b"\x1b]0;{}"),
        (b"\x1b[3\x01{}", b"\x1b[3\x01{}"),
        (b"\x1b", b"\x1b"),
    ] {
        assert_eq!(whole(&[raw, b"\n"].concat(), WIDE), [line(expected)], "{raw:?}");
        let long = [&b"\xef\xbb\xbf"[..], raw, " ".repeat(SHARED).as_bytes(), b"\n"].concat();
        let long_expected = [expected, " ".repeat(SHARED).as_bytes()].concat();
        assert_eq!(whole(&long, WIDE), [line(long_expected)], "{raw:?} in a long line");
    }
}

#[test]
fn w07_invalid_utf8_is_refused_or_replaced_and_the_bytes_stay() {
    for length in [0, SHORT, SHARED] {
        let filling = "x".repeat(length);
        let raw = [b"{\"a\":\"", filling.as_bytes(), b"\xff\xc3\"}"].concat();
        let stream = [&raw[..], b"\n"].concat();
        let mut buffer = current(&stream);
        assert!(!buffer.make_text(Utf8::Reject));
        assert_eq!((buffer.text(), buffer.bytes()), ("", &raw[..]));
        assert_eq!(buffer.take_text(), None);
        assert!(buffer.make_text(Utf8::Replace));
        assert_eq!(buffer.text(), format!("{{\"a\":\"{filling}\u{fffd}\u{fffd}\"}}"));
        assert!(buffer.is_owned());
        buffer.release();
        assert!(buffer.held() <= IDLE);
    }
}

proptest! {
    #[test]
    fn w07_no_bytes_break_the_splitter(
        stream in proptest::collection::vec(prop_oneof![
            any::<u8>(),
            proptest::sample::select(b"{}[]\",:\\\n\r\x1b\xef\xbb\xbf id1".to_vec()),
        ], 0..400),
        size in 1..60_usize,
    ) {
        let bounds = Bounds { line: 25, discard: 120 };
        let at_once = whole(&stream, bounds);
        prop_assert_eq!(&split(&stream, &[size], bounds).0, &at_once);
        prop_assert_eq!(&split(&stream, &[1], bounds).0, &at_once);
        let ends = at_once.iter().filter(|event| **event == Event::Endless).count();
        prop_assert_eq!(ends, usize::from(at_once.last() == Some(&Event::Endless)));
    }
}
