use proptest::prelude::*;
use serde_json::json;

use super::*;

fn checks() -> Checks {
    Checks::new(&Limits::default())
}

fn check(schema: &Value, value: &str) -> Result<(), String> {
    Check::default().check(&schema.to_string(), value, &checks())
}

fn note(schema: &Value) -> Option<SchemaNote> {
    Check::default().note(&schema.to_string(), &checks())
}

#[test]
fn l25_dialects_are_told_apart() {
    for (dialect, fits) in [
        (json!(null), false),
        (json!("https://json-schema.org/draft/2020-12/schema"), false),
        (json!("https://json-schema.org/draft/2019-09/schema"), false),
        (json!("http://json-schema.org/draft-07/schema#"), true),
        (json!("http://json-schema.org/draft-06/schema"), true),
        (json!("http://json-schema.org/draft-04/schema#"), true),
    ] {
        // A reference hides its neighbours up to draft 7.
        let mut schema = json!({"$ref": "#/definitions/any", "type": "string", "definitions": {"any": {}}});
        if !dialect.is_null() {
            schema["$schema"] = dialect.clone();
        }
        assert_eq!(note(&schema), None, "{dialect}");
        assert_eq!(check(&schema, "1").is_ok(), fits, "{dialect}");
    }
    let unknown = json!({"$schema": "https://example.com/\u{202e}"});
    assert_eq!(note(&unknown), Some(SchemaNote::UnknownDialect("\"https://example.com/\\u{202e}\"".into())));
    assert!(matches!(note(&json!({"$schema": 7})), Some(SchemaNote::UnknownDialect(_))));
}

#[test]
fn l25_local_references_are_followed_and_others_never() {
    for (to, id) in [
        ("#/$defs/n", json!(null)),
        ("#named", json!(null)),
        ("#/$defs/n", json!("https://example.com/s")),
        ("https://example.com/s#/$defs/n", json!("https://example.com/s")),
        ("https://example.com/s#named", json!("https://example.com/s#")),
    ] {
        let mut schema = json!({"properties": {"a": {"$ref": to}}, "$defs": {"n": {"$anchor": "named", "type": "number"}}});
        if !id.is_null() {
            schema["$id"] = id;
        }
        assert_eq!(note(&schema), None, "{to}");
        assert!(check(&schema, r#"{"a":"x"}"#).is_err(), "{to}");
    }
    let own = json!({"$id": "https://example.com/s", "type": ["array", "null"], "items": {"$ref": "https://example.com/s"}});
    assert_eq!(note(&own), None);
    assert_eq!((check(&own, "[[null]]"), check(&own, "[[1]]").is_err()), (Ok(()), true));
    for to in [
        "https://example.com/x",
        "other.json#/a",
        "http://json-schema.org/draft-07/schema#",
        "file:///etc/passwd",
    ] {
        assert_eq!(note(&json!({"items": {"$ref": to}})), Some(SchemaNote::ExternalReference(to.into())));
    }
    let twice = json!({"$ref": "#n", "$defs": {"a": {"$anchor": "n"}, "b": {"$anchor": "n"}}});
    assert_eq!(note(&twice), Some(SchemaNote::UnresolvedReference("#n".into())));
    for to in ["#/nowhere", "#nobody", "#/%"] {
        for mut schema in [json!({}), json!({"$id": "https://example.com/s"}), json!({"$id": "#n"})] {
            schema["items"] = json!({"$ref": to});
            assert_eq!(note(&schema), Some(SchemaNote::UnresolvedReference(to.into())));
        }
    }
}

#[test]
fn what_cannot_be_priced_is_set_aside_and_names_like_it_are_not() {
    for (schema, keyword) in [
        (json!({"unevaluatedProperties": false}), "unevaluatedProperties"),
        (json!({"items": {"unevaluatedItems": {}}}), "unevaluatedItems"),
        (json!({"$dynamicRef": "#a"}), "$dynamicRef"),
        (json!({"anyOf": [{"unevaluatedProperties": false}]}), "unevaluatedProperties"),
        (json!({"$recursiveAnchor": true}), "$recursiveAnchor"),
        (json!({"$defs": {"a": {"$id": "x"}}}), "$id"),
        (json!({"$defs": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}}), "$schema"),
        (json!({"$id": "http://json-schema.org/draft-07/schema"}), "$id"),
        (json!({"$schema": "http://json-schema.org/draft-04/schema", "items": {"id": "x"}}), "id"),
    ] {
        assert_eq!(note(&schema), Some(SchemaNote::Keyword(keyword)));
    }
    let names = json!({"properties": {"$id": {"type": "string"}, "$ref": {}, "$dynamicRef": {}, "id": {}}});
    assert_eq!(note(&names), None);
    assert!(check(&names, r#"{"$id":1}"#).is_err());
}

#[test]
fn l24_invalid_schemas_and_patterns_are_set_aside() {
    assert!(matches!(note(&json!({"type": "nonsense"})), Some(SchemaNote::Invalid(_))));
    assert!(matches!(note(&json!(7)), Some(SchemaNote::Invalid(_))));
    for pattern in ["(?=a)b", r"(a)\1", "[z-a]", "(a{1,1000}){1,1000}"] {
        assert_eq!(note(&json!({"pattern": pattern})), Some(SchemaNote::BadPattern(pattern.into())));
        let names = json!({"patternProperties": {pattern: {}}});
        assert!(note(&names).is_some(), "{pattern}");
    }
    for id in ["%", "http://[", "a b", "\\"] {
        for dialect in
            ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
        {
            let named = note(&json!({"$schema": dialect, "$id": id}));
            assert!(matches!(named, Some(SchemaNote::Invalid(_))), "{id} {named:?}");
        }
    }
    let huge = Check::default().note(r#"{"default":1e999}"#, &checks());
    assert!(matches!(huge, Some(SchemaNote::Invalid(_))));
}

#[test]
fn w07_what_no_tree_can_hold_is_accepted_unchecked() {
    let schema = json!({"type": "string"});
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for value in ["1e999", "[\"\\ud800\"]", &deep] {
        assert_eq!(check(&schema, value), Ok(()), "{value:.20}");
    }
    assert!(check(&json!({"maximum": 9_007_199_254_740_992_u64}), "9007199254740993").is_err());
}

#[test]
fn l24_values_are_checked_only_within_the_bounds_of_their_price() {
    let schema = json!({"items": {"type": "string"}});
    let numbers = |count: usize| format!("[{}0]", "0,".repeat(count));
    assert!(check(&schema, &numbers(10)).unwrap_err().starts_with("/0: "));
    assert!(check(&schema, &numbers(1 << 17)).unwrap_err().contains("too large to say where"));
    assert_eq!(check(&schema, &numbers(1 << 24)), Ok(()));
    let string = json!({"type": "string"});
    let explained = usize::try_from(EXPLAINED / 2).unwrap();
    assert!(check(&string, &numbers(explained - 2)).unwrap_err().contains("not of type"));
    assert!(check(&string, &numbers(explained - 1)).unwrap_err().contains("too large to say where"));
    let pattern = json!({"pattern": "^[^b]{1,900}$"});
    assert!(check(&pattern, "\"b\"").is_err());
    assert_eq!(check(&pattern, &format!("\"{}\"", "b".repeat(1 << 20))), Ok(()));
}

#[test]
fn formats_are_notes_in_every_dialect() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "regex",
        "contentMediaType": "application/json", "contentEncoding": "base64"});
    assert_eq!(note(&schema), None);
    assert_eq!(check(&schema, "\"(((\""), Ok(()));
}

#[test]
fn the_longest_chain_that_is_priced_fits_into_a_small_stack() {
    // 2 MiB is what threads get unless asked otherwise.
    let run = || {
        let mut definitions = serde_json::Map::new();
        for level in 0..12 {
            let mut part = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            for _ in 0..8 {
                part = json!({"not": part});
            }
            definitions.insert(format!("d{level}"), part);
        }
        definitions.insert("d12".to_owned(), json!({"type": "string"}));
        let chain = json!({"$ref": "#/$defs/d0", "$defs": definitions});
        assert_eq!(note(&chain), None);
        assert_eq!(check(&chain, "\"x\""), Ok(()));
        assert!(check(&chain, "1").is_err());
        let recursive = json!({"type": ["array"], "items": {"allOf": [{"anyOf": [{"$ref": "#"}]}]}});
        let value = format!("{}{}", "[".repeat(25), "]".repeat(25));
        assert_eq!(check(&recursive, &value), Ok(()));
        assert!(check(&recursive, &value.replace("[]", "[1]")).is_err());
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn l24_parts_that_are_reached_in_many_ways_are_compiled_once() {
    // Two to the power of forty ways lead to the last part, none of them to the same value as another.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let below = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"properties": {"a": below.clone(), "b": below}}));
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let fork = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert_eq!(note(&fork), None);
    let value = format!("{}1{}", r#"{"b":"#.repeat(40), "}".repeat(40));
    assert!(check(&fork, &value).unwrap_err().starts_with("/b/b/b/"));
}

#[test]
fn l24_compiled_schemas_are_bounded_and_the_answer_does_not_depend_on_it() {
    let shared = checks();
    let schema = json!({"properties": {"a": {"pattern": "^[^a]{1,900}$"}}}).to_string();
    let all: Vec<Check> = (0..100).map(|_| Check::default()).collect();
    for one in &all {
        assert!(one.check(&schema, r#"{"a":"a"}"#, &shared).is_err());
        assert_eq!(one.check(&schema, r#"{"a":"b"}"#, &shared), Ok(()));
    }
    let kept = all.iter().filter(|one| matches!(one.0.get(), Some(State::Kept(_)))).count();
    assert!(kept > 0 && kept * 9_000 <= COMPILED, "{kept}");
    assert!(shared.room.load(Ordering::Relaxed) < 9_100);
}

#[test]
fn checks_may_run_on_any_thread() {
    fn shared<T: Send + Sync>() {}
    shared::<Check>();
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[#/$a-z(){}\\[\\]*+^.0-9\u{e9}]{0,8}".prop_map(Value::from),
        prop_oneof![Just("#"), Just("#/items"), Just("object"), Just("array"), Just("string")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |value| {
        let names = proptest::sample::select(vec![
            "$ref",
            "$defs",
            "$anchor",
            "$id",
            "type",
            "enum",
            "const",
            "properties",
            "required",
            "items",
            "prefixItems",
            "contains",
            "minContains",
            "uniqueItems",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "pattern",
            "patternProperties",
            "additionalProperties",
            "propertyNames",
            "dependentSchemas",
            "dependencies",
            "minLength",
            "maximum",
            "multipleOf",
            "format",
            "minItems",
            "a",
            "b",
        ]);
        prop_oneof![
            proptest::collection::vec(value.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((names, value), 0..5).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]
    #[test]
    fn w07_any_schema_is_checked_or_set_aside(schema in any_json(), value in any_json(), dialect in 0..3_usize) {
        let mut schema = schema;
        let dialects = ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#"];
        if let (Some(keywords), Some(name)) = (schema.as_object_mut(), dialects.get(dialect)) {
            keywords.insert("$schema".to_owned(), json!(name));
        }
        if let Err(problem) = check(&schema, &value.to_string()) {
            prop_assert!(note(&schema).is_none());
            prop_assert!(problem.len() <= PROBLEM);
        }
    }
}
