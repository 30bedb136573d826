use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::envelope;
use super::*;

/// The frame as a tree, after the checks that hold for every frame.
fn frame(push: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = b"before".to_vec();
    push(&mut out);
    let text = String::from_utf8(out).unwrap();
    let line = text.strip_prefix("before").unwrap().strip_suffix('\n').unwrap();
    assert!(!line.contains(['\n', '\r']), "{line:?}");
    let (envelope, end) = envelope::read(line, 0).unwrap();
    assert!(envelope.version_ok && !envelope.repeated);
    assert_eq!(end, line.len());
    serde_json::from_str(line).unwrap()
}

/// Raw JSON as callers write it, on one line or many.
fn raw() -> impl Strategy<Value = String> {
    let text = "[\u{0}-\u{1f}\"\\\\a-z\u{7f}\u{e9}\u{2028}\u{1f600}]{0,8}";
    let value =
        (text, any::<i64>()).prop_map(|(text, number)| json!({ "text": text, "list": [number, {}, []] }));
    (value, any::<bool>()).prop_map(|(value, pretty)| match pretty {
        true => serde_json::to_string_pretty(&value).unwrap().replace('\n', "\r\n"),
        false => value.to_string(),
    })
}

fn tree(raw: &str) -> Value {
    serde_json::from_str(raw).unwrap()
}

proptest! {
    #[test]
    fn w04_every_frame_is_one_whole_line_that_reads_back(
        id in 0..=super::super::id::MAX,
        text in "[\u{0}-\u{1f}\"\\\\a-z/\u{7f}\u{e9}\u{2028}\u{1f600}]{0,12}",
        raw in raw(),
        code in any::<i64>(),
    ) {
        let value = tree(&raw);
        prop_assert_eq!(
            frame(|out| push_request(out, id, &text, Some(&OneLine::new(raw.clone())))),
            json!({ "jsonrpc": "2.0", "id": id, "method": text, "params": value })
        );
        prop_assert_eq!(
            frame(|out| push_request(out, id, &text, None)),
            json!({ "jsonrpc": "2.0", "id": id, "method": text })
        );
        prop_assert_eq!(
            frame(|out| push_notification(out, &text, Some(&OneLine::new(raw.clone())))),
            json!({ "jsonrpc": "2.0", "method": text, "params": value })
        );
        prop_assert_eq!(
            frame(|out| push_notification(out, &text, None)),
            json!({ "jsonrpc": "2.0", "method": text })
        );
        let raw_id = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(
            frame(|out| push_result(out, &raw_id, &raw)),
            json!({ "jsonrpc": "2.0", "id": text, "result": value })
        );
        prop_assert_eq!(
            frame(|out| push_error(out, &raw_id, code, &text, Some(&raw))),
            json!({ "jsonrpc": "2.0", "id": text, "error": { "code": code, "message": text, "data": value } })
        );
        prop_assert_eq!(
            frame(|out| push_error(out, &raw_id, code, &text, None)),
            json!({ "jsonrpc": "2.0", "id": text, "error": { "code": code, "message": text } })
        );
    }

    #[test]
    fn w04_one_line_means_the_same(raw in raw()) {
        let line = OneLine::new(raw.clone());
        prop_assert!(!line.contains(['\n', '\r']));
        prop_assert_eq!(line.len(), raw.len());
        prop_assert_eq!(tree(&line), tree(&raw));
    }
}

#[test]
fn w04_the_bytes_of_each_frame() {
    let mut out = Vec::new();
    push_request(&mut out, 1, "tools/list", None);
    push_notification(&mut out, "a\nb", Some(&OneLine::new("{\r\n}".to_owned())));
    push_result(&mut out, "[\n1]", "{}");
    push_error(&mut out, "\"x\"", -32601, "no", None);
    let expected = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","method":"a\nb","params":{  }}"#,
        r#"{"jsonrpc":"2.0","id":[ 1],"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}"#,
    ];
    assert_eq!(String::from_utf8(out).unwrap(), expected.join("\n") + "\n");
}

#[test]
fn w04_json_on_one_line_is_not_copied() {
    let json = "{\"a\":\"\\n\"}".to_owned();
    let place = json.as_ptr();
    let line = OneLine::new(json);
    assert_eq!(line.as_ptr(), place);
}

#[test]
fn w07_numbers_and_escapes_are_written_as_they_came() {
    let raw = r#"{"n":1.10e+400,"big":123456789012345678901234567890,"s":"\ud800\u00e9"}"#;
    let mut out = Vec::new();
    push_result(&mut out, "1", raw);
    assert!(String::from_utf8(out).unwrap().contains(raw));
}
