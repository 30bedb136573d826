use proptest::prelude::*;

use super::*;

fn collector(limit: usize, secrets: &[&str]) -> Collector {
    Collector::new(limit, &Redactor::new(secrets.iter().copied()))
}

fn tail(limit: usize, secrets: &[&str], pieces: &[&[u8]]) -> (String, bool) {
    let mut collector = collector(limit, secrets);
    for piece in pieces {
        collector.push(piece);
    }
    let tail = collector.snapshot();
    (tail.as_str().to_owned(), tail.is_truncated())
}

#[test]
fn l22_the_newest_bytes_are_kept_and_the_loss_is_marked() {
    assert_eq!(tail(8, &[], &[b"12345678"]), ("12345678".to_owned(), false));
    assert_eq!(tail(8, &[], &[b"1234", b"56789"]), ("23456789".to_owned(), true));
    assert_eq!(tail(8, &[], &[&[b'x'; 100], b"end"]), ("xxxxxend".to_owned(), true));
    assert_eq!(tail(8, &[], &[]), (String::new(), false));
    assert_eq!(tail(1, &[], &[b"abc"]), ("c".to_owned(), true));
    assert_eq!(tail(1, &[], &[b"c"]), ("c".to_owned(), false));
}

#[test]
fn l22_the_tail_is_cut_on_a_character() {
    let text = "a\u{20ac}\u{20ac}".as_bytes();
    assert_eq!(tail(7, &[], &[text]), ("a\u{20ac}\u{20ac}".to_owned(), false));
    assert_eq!(tail(6, &[], &[text]), ("\u{20ac}\u{20ac}".to_owned(), true));
    assert_eq!(tail(5, &[], &[text]), ("\u{20ac}".to_owned(), true));
    assert_eq!(tail(6, &[], &["\u{1f600}end".as_bytes()]), ("end".to_owned(), true));
    let one_by_one: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(tail(4, &[], &one_by_one), ("\u{20ac}".to_owned(), true));
    assert_eq!(tail(64, &[], &[&text[..6]]), ("a\u{20ac}".to_owned(), false));
    assert_eq!(tail(64, &[], &[&text[..6], &text[6..]]), ("a\u{20ac}\u{20ac}".to_owned(), false));
}

#[test]
fn l22_invalid_bytes_are_replaced_within_the_limit() {
    assert_eq!(tail(64, &[], &[b"a\xff\xe9b"]), ("a\u{fffd}\u{fffd}b".to_owned(), false));
    assert_eq!(tail(8, &[], &[&[0xff; 8]]), ("\u{fffd}\u{fffd}".to_owned(), true));
    assert_eq!(tail(8, &[], &[&[0x80; 8]]), ("\u{fffd}\u{fffd}".to_owned(), true));
}

#[test]
fn l22_secret_across_a_chunk_border_and_the_cut() {
    let text = b"begin hunter2-hunter2 then hunter2-hunter2 and the end";
    for limit in 1..80 {
        for border in 0..=text.len() {
            let (tail, _) = tail(limit, &["hunter2-hunter2"], &[&text[..border], &text[border..]]);
            assert!(!tail.contains("hunt") && !tail.contains("ter2"), "{limit} {border}: {tail}");
            assert!(tail.len() <= limit && tail.ends_with(&"and the end"[11 - limit.min(11)..]));
        }
    }
}

#[test]
fn l22_the_beginning_of_a_secret_is_left_out_until_it_is_none() {
    let mut collector = collector(64, &["hunter2"]);
    collector.push(b"user hun");
    assert_eq!(collector.snapshot().as_str(), "user hun");
    collector.push(b"te");
    assert_eq!(collector.snapshot().as_str(), "user ");
    collector.push(b"d");
    assert_eq!(collector.snapshot().as_str(), "user hunted");
    collector.push(b" hunter");
    assert_eq!(collector.snapshot().as_str(), "user hunted ");
    collector.push(b"2");
    assert_eq!(collector.snapshot().as_str(), "user hunted [secret]");
}

#[test]
fn l22_a_long_piece_needs_no_more_memory_than_the_tail() {
    let mut collector = collector(1_024, &["hunter2"]);
    collector.push(&[b'x'; 1 << 20]);
    assert!(collector.kept.capacity() <= 2 * 1_024, "{}", collector.kept.capacity());
}

#[test]
fn l22_what_is_kept_moves_a_bounded_number_of_times() {
    let (mut collector, mut moved) = (collector(1_000, &[]), 0);
    for _ in 0..100_000 {
        let before = collector.kept.len();
        collector.push(b"x");
        if collector.kept.len() <= before {
            moved += collector.kept.len();
        }
    }
    assert!(moved <= 4 * 100_000, "{moved}");
}

#[test]
fn l22_a_snapshot_is_shared_until_something_new_comes() {
    let mut collector = collector(64, &[]);
    collector.push(b"one");
    let first = collector.snapshot();
    assert!(Arc::ptr_eq(&first, &collector.snapshot()));
    collector.push(b"");
    assert!(Arc::ptr_eq(&first, &collector.snapshot()));
    collector.push(b" two");
    assert_eq!(collector.snapshot().as_str(), "one two");
    assert_eq!(first.as_str(), "one");
}

#[cfg(feature = "explore")]
#[test]
fn l22_a_snapshot_is_the_newest_until_something_new_comes() {
    let mut collector = collector(64, &[]);
    let tail = collector.snapshot();
    collector.push(b"");
    assert!(collector.is_newest(&tail));
    collector.push(b"new");
    assert!(!collector.is_newest(&tail));
    collector.snapshot();
    assert!(!collector.is_newest(&tail));
}

#[test]
fn l22_counts_are_those_of_the_server() {
    let mut collector = collector(16, &["hunter2"]);
    collector.push(b"hunter2 hunter2");
    assert_eq!((collector.bytes_seen(), collector.truncated()), (15, true));
    let mut small = self::collector(16, &[]);
    small.push(b"0123456789abcdef");
    assert_eq!((small.bytes_seen(), small.truncated()), (16, false));
    small.push(b"!");
    assert_eq!((small.bytes_seen(), small.truncated()), (17, true));
}

#[test]
fn l22_an_excerpt_begins_with_a_whole_character() {
    let mut collector = collector(64, &[]);
    collector.push("one\nsnow: \u{2603}\u{2603}\nend".as_bytes());
    let tail = collector.snapshot();
    // The limit would begin within the first snowman.
    for limit in [8, 9] {
        assert_eq!(tail.excerpt(limit), "\u{2603} | end", "{limit}");
    }
    assert_eq!(tail.excerpt(10), "\u{2603}\u{2603} | end");
}

/// Works on the whole input at once, with the redaction that its own tests prove.
fn oracle(bytes: &[u8], limit: usize, secrets: &[&str]) -> (String, bool) {
    let open = (1..=bytes.len())
        .rev()
        .find(|&count| {
            let end = &bytes[bytes.len() - count..];
            secrets.iter().any(|secret| secret.len() > count && secret.as_bytes().starts_with(end))
        })
        .unwrap_or(0);
    let shown = if open >= 4 { &bytes[..bytes.len() - open] } else { bytes };
    let clean = Redactor::new(secrets.iter().copied()).redact(shown).into_owned();
    let mut start = clean.len().saturating_sub(limit);
    let cut = start > 0;
    if cut {
        let border = start;
        while start < clean.len() && start < border + 3 && clean[start] & 0xc0 == 0x80 {
            start += 1;
        }
    }
    let mut text = String::from_utf8_lossy(&clean[start..]).into_owned();
    let incomplete = std::str::from_utf8(&clean[start..]).is_err_and(|_| {
        clean[start..].utf8_chunks().last().is_some_and(|last| {
            let end = last.invalid();
            !end.is_empty() && std::str::from_utf8(end).unwrap_err().error_len().is_none()
        })
    });
    if incomplete {
        text.pop();
    }
    let mut dropped = false;
    while text.len() > limit {
        text.remove(0);
        dropped = true;
    }
    (text, cut || dropped)
}

const SECRETS: &[&str] = &["hunter2", "t0ken", "hunt0"];
const WORDS: &[&[u8]] = &[
    b"hunter2",
    b"hunt",
    b"t0ken",
    b"hunt0ken",
    b" ",
    b"\n",
    "\u{e9}".as_bytes(),
    "\u{20ac}".as_bytes(),
    "\u{1f600}".as_bytes(),
    b"\xff",
    b"\xe2\x82",
];

/// W03, L22: twice the limit is what it takes, not only what it uses.
#[test]
fn l22_the_tail_takes_no_more_memory_than_twice_its_limit() {
    const LIMIT: usize = 10_000;
    for first in (1..=2_500).step_by(7) {
        let mut collector = collector(LIMIT, SECRETS);
        collector.push(&vec![b'x'; first]);
        for _ in 0..12 {
            collector.push(&[b'y'; 2_490]);
            assert!(collector.kept.capacity() <= 2 * LIMIT, "{} after {first}", collector.kept.capacity());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn l22_the_tail_does_not_depend_on_how_the_input_was_cut(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..40),
        piece in 1_usize..40,
        limit in 1_usize..120,
    ) {
        let bytes = words.concat();
        let mut collector = collector(limit, SECRETS);
        for piece in bytes.chunks(piece) {
            collector.push(piece);
            prop_assert!(collector.kept.len() <= 2 * limit + 2 * "hunter2".len());
            prop_assert!(collector.snapshot().as_str().len() <= limit);
        }
        let tail = collector.snapshot();
        let (text, truncated) = oracle(&bytes, limit, SECRETS);
        prop_assert_eq!((tail.as_str(), tail.is_truncated()), (text.as_str(), truncated));
        for secret in SECRETS {
            prop_assert!(!text.contains(secret));
        }
    }
}
