use proptest::prelude::*;
use serde_json::Value;

use super::*;

const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

fn parse(text: &str) -> Envelope {
    read(text, 0).unwrap_or_else(|NotJson| panic!("{text}")).0
}

/// The members in the order of `NAMES`, as raw text; the version as what it was found to be.
fn members<'a>(text: &'a str, envelope: &Envelope) -> [Option<&'a str>; 6] {
    let raw = |span: &Option<Range<usize>>| span.clone().map(|span| &text[span]);
    [
        envelope.version_ok.then_some("2.0"),
        raw(&envelope.id),
        raw(&envelope.method),
        raw(&envelope.params),
        raw(&envelope.result),
        raw(&envelope.error),
    ]
}

fn raw_value() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "null",
        "7",
        "-0.10e+5",
        "123456789012345678901234567890",
        "\"2.0\"",
        "\"tools/call\"",
        r#""\u0032.0""#,
        r#""\"id\":1, \u00e9 \ud83d\ude00""#,
        "\"\u{e9}\u{20ac}\u{1f600}\"",
        "{}",
        r#"{"id":8,"result":{"error":[{}]}}"#,
        r#"[ 1 , [ ] , "}" ]"#,
        "true",
    ])
}

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "ID",
        "Result",
        "",
        "_meta",
        r"\u0069d",
        r"re\u0073ult",
        r"met\u0068od",
        r"id\u0000",
        r"\ud800",
        r"id\ud800",
        r"\\id",
    ])
}

fn blank() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["", "", " ", "\t\r "])
}

type Member = (&'static str, &'static str, &'static str);

fn render(members: &[Member]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(name, value, blank)| format!("{blank}\"{name}\"{blank}:{blank}{value}{blank}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

proptest! {
    #[test]
    fn w07_the_envelope_is_that_of_the_naive_reader(
        list in proptest::collection::vec((name(), raw_value(), blank()), 0..9),
        lead in blank(),
        rest in proptest::sample::select(vec!["", " ", "{}", "garbage"]),
    ) {
        let object = render(&list);
        let text = format!("{lead}{object}{rest}");
        let (envelope, end) = read(&text, 0).unwrap();
        prop_assert_eq!(&text[end..], rest);

        // What each member is, from the list that was written; what its value means, from a tree.
        let mut expected = [None; 6];
        let mut repeated = false;
        for (name, value, _) in &list {
            let decoded: Option<String> = serde_json::from_str(&format!("\"{name}\"")).ok();
            if let Some(at) = NAMES.iter().position(|known| decoded.as_deref() == Some(known)) {
                repeated |= expected[at].replace(*value).is_some();
            }
        }
        expected[0] = expected[0]
            .filter(|raw| serde_json::from_str::<Value>(raw).unwrap() == "2.0")
            .map(|_| "2.0");
        prop_assert_eq!(members(&text, &envelope), expected);
        prop_assert_eq!(envelope.repeated, repeated);

        if let Ok(tree) = serde_json::from_str::<Value>(&object) {
            for (name, found) in NAMES.iter().zip(members(&text, &envelope)).skip(1) {
                let found = found.map(|raw| serde_json::from_str::<Value>(raw).unwrap());
                prop_assert_eq!(tree.get(name), found.as_ref());
            }
        }
    }

    #[test]
    fn w07_no_text_breaks_the_reader(
        text in "[{}\\[\\]\",:\\\\u0-9a-f \u{e9}\u{20ac}]{0,60}",
        at in 0..70_usize,
    ) {
        for text in [text.clone(), format!("{{\"id\":{text}")] {
            if let Ok((_, end)) = read(&text, at) {
                prop_assert!(text[at..end].trim_start().as_bytes()[0] == 0x7b);
            }
            let is_object = serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object());
            prop_assert!(!is_object || read(&text, 0).is_ok());
            if let Ok(Element::Value(span, next)) = element(&text, at) {
                prop_assert!(next > at && text.get(span).is_some());
            }
        }
    }

    #[test]
    fn w08_a_batch_is_walked_element_by_element(
        values in proptest::collection::vec(raw_value(), 0..8),
        blank in blank(),
        rest in proptest::sample::select(vec!["", "]", " {}"]),
    ) {
        let list: Vec<String> = values.iter().map(|value| format!("{blank}{value}{blank}")).collect();
        let text = format!("{blank}[{}{blank}]{rest}", list.join(","));
        let mut at = 0;
        let mut found = Vec::new();
        let end = loop {
            match element(&text, at).unwrap() {
                Element::Value(span, next) => {
                    found.push(&text[span]);
                    at = next;
                }
                Element::End(end) => break end,
            }
        };
        prop_assert_eq!(found, values);
        prop_assert_eq!(&text[end..], rest);
    }
}

#[test]
fn w07_null_is_present_and_spelling_counts() {
    let text = r#"{"jsonrpc":"2.0","id":null,"result":null,"error":null,"params":null,"Method":"x"}"#;
    let null = Some("null");
    assert_eq!(members(text, &parse(text)), [Some("2.0"), null, None, null, null, null]);
    for version in ["2", "2.0", r#""2.00""#, r#""1.0""#, "null", r#"["2.0"]"#] {
        assert!(!parse(&format!(r#"{{"jsonrpc":{version}}}"#)).version_ok, "{version}");
    }
    assert!(parse(r#"{"jsonrpc":"\u0032.0"}"#).version_ok);
    assert_eq!(parse("{}"), Envelope::default());
}

#[test]
fn w07_of_a_repeated_member_the_last_counts_and_it_is_noted() {
    let text = r#"{"id":1,"a":1,"a":2,"\u0069d":2}"#;
    assert_eq!(members(text, &parse(text))[1], Some("2"));
    assert!(parse(text).repeated);
    assert!(parse(r#"{"jsonrpc":"2.0","jsonrpc":"2.0"}"#).repeated);
    assert!(!parse(r#"{"a":1,"a":2,"params":{"id":1,"id":2},"id":1}"#).repeated);
}

#[test]
fn w07_numbers_and_lone_surrogates_pass_raw() {
    for raw in [
        "1e999999",
        "-123456789012345678901234567890.10",
        r#""\ud800 \udc00\ud800""#,
        r#"{"\udfff":"\u0000"}"#,
    ] {
        let text = format!(r#"{{"\ud83d":{raw},"id":7,"result":{raw}}}"#);
        assert_eq!(members(&text, &parse(&text))[4], Some(raw));
    }
}

#[test]
fn w07_deep_nesting_passes_raw() {
    let deep = "[{\"a\":".repeat(100_000) + "1" + &"}]".repeat(100_000);
    let text = format!(r#"{{"other":{deep},"result":{deep},"id":7}}"#);
    assert_eq!(members(&text, &parse(&text))[4], Some(&*deep));
    let text = format!("[{deep},7]");
    let Ok(Element::Value(span, next)) = element(&text, 0) else { panic!("no element") };
    assert_eq!(&text[span], deep);
    assert!(matches!(element(&text, next), Ok(Element::Value(..))));
}

#[test]
fn w07_what_is_no_object_is_refused() {
    for text in [
        "",
        "   ",
        "[]",
        "7",
        r#"{"id":7"#,
        r#"{"id":7,}"#,
        r#"{"id":07}"#,
        r#"{"id":NaN}"#,
        r#"{"a":"b" "c"}"#,
        "{\"a\":\"\u{0}\"}",
        r#"{"a":"\x"}"#,
        r#"{id:7}"#,
        "\u{c}{}",
    ] {
        assert_eq!(read(text, 0), Err(NotJson), "{text}");
    }
    assert_eq!(read("{}", 3), Err(NotJson));
    assert_eq!(read("\u{e9}{}", 1), Err(NotJson));
}

#[test]
fn w07_several_messages_on_a_line_are_read_one_after_another() {
    let text = r#"{"id":1} {"id":2}{"id":3}, {"id":4}"#;
    let mut at = 0;
    let mut ids = Vec::new();
    while let Ok((envelope, end)) = read(text, at) {
        ids.push(&text[envelope.id.unwrap()]);
        at = end;
    }
    assert_eq!(ids, ["1", "2", "3"]);
    assert_eq!(&text[at..], r#", {"id":4}"#);
}

#[test]
fn w08_a_broken_batch_stops_where_it_breaks() {
    for text in ["", "{}", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1 [2]]", "[{]", "[1}", "7", "]x"] {
        let mut at = 0;
        let mut steps = 0;
        let stopped = loop {
            match element(text, at) {
                Ok(Element::Value(_, next)) => at = next,
                Ok(Element::End(_)) => break false,
                Err(NotJson) => break true,
            }
            steps += 1;
        };
        assert!(stopped || text == "]x", "{text}");
        assert!(steps <= 1, "{text}");
    }
    assert_eq!(element("[1]", 9), Err(NotJson));
}

#[test]
fn w07_a_control_character_in_a_name_is_no_json() {
    for text in
        ["{\"a\tb\":1}", "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{},\"x\u{1}\":1}", "{\"\u{0}\\u0041\":1}"]
    {
        assert!(read(text, 0).is_err(), "{text:?}");
    }
    assert!(read(r#"{"a\tb\u0001":1}"#, 0).is_ok());
}
