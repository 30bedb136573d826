use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::tool::raw;

fn priced(schema: &Value, limit: usize) -> Result<Prices, SchemaNote> {
    Prices::of(&Graph::read(schema, limit, false)?, limit)
}

fn steps(schema: &Value, depth: usize) -> Option<u64> {
    priced(schema, 10_000).unwrap().at(depth).map(|level| level.steps)
}

/// `levels` definitions, each made from the name of the one below it.
fn tower(levels: usize, each: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    definitions.insert("d0".to_owned(), json!({"type": "string"}));
    for level in 1..=levels {
        let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        definitions.insert(format!("d{level}"), each(below));
    }
    json!({"$ref": format!("#/$defs/d{levels}"), "$defs": definitions})
}

#[test]
fn l24_doubling_references_cost_what_they_cost() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let double = |below: Value| json!({keyword: [below.clone(), below]});
        let three = steps(&tower(3, double), 0).unwrap();
        let six = steps(&tower(6, double), 0).unwrap();
        assert!(six > 7 * three, "{keyword}: {three} {six}");
        let bomb = tower(50, double);
        assert!(bomb.to_string().len() < 4096);
        assert_eq!(priced(&bomb, 10_000), Err(SchemaNote::TooCostly { limit: 10_000 }), "{keyword}");
    }
}

#[test]
fn l24_doubling_one_level_down_costs_the_same() {
    for double in [
        |below: Value| json!({"allOf": [{"properties": {"a": below.clone()}}, {"properties": {"a": below}}]}),
        |below: Value| json!({"properties": {"a": below.clone()}, "patternProperties": {"^a": below}}),
        |below: Value| json!({"items": below.clone(), "contains": below}),
    ] {
        let prices = priced(&tower(30, double), 10_000).unwrap();
        assert!(prices.at(9).unwrap().steps > 500);
        assert_eq!(prices.at(20), None);
        assert_eq!(priced(&tower(30, double), 500), Err(SchemaNote::TooCostly { limit: 500 }));
    }
}

#[test]
fn members_of_different_names_do_not_add_up() {
    let fork = |below: Value| json!({"properties": {"a": below.clone(), "b": below.clone()}, "additionalProperties": below});
    assert!(steps(&tower(30, fork), 128).unwrap() < 10);
}

#[test]
fn recursion_through_members_and_elements_is_priced_by_depth() {
    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    assert_eq!(steps(&tree, 20), steps(&tree, 1));
    let flat = json!({"items": {"required": ["a", "b"]}});
    assert_eq!(steps(&flat, 10_000), steps(&flat, 1));
    let value = json!({"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "additionalProperties": {"$ref": "#"}},
    ]});
    assert!(steps(&value, 20).unwrap() < 20);
    // Each level is looked at twice, so deep values are not affordable and shallow ones are.
    let twice = json!({"oneOf": [{"items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}]});
    let prices = priced(&twice, 10_000).unwrap();
    assert!(prices.at(9).unwrap().steps > 500);
    assert_eq!(prices.at(20), None);
    let four = json!({"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]});
    assert_eq!(priced(&four, 10_000), Err(SchemaNote::TooCostly { limit: 10_000 }));
}

#[test]
fn l24_circles_at_one_value_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
    ] {
        assert_eq!(priced(&schema, 10_000), Err(SchemaNote::Endless));
    }
}

#[test]
fn long_chains_are_refused_before_they_reach_the_stack() {
    assert!(priced(&tower(40, |below| json!({"not": below})), 10_000).is_ok());
    let chain = priced(&tower(200, |below| json!({"not": below})), 10_000);
    assert_eq!(chain, Err(SchemaNote::TooCostly { limit: 10_000 }));
    let nested = |parts: u64| (1..parts).fold(json!({}), |below, _| json!({"not": below}));
    assert!(priced(&nested(CHAIN), 10_000).is_ok());
    assert_eq!(priced(&nested(CHAIN + 1), 10_000), Err(SchemaNote::TooCostly { limit: 10_000 }));
    let down = priced(&tower(200, |below| json!({"items": below})), 10_000).unwrap();
    assert!(down.at(SHALLOW).is_some());
    assert_eq!(down.at(100), None);
}

#[test]
fn l24_the_keywords_of_a_part_add_up() {
    let mut whole = serde_json::Map::new();
    let (mut steps, mut scan) = (1, 0);
    for (keyword, value, values, strings) in [
        ("minimum", json!(1), 1, 0),
        ("multipleOf", json!(0.1), 160, 0),
        ("required", json!(["a", "b", "c"]), 4, 0),
        ("type", json!(["string", "null"]), 3, 0),
        ("const", json!({"a": {}, "b": {"c": 1}}), 4, 1),
        ("enum", json!([[], [1]]), 4, 1),
        ("dependentRequired", json!({"a": ["b"]}), 3, 0),
        ("dependencies", json!({"a": ["b", "c"]}), 4, 0),
        ("minLength", json!(1), 0, 1),
        ("maxLength", json!(2), 0, 1),
    ] {
        let alone = priced(&json!({keyword: value}), 10_000).unwrap().at(0).unwrap();
        assert_eq!((alone.steps, alone.scan), (1 + values, strings), "{keyword}");
        (steps, scan) = (steps + values, scan + strings);
        whole.insert(keyword.to_owned(), value);
        let together = priced(&whole.clone().into(), 10_000).unwrap().at(0).unwrap();
        assert_eq!((together.steps, together.scan), (steps, scan), "{keyword}");
    }
}

#[test]
fn l24_whatever_a_keyword_applies_is_paid_for_where_it_applies() {
    let dear = || json!({"required": vec!["a"; 100]});
    for (depth, keyword, value) in [
        (0, "allOf", json!([dear()])),
        (0, "anyOf", json!([true, dear()])),
        (0, "oneOf", json!([dear()])),
        (0, "not", dear()),
        (0, "if", dear()),
        (0, "then", dear()),
        (0, "else", dear()),
        (0, "contentSchema", dear()),
        (0, "dependentSchemas", json!({"a": dear()})),
        (0, "dependencies", json!({"a": ["b"], "b": dear()})),
        (1, "properties", json!({"a": dear()})),
        (1, "additionalProperties", dear()),
        (1, "propertyNames", dear()),
        (1, "patternProperties", json!({"^a": dear()})),
        (1, "items", dear()),
        (1, "items", json!([true, dear()])),
        (1, "additionalItems", dear()),
        (1, "prefixItems", json!([dear()])),
        (1, "contains", dear()),
    ] {
        let prices = priced(&json!({keyword: value}), 10_000).unwrap();
        assert!(prices.at(depth).unwrap().steps > 100, "{keyword}");
        assert!(depth == 0 || prices.at(0).unwrap().steps < 10, "{keyword}");
    }
}

#[test]
fn l24_a_schema_that_costs_as_much_as_the_limit_is_checked() {
    let doubled = tower(3, |below| json!({"allOf": [below.clone(), below]}));
    for schema in [json!({"required": vec!["a"; 100]}), doubled] {
        let cost = steps(&schema, 0).unwrap();
        let limit = usize::try_from(cost).unwrap();
        assert_eq!(priced(&schema, limit).unwrap().at(0).unwrap().steps, cost);
        assert_eq!(priced(&schema, limit - 1), Err(SchemaNote::TooCostly { limit: limit - 1 }));
    }
}

#[test]
fn parts_patterns_and_lists_are_counted() {
    let wide: Value =
        (0..11_000).map(|at| (at.to_string(), json!({}))).collect::<serde_json::Map<_, _>>().into();
    let parts = priced(&json!({"properties": wide}), 10_000);
    assert_eq!(parts, Err(SchemaNote::TooCostly { limit: 10_000 }));
    let long = priced(&json!({"enum": vec![0; 11_000]}), 10_000);
    assert_eq!(long, Err(SchemaNote::TooCostly { limit: 10_000 }));
    for bomb in ["(a{1,1000}){1,1000}", "((a{30}){30}){30}", r"\p{L}{50}"] {
        let note = priced(&json!({"properties": {"a": {"pattern": bomb}}}), 10_000);
        assert_eq!(note, Err(SchemaNote::BadPattern(bomb.into())));
        let note = priced(&json!({"patternProperties": {bomb: {}}}), 10_000);
        assert_eq!(note, Err(SchemaNote::BadPattern(bomb.into())));
    }
    let together = json!({"allOf": [{"pattern": "[^a]{600}"}, {"pattern": "[^b]{600}"}]});
    assert_eq!(priced(&together, 10_000), Err(SchemaNote::BadPattern("[^b]{600}".into())));
    let scan = priced(&json!({"pattern": "^[a-z]{1,64}$"}), 10_000).unwrap().at(0).unwrap().scan;
    assert!((64..2_000).contains(&scan), "{scan}");
}

#[test]
fn unique_items_are_paid_for_at_every_depth_below() {
    let prices = priced(&json!({"uniqueItems": true}), 10_000).unwrap();
    assert_eq!(prices.at(0).unwrap().steps, 1);
    assert!(prices.at(100).unwrap().steps >= UNIQUE);
    let nested = json!({"uniqueItems": true, "items": {"$ref": "#"}});
    let prices = priced(&nested, 10_000).unwrap();
    assert!(prices.at(30).unwrap().steps > 25 * UNIQUE);
}

/// Applies `schema` to `value` and to all that it reaches, without ever stopping early, and counts what is applied at each
/// place.
fn apply(schema: &Value, root: &Value, value: &Value, place: &str, counts: &mut BTreeMap<String, u64>) {
    *counts.entry(place.to_owned()).or_default() += 1;
    let Value::Object(keywords) = schema else { return };
    let named = keywords.get("properties");
    let pattern = keywords.get("patternProperties").and_then(|patterns| patterns.get("^a"));
    for (keyword, part) in keywords {
        match (&**keyword, value) {
            ("$ref", _) => {
                let target = crate::tool::schema::resolve_local(root, part.as_str().unwrap()).unwrap();
                apply(target, root, value, place, counts);
            }
            ("allOf" | "anyOf", _) => {
                part.as_array().unwrap().iter().for_each(|part| apply(part, root, value, place, counts));
            }
            ("not", _) => apply(part, root, value, place, counts),
            ("items" | "contains", Value::Array(elements)) => {
                for (at, element) in elements.iter().enumerate() {
                    apply(part, root, element, &format!("{place}/{at}"), counts);
                }
            }
            ("properties" | "patternProperties" | "additionalProperties", Value::Object(members)) => {
                for (name, member) in members {
                    let place = format!("{place}/{name}");
                    let by_name = named.and_then(|named| named.get(name));
                    let by_pattern = pattern.filter(|_| name.starts_with('a'));
                    let part = match &**keyword {
                        "properties" => by_name,
                        "patternProperties" => by_pattern,
                        _ if by_name.or(by_pattern).is_some() => None,
                        _ => Some(part),
                    };
                    if let Some(part) = part {
                        apply(part, root, member, &place, counts);
                    }
                }
            }
            _ => {}
        }
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"$ref": "#/$defs/p"})),
        Just(json!({"$ref": "#/$defs/q"})),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(3, 12, 3, |part| {
        let two = (part.clone(), part.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| json!({"allOf": [a, b]})),
            two.clone().prop_map(|(a, b)| json!({"anyOf": [a], "not": b})),
            two.clone().prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}})),
            two.clone().prop_map(|(a, b)| json!({"properties": {"a": a}, "additionalProperties": b})),
            two.clone().prop_map(|(a, b)| json!({"patternProperties": {"^a": a}, "additionalProperties": b})),
            two.prop_map(|(a, b)| json!({"items": a, "contains": b})),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    Just(json!(1)).prop_recursive(4, 12, 3, |value| {
        prop_oneof![
            proptest::collection::vec(value.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec(("[abc]", value), 0..3)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn l24_the_price_is_never_below_what_is_applied(
        mut schema in any_schema(), p in any_schema(), q in any_schema(), value in any_value()
    ) {
        if let Value::Object(keywords) = &mut schema {
            keywords.insert("$defs".to_owned(), json!({"p": p, "q": q}));
        }
        let extent = raw::extent(&value.to_string());
        if let Some(level) = priced(&schema, 10_000).ok().and_then(|prices| prices.at(extent.depth)) {
            let mut counts = BTreeMap::new();
            apply(&schema, &schema, &value, "", &mut counts);
            for (place, count) in &counts {
                prop_assert!(*count <= level.steps, "{} at `{}`, price {:?}", count, place, level);
            }
            prop_assert!(u64::try_from(counts.len()).unwrap() <= extent.values);
        }
    }
}
