use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn scan(bytes: &[u8], size: usize) -> Scanner {
    let mut scanner = Scanner::new();
    for piece in bytes.chunks(size) {
        scanner.feed(piece);
    }
    scanner
}

fn id(text: &str) -> Option<String> {
    scan(text.as_bytes(), usize::MAX).id().map(|id| id.as_str().to_owned())
}

/// Everything that a caller can see.
fn seen(scanner: &Scanner) -> (Option<IdText>, Option<IdText>, [bool; 6], usize) {
    let flags = [
        scanner.id_too_long(),
        scanner.has_id(),
        scanner.has_method(),
        scanner.has_answer(),
        scanner.started_object(),
        scanner.complete(),
    ];
    (scanner.id(), scanner.answered(), flags, scanner.depth())
}

/// JSON values, nested, with the names of the envelope at every level.
fn value() -> impl Strategy<Value = Value> {
    let text =
        proptest::sample::select(vec!["id", "result", "{\"id\":1", "\\", "\"", "a\\\"]}", "\u{20ac}", ""]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let name =
            proptest::sample::select(vec!["id", "result", "error", "method", "ID", "i", "x\"", "resulted"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(name.prop_map(str::to_owned), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn w02_the_scanner_sees_what_a_tree_shows(value in value(), pretty in any::<bool>(), size in 1..9_usize) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let scanner = scan(text.unwrap().as_bytes(), size);
        let has = |name: &str| value.get(name).is_some();
        prop_assert_eq!(scanner.started_object(), value.is_object());
        prop_assert_eq!(scanner.complete(), value.is_object());
        prop_assert_eq!(scanner.depth(), 0);
        prop_assert_eq!(scanner.has_id(), has("id"));
        prop_assert_eq!(scanner.has_method(), has("method"));
        prop_assert_eq!(scanner.has_answer(), has("result") || has("error"));
        let scalar = value.get("id").filter(|id| !id.is_array() && !id.is_object()).map(Value::to_string);
        prop_assert_eq!(scanner.id().map(|id| id.as_str().to_owned()), scalar);
    }

    #[test]
    fn w07_no_bytes_break_the_scanner_and_pieces_do_not_matter(
        bytes in proptest::collection::vec(prop_oneof![
            1 => any::<u8>(),
            9 => proptest::sample::select(b"{{{}[]\"\"\",:\\u0069d 17\x1b".to_vec()),
        ], 0..200),
        size in 1..20_usize,
    ) {
        let mut line = br#"{"id":1,"#.to_vec();
        line.extend(bytes);
        prop_assert_eq!(seen(&scan(&line, size)), seen(&scan(&line, usize::MAX)));
    }
}

#[test]
fn w02_the_id_is_the_raw_text_at_the_top_level() {
    for (text, expected) in [
        (r#"{"id":7}"#, Some("7")),
        (r#"{"id" : 7 , "a":1}"#, Some("7")),
        (r#"{"a":1,"id":-7.50e+1}"#, Some("-7.50e+1")),
        (r#"{"id":"a\"b\u0041\\"}"#, Some(r#""a\"b\u0041\\""#)),
        (r#"{"id":"{}[],:"}"#, Some(r#""{}[],:""#)),
        (r#"{"id":""}"#, Some(r#""""#)),
        (r#"{"id":null}"#, Some("null")),
        (r#"{"\u0069\u0064":7}"#, Some("7")),
        (r#"{"\u0069d":7,"i\u0064\u0020":8}"#, Some("7")),
        (r#"{"id":1,"id":2}"#, Some("2")),
        (r#"{"id":1,"id":[2]}"#, None),
        (r#"{"id":[1,{"id":2}]}"#, None),
        (r#"{"a":{"id":1},"b":["id",2],"c":"\"id\":3","d\"id":4,"ID":5,"idx":6,"i":7}"#, None),
        (r#"{["id"]:7}"#, None),
        (r#"{"id":12"#, None),
        (r#"{"id":"12"#, None),
        (r#"{} {"id":7}"#, None),
        (r#"[{"id":7}]"#, None),
        (r#""id":7"#, None),
        ("", None),
        ("{\"id\":\"\u{e9}\"}", Some("\"\u{e9}\"")),
    ] {
        assert_eq!(id(text).as_deref(), expected, "{text}");
    }
    assert_eq!(scan(b"{\"id\":\"\xff\"}", 1).id(), None);
}

#[test]
fn w02_a_long_id_is_told_and_not_kept() {
    let fits = format!(r#""{}""#, "a".repeat(IdText::MOST - 2));
    assert_eq!(id(&format!(r#"{{"id":{fits}}}"#)), Some(fits));
    assert_eq!(format!("{:?}", scan(br#"{"id":"a"}"#, 7).id().unwrap()), "\"a\"");
    for long in [format!(r#""{}""#, "a".repeat(IdText::MOST - 1)), "1".repeat(1_000)] {
        let scanner = scan(format!(r#"{{"id":{long},"result":1}}"#).as_bytes(), 7);
        assert_eq!((scanner.id(), scanner.answered()), (None, None));
        assert!(scanner.id_too_long() && scanner.has_id() && scanner.has_answer());
        let scanner = scan(format!(r#"{{"id":{long},"id":1,"result":1}}"#).as_bytes(), 7);
        assert!(scanner.id().is_some() && !scanner.id_too_long());
    }
}

#[test]
fn w02_a_call_is_answered_at_the_first_byte_that_shows_it() {
    for (before, last) in [
        (r#"{"id":7,"result""#, ":"),
        (r#"{"id":"7","error" "#, ":"),
        (r#"{"result":[{"id":1}],"id":7"#, "}"),
        (r#"{"result":{},"id":7"#, ","),
        (r#"{"result":{},"id":"7"#, "\""),
    ] {
        let mut scanner = scan(before.as_bytes(), usize::MAX);
        assert_eq!(scanner.answered(), None, "{before}");
        scanner.feed(last.as_bytes());
        let at_once = scanner.answered();
        assert!(at_once.is_some(), "{before}{last}");
        scanner.feed(br#" 1,"method":"m","id":8}"#);
        assert_eq!(scanner.answered(), at_once);
    }
    assert_eq!(scan(br#"{"id":7,"method":"m","result":1}"#, 1).answered(), None);
    assert_eq!(scan(br#"{"id":7,"params":{"result":1,"error":2}}"#, 1).answered(), None);
}

#[test]
fn w05_depth_follows_a_message_over_several_pieces() {
    let mut scanner = Scanner::new();
    for (piece, depth) in
        [("{", 1), ("  \"a\": [", 2), ("{\"]}\": \"}\\\"}\"", 3), ("}", 2), ("]", 1), ("}", 0), ("}}", 0)]
    {
        assert!(!scanner.complete() || piece == "}}");
        scanner.feed(piece.as_bytes());
        assert_eq!(scanner.depth(), depth, "{piece}");
        assert!(scanner.started_object());
    }
    assert!(scanner.complete());
}

#[test]
fn w07_deep_nesting_costs_nothing() {
    let mut scanner = Scanner::new();
    scanner.feed(br#"{"result":"#);
    for _ in 0..100_000 {
        scanner.feed(b"[{\"a\":");
    }
    assert_eq!(scanner.depth(), 200_001);
    for _ in 0..100_000 {
        scanner.feed(b"}]");
    }
    scanner.feed(br#","id":7}"#);
    assert_eq!(scanner.answered().map(|id| id.as_str().to_owned()).as_deref(), Some("7"));
    assert!(size_of::<Scanner>() <= 320, "{}", size_of::<Scanner>());
}
