use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::*;

/// The value at the start of `text`, as another reader sees it.
fn oracle(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Where the value at the start of `text` ends.
fn end(text: &str) -> Option<usize> {
    skip_value(skip_blanks(text.as_bytes())).ok().map(|rest| text.len() - rest.len())
}

fn compare(text: &str) -> Result<(), TestCaseError> {
    match end(text) {
        // The other reader wants to see that nothing clings to a number or a word.
        Some(end) => prop_assert_eq!(text.get(..end).and_then(oracle), Some(end), "{}", text),
        None => prop_assert_eq!(oracle(text), None, "{}", text),
    }
    Ok(())
}

#[test]
fn w07_values_of_every_kind_end_where_they_end() {
    for (text, length) in [
        ("null,", 4),
        ("true]", 4),
        ("false", 5),
        ("-0.10e+5 ", 8),
        ("1e999999", 8),
        ("0", 1),
        ("01", 1),
        ("1-", 1),
        ("\"\"", 2),
        (r#""a\ud800\"b" x"#, 12),
        ("{}x", 2),
        ("[ ]", 3),
        (r#"{ "a" : [ 1 , { } ] , "b":"}" } "#, 31),
    ] {
        assert_eq!(end(text), Some(length), "{text}");
    }
}

#[test]
fn w07_what_is_no_value_has_no_end() {
    for text in [
        "",
        "nul",
        "nulx",
        "-",
        "-a",
        "1.",
        "1.e1",
        "1e",
        "1e+",
        ".5",
        "\"a",
        "\"a\u{1}\"",
        r#""\x""#,
        r#""\u12g4""#,
        r#""\u12"#,
        "[1,]",
        "[1 2]",
        "[1}",
        "{1:2}",
        r#"{"a" 1}"#,
        r#"{"a":1,}"#,
        "{\"a\":1",
        "{,}",
        "]",
        "[",
        "{\"a\":1]",
    ] {
        assert_eq!(end(text), None, "{text}");
    }
}

#[test]
fn w07_nesting_has_no_limit_and_mixes_both_containers() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 1_000, 200_000] {
        let open = "[{\"a\":".repeat(depth);
        let text = format!("{open}1{}", "}]".repeat(depth));
        assert_eq!(end(&text), Some(text.len()), "{depth}");
        assert_eq!(end(&format!("{open}1{}]]", "}]".repeat(depth - 1))), None, "{depth}");
    }
}

#[test]
fn w07_a_string_ends_at_its_quote_wherever_that_stands() {
    for length in 0..100 {
        for fill in ["a", "\u{7f}", "\u{e9}", "\u{10ffff}", " ", "!", "#", "[", "]"] {
            let inside = fill.repeat(length);
            let plain = format!("\"{inside}\",\"\"");
            assert_eq!(end(&plain), Some(inside.len() + 2), "{plain}");
            assert_eq!(end(&format!("\"{inside}{}", "\"".repeat(64))), Some(inside.len() + 2));
            let escaped = format!("\"{inside}\\n{inside}\\\\\"\"");
            assert_eq!(end(&escaped), Some(escaped.len() - 1), "{escaped}");
            for control in ["\n", "\0", "\u{1f}"] {
                assert_eq!(end(&format!("\"{inside}{control}{inside}\"")), None);
            }
        }
    }
}

#[test]
fn w07_a_name_says_whether_it_has_escapes_wherever_they_stand() {
    for length in 0..100 {
        for escapes in ["", r"\n", r"\u0061", r#"\""#, &r"\\".repeat(16)] {
            let name = format!("{}{escapes}", "a".repeat(length));
            let text = format!("{{\"{name}\":1}}");
            let read = Members::new(&text, 0).unwrap().next_name().unwrap().unwrap();
            assert_eq!(text.get(read.place), Some(&*name));
            assert_eq!(read.escaped, !escapes.is_empty(), "{name}");
        }
    }
}

proptest! {
    #[test]
    fn w07_text_is_json_if_another_reader_says_so(
        text in "[{}\\[\\]\",:\\\\u0-9a-f.eE+\\- tnrl\u{1}\u{e9}\u{20ac}]{0,40}",
    ) {
        compare(&text)?;
    }

    #[test]
    fn w07_strings_end_where_another_reader_says_so(inside in "[\"\\\\u0-9a-f \u{1f}\u{7f}\u{a0}\u{20ac}]{0,80}") {
        compare(&format!("\"{inside}\" "))?;
    }

    #[test]
    fn w07_text_made_of_tokens_is_json_if_another_reader_says_so(
        tokens in proptest::collection::vec(proptest::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u00e9\"", "\"\\\"", "1", "-0.5e3", "true", "null", " ",
        ]), 0..24),
    ) {
        compare(&tokens.concat())?;
    }

    #[test]
    fn w07_every_tree_is_passed_over_whole(tree in tree(), tail in "[ ,}\\]x]{0,3}") {
        for text in [tree.to_string(), serde_json::to_string_pretty(&tree).unwrap()] {
            prop_assert_eq!(end(&format!("{text}{tail}")), Some(text.len()));
            for cut in (0..text.len()).filter_map(|end| text.get(..end)) {
                prop_assert!(end(cut).is_none() || tree.is_number());
            }
        }
    }
}

fn tree() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".{0,80}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("\\PC{0,6}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}
