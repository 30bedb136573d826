//! Schemas that say little more than which members an object has and of what type they are: most of those in use.
//!
//! A value that fits is known to fit from one look at its text, without a tree, which saves nine tenths of the cost of
//! a check. Nothing is ever refused here: whatever is not sure goes to the whole check.

use serde_json::{Map, Value};

use crate::wire::decode;
use crate::wire::json::{self, Members, NotJson};

/// Members that are told apart: each has a bit.
const MEMBERS: usize = 64;

#[derive(Debug)]
pub(super) struct Plain {
    /// In the order of their names.
    properties: Vec<(Box<str>, Shape)>,
    /// One bit for each property, in the order of `properties`.
    required: u64,
    /// Whether members that are not named there may have any value.
    open: bool,
}

/// What the text of a value has to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Any,
    String,
    Number,
    Integer,
    Boolean,
    Null,
    Object,
    Array,
    /// More than can be seen here.
    Unsure,
}

impl Plain {
    /// `None`: the schema says more than that.
    pub(super) fn read(schema: &Value) -> Option<Plain> {
        let schema = schema.as_object()?;
        let known = |key: &str| {
            matches!(key, "type" | "properties" | "required" | "additionalProperties") || is_annotation(key)
        };
        if schema.get("type")? != "object" || !schema.keys().all(|key| known(key)) {
            return None;
        }
        let open = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => true,
            Some(Value::Bool(false)) => false,
            Some(_) => return None,
        };
        let mut properties: Vec<(Box<str>, Shape)> = match schema.get("properties") {
            Some(properties) => properties
                .as_object()?
                .iter()
                .map(|(name, part)| (name.as_str().into(), Shape::of(part)))
                .collect(),
            None => Vec::new(),
        };
        let required: Vec<&str> = match schema.get("required") {
            Some(required) => required.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        if properties.len().max(required.len()) > MEMBERS {
            return None;
        }
        for name in &required {
            if !properties.iter().any(|(known, _)| **known == **name) {
                properties.push(((*name).into(), if open { Shape::Any } else { Shape::Unsure }));
            }
        }
        properties.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        if properties.len() > MEMBERS {
            return None;
        }
        let bit = |name: &str| {
            properties.binary_search_by(|(known, _)| (**known).cmp(name)).map_or(0, |at| 1 << at)
        };
        let required = required.into_iter().map(bit).fold(0, |all, bit: u64| all | bit);
        Some(Plain { properties, required, open })
    }

    /// Whether this JSON text surely fits. False: it has to be checked.
    pub(super) fn surely_accepts(&self, value: &str) -> bool {
        self.fits(value).unwrap_or(false)
    }

    fn fits(&self, value: &str) -> Result<bool, NotJson> {
        let mut members = Members::new(value, 0)?;
        let mut seen = 0_u64;
        while let Some(name) = members.next_name()? {
            let place = members.value()?;
            let name = decode::name(value, &name);
            match self.properties.binary_search_by(|(known, _)| (**known).cmp(&*name)) {
                Ok(at) => {
                    let bit = 1 << at;
                    // Of a repeated member the last counts, here as everywhere; the whole check sees to that.
                    let is_new = seen & bit == 0;
                    seen |= bit;
                    let shape = self.properties.get(at).map_or(Shape::Unsure, |(_, shape)| *shape);
                    if !is_new || !shape.fits(value.get(place).unwrap_or_default()) {
                        return Ok(false);
                    }
                }
                Err(_) if self.open => {}
                Err(_) => return Ok(false),
            }
        }
        Ok(seen & self.required == self.required && json::skip_blanks(members.rest()).is_empty())
    }
}

impl Shape {
    fn of(part: &Value) -> Shape {
        match part {
            Value::Bool(true) => Shape::Any,
            Value::Object(part) => Shape::of_object(part),
            _ => Shape::Unsure,
        }
    }

    fn of_object(part: &Map<String, Value>) -> Shape {
        if !part.keys().all(|key| key == "type" || is_annotation(key)) {
            return Shape::Unsure;
        }
        match part.get("type").map(Value::as_str) {
            None => Shape::Any,
            Some(Some("string")) => Shape::String,
            Some(Some("number")) => Shape::Number,
            Some(Some("integer")) => Shape::Integer,
            Some(Some("boolean")) => Shape::Boolean,
            Some(Some("null")) => Shape::Null,
            Some(Some("object")) => Shape::Object,
            Some(Some("array")) => Shape::Array,
            Some(_) => Shape::Unsure,
        }
    }

    /// Whether a value of this text, which is JSON, has the shape for sure.
    fn fits(self, text: &str) -> bool {
        match self {
            Shape::Any => true,
            Shape::String => text.starts_with('"'),
            Shape::Number => text.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
            // A tree has -0 as a fraction.
            Shape::Integer => {
                text != "-0"
                    && text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
            }
            Shape::Boolean => matches!(text, "true" | "false"),
            Shape::Null => text == "null",
            Shape::Object => text.starts_with('{'),
            Shape::Array => text.starts_with('['),
            Shape::Unsure => false,
        }
    }
}

/// Keywords that ask nothing of a value, in every dialect that is known here.
fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "$schema"
            | "$comment"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::config::Limits;
    use crate::tool::schema::{Check, Checks};

    fn plain(schema: Value) -> Option<Plain> {
        Plain::read(&schema)
    }

    #[test]
    fn l24_values_of_plain_schemas_are_accepted_by_their_text() {
        let schema = plain(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where" },
                "limit": { "type": "integer", "default": 10 },
                "deep": { "type": "boolean" },
                "mode": { "type": "string", "enum": ["a"] },
            },
            "required": ["path"],
            "additionalProperties": false,
        }))
        .unwrap();
        for (value, sure) in [
            (r#"{"path":"a"}"#, true),
            (r#" { "limit" : -7 , "pat\u0068" : "" } "#, true),
            (r#"{"path":"a","deep":false}"#, true),
            (r#"{}"#, false),
            (r#"{"path":1}"#, false),
            (r#"{"path":"a","limit":1.0}"#, false),
            (r#"{"path":"a","limit":1e3}"#, false),
            (r#"{"path":"a","mode":"a"}"#, false),
            (r#"{"path":"a","other":1}"#, false),
            (r#"{"path":1,"path":"a"}"#, false),
            (r#"{"path":"a"} x"#, false),
            (r#"{"path":"a""#, false),
            ("[]", false),
            ("", false),
        ] {
            assert_eq!(schema.surely_accepts(value), sure, "{value}");
        }
        let open =
            plain(json!({ "type": "object", "properties": { "a": true }, "required": ["a", "a"] })).unwrap();
        assert!(open.surely_accepts(r#"{"a":1,"b":[2]}"#));
        assert!(!open.surely_accepts(r#"{"b":[2]}"#));
    }

    #[test]
    fn l24_a_schema_that_says_more_is_not_plain() {
        for more in [
            json!({ "allOf": [] }),
            json!({ "$ref": "#" }),
            json!({ "minProperties": 1 }),
            json!({ "additionalProperties": { "type": "string" } }),
            json!({ "patternProperties": {} }),
            json!({ "if": true }),
            json!({ "$defs": {} }),
        ] {
            let mut schema = json!({ "type": "object" });
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert!(plain(schema).is_none(), "{more}");
        }
        assert!(plain(json!({ "type": ["object", "null"] })).is_none());
        assert!(plain(json!({})).is_none());
        assert!(plain(json!(true)).is_none());
    }

    #[test]
    fn l24_a_plain_schema_names_at_most_64_members() {
        let names = |from: usize, to: usize| (from..to).map(|number| number.to_string());
        let schema = |properties: usize, from: usize, to: usize| {
            let properties: Map<String, Value> =
                names(0, properties).map(|name| (name, json!({ "type": "null" }))).collect();
            let required: Vec<String> = names(from, to).collect();
            plain(json!({ "type": "object", "properties": properties, "required": required }))
        };
        for (properties, from, to) in [(65, 0, 0), (0, 0, 65), (64, 64, 65), (40, 39, 65)] {
            assert!(schema(properties, from, to).is_none(), "{properties}, {from} to {to}");
        }
        let without = |missing: Option<usize>| {
            let members = (0..64).filter(|name| Some(*name) != missing);
            let members: Vec<String> = members.map(|name| format!("\"{name}\":null")).collect();
            format!("{{{}}}", members.join(","))
        };
        for properties in [64, 40, 0] {
            let schema = schema(properties, 0, 64).unwrap();
            assert!(schema.surely_accepts(&without(None)));
            let missed = (0..64).filter(|name| !schema.surely_accepts(&without(Some(*name)))).count();
            assert_eq!(missed, 64, "{properties}");
        }
    }

    #[test]
    fn l24_each_type_is_told_by_the_text() {
        let all = [r#""a""#, "-1", "0", "1.5", "1e2", "-0", "true", "false", "null", r#"{"a":1}"#, "[1]"];
        for (kind, sure) in [
            ("string", &[r#""a""#][..]),
            ("number", &["-1", "0", "1.5", "1e2", "-0"]),
            ("integer", &["-1", "0"]),
            ("boolean", &["true", "false"]),
            ("null", &["null"]),
            ("object", &[r#"{"a":1}"#]),
            ("array", &["[1]"]),
        ] {
            let schema = plain(json!({ "type": "object", "properties": { "a": { "type": kind } } })).unwrap();
            let is_told = |value: &&str| schema.surely_accepts(&format!("{{\"a\":{value}}}"));
            assert_eq!(all.into_iter().filter(is_told).collect::<Vec<_>>(), sure, "{kind}");
        }
    }

    fn part() -> impl Strategy<Value = Value> {
        let kinds = ["string", "number", "integer", "boolean", "null", "object", "array"];
        prop_oneof![
            4 => proptest::sample::select(kinds.to_vec()).prop_map(|kind| json!({ "type": kind, "title": "x" })),
            1 => Just(json!(true)),
            1 => Just(json!({})),
            1 => Just(json!(false)),
            1 => Just(json!({ "type": "string", "minLength": 2 })),
            1 => Just(json!({ "type": ["string", "null"] })),
        ]
    }

    fn value() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec![
            "\"\"",
            "\"text\"",
            r#""\ud800""#,
            "1",
            "-0",
            "1.5",
            "1e2",
            "1e999",
            "100000000000000000000000",
            "true",
            "false",
            "null",
            "{}",
            r#"{"a":1}"#,
            "[]",
            "[1]",
        ])
    }

    proptest! {
        /// Whatever is accepted by its text alone is accepted by the whole check.
        #[test]
        fn l24_nothing_is_accepted_that_the_whole_check_refuses(
            properties in proptest::collection::btree_map("[a-d]", part(), 0..4),
            required in proptest::collection::btree_set("[a-e]", 0..3),
            open in any::<bool>(),
            dialect in proptest::sample::select(vec!["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"]),
            members in proptest::collection::vec(("[a-f]", value()), 0..6),
        ) {
            let dialect = match dialect.strip_prefix("draft") {
                Some(_) => format!("http://json-schema.org/{dialect}/schema#"),
                None => format!("https://json-schema.org/draft/{dialect}/schema"),
            };
            let schema = json!({
                "$schema": dialect, "type": "object", "properties": properties, "required": required, "additionalProperties": open,
            });
            let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            let text = format!("{{{}}}", members.join(","));
            let read = Plain::read(&schema).unwrap();
            if read.surely_accepts(&text) {
                let mut whole = schema.clone();
                // A keyword that every object fits, and that is not looked at here.
                whole.as_object_mut().unwrap().insert("minProperties".to_owned(), json!(0));
                prop_assert!(Plain::read(&whole).is_none());
                let checks = Checks::new(&Limits::default());
                prop_assert_eq!(Check::default().check(&whole.to_string(), &text, &checks), Ok(()));
            }
        }
    }
}
