use super::*;

/// A tool as a session lists it: built through the public way, a listing.
fn tool(schema: &str) -> std::sync::Arc<Tool> {
    super::super::testing::tool(schema)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn pairs(given: &[&str]) -> Given {
    Given::read(&words(given)).expect("pairs")
}

const SCHEMA: &str = r#"{"type":"object","properties":{
    "s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"z":{"type":"null"},
    "a":{"type":"array"},"o":{"type":"object"},"u":{"type":["integer","null","string"]},"m":{"type":["integer","null"]},
    "x":{}}}"#;

#[test]
fn values_are_typed_by_the_schema() {
    let tool = tool(SCHEMA);
    for (given, json) in [
        ("s=5", r#"{"s":"5"}"#),
        ("s=", r#"{"s":""}"#),
        ("s=a \"b\"=c", r#"{"s":"a \"b\"=c"}"#),
        ("i=9007199254740993", r#"{"i":9007199254740993}"#),
        ("i=-3", r#"{"i":-3}"#),
        ("n=1.50", r#"{"n":1.50}"#),
        ("n=1e400", r#"{"n":1e400}"#),
        ("b=true", r#"{"b":true}"#),
        ("z=null", r#"{"z":null}"#),
        ("a=[1,\"x\"]", r#"{"a":[1,"x"]}"#),
        ("o={\"k\":1.0}", r#"{"o":{"k":1.0}}"#),
        ("u=7", r#"{"u":7}"#),
        ("u=null", r#"{"u":null}"#),
        ("u=seven", r#"{"u":"seven"}"#),
        ("x=hello", r#"{"x":"hello"}"#),
        ("x=12", r#"{"x":12}"#),
        ("x=\"12\"", r#"{"x":"12"}"#),
    ] {
        assert_eq!(pairs(&[given]).for_tool(&tool, true).expect(given), json);
    }
    assert_eq!(pairs(&["i=1", "s=x"]).for_tool(&tool, true).unwrap(), r#"{"i":1,"s":"x"}"#);
    assert_eq!(pairs(&[]).for_tool(&tool, true).unwrap(), "{}");
}

#[test]
fn l25_a_value_that_does_not_fit_names_the_argument() {
    let tool = tool(SCHEMA);
    for (given, message) in [
        ("i=x", "argument `i` must be an integer, such as 3, not `x`"),
        ("i=1.0", "argument `i` must be an integer, such as 3, not `1.0`"),
        ("i=", "argument `i` must be an integer, such as 3, not ``"),
        ("n=0x10", "argument `n` must be a number, such as 3 or 0.5, not `0x10`"),
        ("n=\"1\"", "argument `n` must be a number, such as 3 or 0.5, not `\"1\"`"),
        ("b=yes", "argument `b` must be true or false, not `yes`"),
        ("a=1,2", "argument `a` must be a JSON array, such as '[1,2]', not `1,2`"),
        ("o={", "argument `o` must be a JSON object, such as '{\"a\":1}', not `{`"),
        ("m=x", "argument `m` must be an integer, such as 3, or null, not `x`"),
    ] {
        assert_eq!(pairs(&[given]).for_tool(&tool, true).unwrap_err().to_string(), message);
    }
    assert_eq!(pairs(&["i=x", "b=yes"]).for_tool(&tool, false).unwrap(), r#"{"i":"x","b":"yes"}"#);
}

#[test]
fn l25_an_unknown_argument_is_refused_with_near_names() {
    let echo = tool(r#"{"properties":{"value":{},"delay":{"type":"integer"}}}"#);
    let message = |given| pairs(&[given]).for_tool(&echo, true).unwrap_err().to_string();
    assert_eq!(message("dely=1"), "tool `tool` has no argument `dely`; did you mean `delay`?");
    assert_eq!(message("q=1"), "tool `tool` has no argument `q`; it has `value`, `delay`");
    assert_eq!(pairs(&["q=1"]).for_tool(&echo, false).unwrap(), r#"{"q":1}"#);
    let none = tool(r#"{"type":"object"}"#);
    let refused = pairs(&["q=1"]).for_tool(&none, true).unwrap_err();
    assert_eq!(refused.to_string(), "tool `tool` has no argument `q`; it takes none");
    let open = tool(r#"{"additionalProperties":true}"#);
    assert_eq!(pairs(&["q=1"]).for_tool(&open, true).unwrap(), r#"{"q":1}"#);
}

#[test]
fn words_are_pairs_or_one_object() {
    let read = |given: &[&str]| Given::read(&words(given));
    assert_eq!(read(&["{\"a\":1.0}"]).unwrap(), Given::Json("{\"a\":1.0}".to_owned()));
    let message = |given: &[&str]| read(given).unwrap_err().to_string();
    assert_eq!(message(&["{\"a\":"]), "the arguments are not JSON at byte 5: EOF while parsing a value");
    assert!(message(&["[1]"]).starts_with("the arguments must be a JSON object"));
    assert!(message(&["a=1", "docs-server"]).starts_with("`docs-server` is no argument: write NAME=VALUE"));
    assert!(message(&["a=1", "{\"b\":\"x=y\"}"]).starts_with("`{\"b\":\"x=y\"}` is no argument"));
    assert_eq!(message(&["a=1", "a=2"]), "argument `a` is given twice: for an array write a='[1,2]'");
    assert!(message(&["@/no/such/file"]).starts_with("cannot read the arguments from `/no/such/file`: "));
}
