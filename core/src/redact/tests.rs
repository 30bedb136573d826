use proptest::prelude::*;

use super::*;

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(secrets.iter().copied())
}

fn redacted(secrets: &[&str], text: &str) -> String {
    String::from_utf8(redactor(secrets).redact(text.as_bytes()).into_owned()).unwrap()
}

/// What the stream gives for these pieces, and that it never held more than it may.
fn streamed<'a>(redactor: &Redactor, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let longest = redactor.needles.iter().map(Needle::len).max().unwrap_or(1);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut out);
        assert!(stream.held.len() < longest);
    }
    stream.finish(&mut out);
    assert!(stream.held.is_empty() && stream.runs.is_empty());
    out
}

/// Marks every byte of every occurrence by trying each position, and replaces each unbroken stretch.
fn oracle(secrets: &[String], bytes: &[u8]) -> Vec<u8> {
    let mut secret = vec![false; bytes.len()];
    for needle in secrets.iter().filter(|needle| needle.len() >= 4) {
        for at in 0..bytes.len() {
            if bytes[at..].starts_with(needle.as_bytes()) {
                secret[at..at + needle.len()].fill(true);
            }
        }
    }
    let mut out = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        if !secret[at] {
            out.push(byte);
        } else if at == 0 || !secret[at - 1] {
            out.extend_from_slice(b"[secret]");
        }
    }
    out
}

#[test]
fn l22_each_occurrence_is_replaced() {
    assert_eq!(redacted(&["hunter2"], "a hunter2 b hunter2"), "a [secret] b [secret]");
    assert_eq!(redacted(&["hunter2"], "hunter hunter3"), "hunter hunter3");
    assert_eq!(redacted(&["hunter2", "t0ken"], "t0ken=hunter2"), "[secret]=[secret]");
    assert_eq!(redacted(&["p\u{e4}ss"], "p\u{e4}ss!"), "[secret]!");
}

#[test]
fn l22_overlapping_secrets_leave_nothing_of_each_other() {
    assert_eq!(redacted(&["abcd", "cdef"], "-abcdef-"), "-[secret]-");
    assert_eq!(redacted(&["hunter", "hunter22"], "hunter22 hunter2"), "[secret] [secret]2");
    assert_eq!(redacted(&["aaaa"], "baaaaaab"), "b[secret]b");
    assert_eq!(redacted(&["abcab"], "abcabcab!"), "[secret]!");
    assert_eq!(redacted(&["hunter2"], "hunter2hunter2"), "[secret]");
}

#[test]
fn l22_short_secrets_are_not_searched_for() {
    assert_eq!(redacted(&["", "a", "abc"], "abc abc"), "abc abc");
    assert!(redactor(&["", "abc"]).needles.is_empty());
}

#[test]
fn l22_a_secret_is_found_as_json_writes_it() {
    assert_eq!(redacted(&["pa\"ss\\"], r#"{"p":"pa\"ss\\"} pa"ss\"#), r#"{"p":"[secret]"} [secret]"#);
}

#[test]
fn l22_text_without_secrets_is_borrowed() {
    assert!(matches!(redactor(&["hunter2"]).redact(b"hunter"), Cow::Borrowed(b"hunter")));
    assert!(matches!(redactor(&[]).redact(b"hunter2"), Cow::Borrowed(b"hunter2")));
}

#[test]
fn l22_without_secrets_a_stream_holds_nothing() {
    let mut stream = redactor(&[]).stream();
    let mut out = Vec::new();
    stream.push(b"hunter2", &mut out);
    assert_eq!(out, b"hunter2");
    assert_eq!((stream.held.capacity(), stream.found.capacity(), stream.runs.capacity()), (0, 0, 0));
}

#[test]
fn l22_secret_across_a_chunk_border() {
    let redactor = redactor(&["hunter2", "ter2-t0ken"]);
    let text = b"x hunter2-t0ken y hunter2 z";
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let pieces = [&text[..first], &text[first..second], &text[second..]];
            assert_eq!(streamed(&redactor, pieces), b"x [secret] y [secret] z", "{first} {second}");
        }
    }
}

#[test]
fn l22_a_secret_that_contains_others_becomes_one_mark() {
    let redactor = redactor(&["t0k1-t0k2-t0k3-end", "t0k1", "t0k2", "t0k3"]);
    assert_eq!(streamed(&redactor, b"<t0k1-t0k2-t0k3-end>".chunks(1)), b"<[secret]>");
    assert_eq!(streamed(&redactor, b"<t0k1-t0k2-t0k3-!>".chunks(1)), b"<[secret]-[secret]-[secret]-!>");
}

#[test]
fn l22_a_secret_that_may_become_a_longer_one_is_marked_once() {
    let redactor = redactor(&["hunter", "hunter22"]);
    for (end, expected) in
        [(&b"!"[..], &b"a [secret]!"[..]), (b"22!", b"a [secret]!"), (b"2!", b"a [secret]2!")]
    {
        assert_eq!(streamed(&redactor, [&b"a hunter"[..], end]), expected);
    }
}

#[test]
fn l22_a_stream_holds_back_only_what_may_become_a_secret() {
    let mut stream = redactor(&["hunter2"]).stream();
    let mut out = Vec::new();
    stream.push(b"ready\nhun", &mut out);
    assert_eq!(out, b"ready\n");
    assert!(stream.preview(&mut out));
    assert_eq!(out, b"ready\nhun");
    out.truncate(6);
    stream.push(b"t", &mut out);
    assert!(!stream.preview(&mut out));
    assert_eq!(out, b"ready\n");
    stream.push(b" done", &mut out);
    assert_eq!(out, b"ready\nhunt done");
}

#[test]
fn l22_a_secret_that_ends_as_it_begins_is_shown_as_found() {
    let mut stream = redactor(&["t0ken-t0ken"]).stream();
    let mut out = Vec::new();
    stream.push(b"is t0ken-t0ken", &mut out);
    assert!(stream.preview(&mut out));
    assert_eq!(out, b"is [secret]");
    stream.push(b"-t0k", &mut out);
    assert!(!stream.preview(&mut out));
    assert_eq!(out, b"is [secret]");
    stream.push(b"!", &mut out);
    assert_eq!(out, b"is [secret]-t0k!");
}

#[test]
fn l22_a_periodic_secret_costs_no_more_than_another() {
    let secret = "a".repeat(4_000);
    let redactor = redactor(&[&secret]);
    let text = vec![b'a'; 4 << 20];
    assert_eq!(&*redactor.redact(&text), MARK);
    assert_eq!(streamed(&redactor, text.chunks(4_096)), MARK);
}

fn secrets() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[ab]{0,8}|[abc]{4,6}|(ab){2,5}", 0..4)
}

/// Random bytes, and secrets whole and in parts.
fn text(secrets: Vec<String>) -> impl Strategy<Value = (Vec<String>, Vec<u8>)> {
    let whole =
        proptest::sample::select(if secrets.is_empty() { vec![String::new()] } else { secrets.clone() });
    let part = (whole, 0_usize..9, 0_usize..9).prop_map(|(secret, from, to)| {
        let from = from.min(secret.len());
        secret[from..to.clamp(from, secret.len())].to_owned()
    });
    let piece = prop_oneof!["[abc]{0,6}", part.clone(), part];
    proptest::collection::vec(piece, 0..16)
        .prop_map(move |pieces| (secrets.clone(), pieces.concat().into_bytes()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn l22_redaction_agrees_with_the_oracle_however_the_input_is_cut(
        (secrets, bytes) in secrets().prop_flat_map(text),
        cuts in proptest::collection::vec(1_usize..12, 1..8),
    ) {
        let expected = oracle(&secrets, &bytes);
        let redactor = Redactor::new(secrets.iter().map(String::as_str));
        prop_assert_eq!(&*redactor.redact(&bytes), &*expected);
        prop_assert_eq!(&streamed(&redactor, [&*bytes]), &expected);
        prop_assert_eq!(&streamed(&redactor, bytes.chunks(1)), &expected);
        let mut rest = &*bytes;
        let pieces: Vec<&[u8]> = cuts.iter().cycle().map_while(|&cut| {
            let piece;
            (piece, rest) = rest.split_at(cut.min(rest.len()));
            (!piece.is_empty()).then_some(piece)
        }).collect();
        prop_assert_eq!(&streamed(&redactor, pieces), &expected);
    }
}
