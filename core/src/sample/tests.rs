use proptest::prelude::*;

use super::*;

fn plain(bytes: &[u8], limit: usize) -> Box<str> {
    sample(bytes, limit, &Redactor::default())
}

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(secrets.iter().copied())
}

#[test]
fn w05_a_sample_cannot_act_on_a_terminal() {
    let line = b"\x1b[33m[2026-07-28T10:00:00] [WARN] - retrying\x1b[0m\n";
    assert_eq!(&*plain(line, 256), r"\x1b[33m[2026-07-28T10:00:00] [WARN] - retrying\x1b[0m\n");
    assert_eq!(
        &*plain("a\u{202e}b\u{200b}c\u{9b}\u{feff}".as_bytes(), 256),
        r"a\u{202e}b\u{200b}c\u{9b}\u{feff}"
    );
    assert_eq!(&*plain(b"\r\t\0\x7f", 256), r"\r\t\x00\x7f");
}

#[test]
fn w05_bytes_that_are_not_utf8_are_escaped() {
    assert_eq!(&*plain(b"caf\xe9 \xff\xfe \xe2\x82", 256), r"caf\xe9 \xff\xfe \xe2\x82");
    assert_eq!(&*plain("caf\u{e9} \u{20ac} \\".as_bytes(), 256), "caf\u{e9} \u{20ac} \\");
}

#[test]
fn w05_a_long_line_is_cut_on_a_character_and_marked() {
    assert_eq!(&*plain(b"abcdefgh", 8), "abcdefgh");
    assert_eq!(&*plain(b"abcdefghi", 8), "abcde…");
    assert_eq!(&*plain("ab\u{20ac}\u{20ac}\u{20ac}".as_bytes(), 9), "ab\u{20ac}…");
    assert_eq!(&*plain(b"abc\x1b\x1b", 10), "abc\\x1b…");
    assert_eq!(&*plain(&[b'x'; 1_025], 1_024), "x".repeat(1_021) + CUT);
    assert_eq!(&*plain(b"abc", 2), "");
    assert_eq!(&*plain(b"", 0), "");
    assert_eq!(plain(&vec![b'x'; 10 << 20], 256).len(), 256);
}

#[test]
fn w05_secrets_are_removed_before_the_cut() {
    let redactor = redactor(&["hunter2-hunter2"]);
    assert_eq!(&*sample(b"login hunter2-hunter2 ok", 64, &redactor), "login [secret] ok");
    for limit in 0..40 {
        let cut = sample(b"0123456789 hunter2-hunter2 and much more text", limit, &redactor);
        assert!(!cut.contains("hunt"), "{limit}: {cut}");
    }
    assert_eq!(&*sample(b"login hun", 64, &redactor), "login hun");
    assert_eq!(&*sample(b"login hunt", 64, &redactor), "login …");
    let far = [vec![b'-'; 1_020], b"hunter2-hunter2".to_vec()].concat();
    assert!(sample(&far, 4_096, &redactor).ends_with("--[secret]"));
}

#[test]
fn w05_each_line_of_a_secret_with_several_is_removed() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\n  kqhkiG9w0BAQEF\nshort\n";
    let redactor = redactor(&[key]);
    assert_eq!(&*sample(b"MIIEvQIBADANBg", 64, &redactor), "[secret]");
    assert_eq!(&*sample(b"> kqhkiG9w0BAQEF\r", 64, &redactor), "> [secret]\\r");
    assert_eq!(&*sample(b"short", 64, &redactor), "short");
    let json = serde_json::to_vec(&serde_json::json!({ "key": key })).unwrap();
    assert_eq!(&*sample(&json, 64, &redactor), r#"{"key":"[secret]"}"#);
}

#[test]
fn l14_a_bounded_text_is_cut_on_a_character_and_not_escaped() {
    assert_eq!(bounded("a\n\u{20ac}b", 64), ("a\n\u{20ac}b".to_owned(), false));
    assert_eq!(bounded("a\n\u{20ac}b", 5), ("a\n\u{20ac}".to_owned(), true));
    assert_eq!(bounded("a\n\u{20ac}b", 4), ("a\n".to_owned(), true));
    assert_eq!(bounded("\u{20ac}", 0), (String::new(), true));
    assert_eq!(bounded("", 0), (String::new(), false));
}

#[test]
fn l23_a_quoted_text_is_escaped_and_bounded() {
    assert_eq!(escaped("2025-06-18", 64), "2025-06-18");
    assert_eq!(escaped("1\u{1b}]0;x\u{7}", 64), r"1\x1b]0;x\x07");
    assert_eq!(escaped(&"v".repeat(100), 10), "vvvvvvv…");
}

proptest! {
    #[test]
    fn w05_any_sample_is_bounded_and_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..600), limit in 0_usize..300) {
        let text = sample(&bytes, limit, &redactor(&["\u{1}\u{2}ab", "zzzz"]));
        prop_assert!(text.len() <= limit);
        prop_assert!(!text.chars().any(is_hidden));
    }

    #[test]
    fn w05_a_sample_that_fits_has_the_whole_line(text in "[ -~\u{e9}\u{20ac}]{0,80}") {
        prop_assert_eq!(&*sample(text.as_bytes(), 256, &Redactor::default()), text.as_str());
        prop_assert_eq!(escaped(&text, 256), text);
    }

    #[test]
    fn l14_a_bounded_text_is_the_longest_beginning(text in "\\PC{0,40}", limit in 0_usize..100) {
        let (kept, cut) = bounded(&text, limit);
        prop_assert!(text.starts_with(&kept) && kept.len() <= limit);
        prop_assert_eq!(cut, kept.len() < text.len());
        if cut {
            let next = text[kept.len()..].chars().next().unwrap();
            prop_assert!(kept.len() + next.len_utf8() > limit);
        }
    }
}
