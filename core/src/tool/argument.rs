//! What a schema says of each argument, for command lines and listings. Nothing is enforced here.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::raw;
use super::schema::resolve_local;
use crate::sample::escaped;

/// What a schema asks of a value, as far as it says so plainly.
///
/// ```
/// use sans_mcp::ArgumentType;
///
/// let id = ArgumentType::Union(vec![ArgumentType::Integer, ArgumentType::Null]);
/// assert_eq!(id.to_string(), "integer | null");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentType {
    /// A string.
    String,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
    /// An array.
    Array,
    /// An object.
    Object,
    /// One of several, in the order of the schema, none of them a union itself.
    Union(Vec<ArgumentType>),
    /// Anything, or what cannot be said plainly.
    Any,
}

impl ArgumentType {
    /// Levels of references and alternatives that are followed before the answer is [`ArgumentType::Any`].
    const LEVELS: usize = 4;

    fn from_name(name: &str) -> Option<ArgumentType> {
        Some(match name {
            "string" => ArgumentType::String,
            "integer" => ArgumentType::Integer,
            "number" => ArgumentType::Number,
            "boolean" => ArgumentType::Boolean,
            "null" => ArgumentType::Null,
            "array" => ArgumentType::Array,
            "object" => ArgumentType::Object,
            _ => return None,
        })
    }

    fn of_value(value: &Value) -> ArgumentType {
        match value {
            Value::Null => ArgumentType::Null,
            Value::Bool(_) => ArgumentType::Boolean,
            Value::Number(number) if number.is_f64() => ArgumentType::Number,
            Value::Number(_) => ArgumentType::Integer,
            Value::String(_) => ArgumentType::String,
            Value::Array(_) => ArgumentType::Array,
            Value::Object(_) => ArgumentType::Object,
        }
    }

    fn of_schema(schema: &Value, root: &Value, levels: usize) -> ArgumentType {
        let Some(below) = levels.checked_sub(1) else { return ArgumentType::Any };
        if let Some(name) = schema.get("type").and_then(Value::as_str) {
            return ArgumentType::from_name(name).unwrap_or(ArgumentType::Any);
        }
        if let Some(names) = schema.get("type").and_then(Value::as_array) {
            let types = names.iter().map(|name| name.as_str().and_then(ArgumentType::from_name));
            return ArgumentType::union(types.map(|one| one.unwrap_or(ArgumentType::Any)));
        }
        if let Some(value) = schema.get("const") {
            return ArgumentType::of_value(value);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return ArgumentType::union(values.iter().map(ArgumentType::of_value));
        }
        if let Some(target) =
            schema.get("$ref").and_then(Value::as_str).and_then(|to| resolve_local(root, to))
        {
            return ArgumentType::of_schema(target, root, below);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(schemas) = schema.get(keyword).and_then(Value::as_array) {
                return ArgumentType::union(
                    schemas.iter().map(|one| ArgumentType::of_schema(one, root, below)),
                );
            }
        }
        match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) => ArgumentType::of_schema(only, root, below),
            _ => ArgumentType::Any,
        }
    }

    fn union(types: impl Iterator<Item = ArgumentType>) -> ArgumentType {
        let mut flat: Vec<ArgumentType> = Vec::new();
        for one in types {
            let parts = match one {
                ArgumentType::Any => return ArgumentType::Any,
                ArgumentType::Union(parts) => parts,
                one => vec![one],
            };
            // At most seven different ones, so this search is short.
            for part in parts {
                if !flat.contains(&part) {
                    flat.push(part);
                }
            }
        }
        match (flat.pop(), flat.is_empty()) {
            (None, _) => ArgumentType::Any,
            (Some(only), true) => only,
            (Some(last), false) => {
                flat.push(last);
                ArgumentType::Union(flat)
            }
        }
    }
}

impl fmt::Display for ArgumentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArgumentType::String => "string",
            ArgumentType::Integer => "integer",
            ArgumentType::Number => "number",
            ArgumentType::Boolean => "boolean",
            ArgumentType::Null => "null",
            ArgumentType::Array => "array",
            ArgumentType::Object => "object",
            ArgumentType::Any => "any",
            ArgumentType::Union(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at > 0 { " | " } else { "" })?;
                }
                return Ok(());
            }
        })
    }
}

/// Names of the properties of a raw schema, in its order, each once.
pub(super) fn names(schema: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    properties(schema, |name, _| {
        if seen.insert(name.to_owned()) {
            names.push(name.to_owned());
        }
    });
    names
}

/// Type of the property `wanted` of a raw schema.
pub(super) fn type_of(schema: &str, wanted: &str) -> Option<ArgumentType> {
    let root: Value = serde_json::from_str(schema).unwrap_or(Value::Null);
    match root.get("properties") {
        Some(properties) => {
            properties.get(wanted).map(|one| ArgumentType::of_schema(one, &root, ArgumentType::LEVELS))
        }
        // A schema that cannot be held as a tree still names its arguments.
        None => names(schema).iter().any(|name| name == wanted).then_some(ArgumentType::Any),
    }
}

/// Bytes of a signature; a terminal shows some ten lines of it.
const SIGNATURE: usize = 1024;

/// A line like `add(a: number, b?: number) -> object`.
pub(super) fn signature(name: &str, input_schema: &str, output_schema: Option<&str>) -> String {
    let root: Value = serde_json::from_str(input_schema).unwrap_or(Value::Null);
    let required: BTreeSet<&str> = root
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let arguments = names(input_schema).into_iter().map(|argument| {
        let schema = root.get("properties").and_then(|properties| properties.get(&argument));
        let kind =
            schema.map_or(ArgumentType::Any, |one| ArgumentType::of_schema(one, &root, ArgumentType::LEVELS));
        let optional = if required.contains(&*argument) { "" } else { "?" };
        format!("{argument}{optional}: {kind}")
    });
    let mut line = format!("{name}({})", arguments.collect::<Vec<_>>().join(", "));
    if let Some(output) = output_schema {
        let root: Value = serde_json::from_str(output).unwrap_or(Value::Null);
        line.push_str(" -> ");
        line.push_str(&ArgumentType::of_schema(&root, &root, ArgumentType::LEVELS).to_string());
    }
    escaped(&line, SIGNATURE)
}

fn properties(schema: &str, mut each: impl FnMut(&str, &str)) {
    let mut properties = None;
    raw::members(schema, |key, value| {
        if key == "properties" {
            properties = Some(value);
        }
    });
    if let Some(properties) = properties {
        raw::members(properties, |key, value| each(&key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type":"object","required":["z","id"],"properties":{
        "z":{"type":"number"},"id":{"anyOf":[{"type":"integer"},{"$ref":"#/$defs/none"}]},"mode":{"enum":["a","b"]},
        "when":{"$ref":"#/$defs/when"},"tags":{"type":["array","null"]},"free":{},"odd":true,"one":{"const":1.5},
        "self":{"$ref":"#/properties/self"},"far":{"$ref":"https://example.com/x"},"deep":{"allOf":[{"type":"object"}]},
        "mix":{"oneOf":[{"type":["string","integer"]},{"enum":[1,"a",null]}]}},
        "$defs":{"none":{"type":"null"},"when":{"type":"string"}}}"##;

    #[test]
    fn a_command_line_learns_the_types() {
        let kind = |name| type_of(SCHEMA, name).map(|kind| kind.to_string());
        let expected = [
            ("z", "number"),
            ("id", "integer | null"),
            ("mode", "string"),
            ("when", "string"),
            ("tags", "array | null"),
            ("free", "any"),
            ("odd", "any"),
            ("one", "number"),
            ("self", "any"),
            ("far", "any"),
            ("deep", "object"),
            ("mix", "string | integer | null"),
        ];
        for (name, expected) in expected {
            assert_eq!(kind(name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(kind("missing"), None);
        assert_eq!(names(SCHEMA), expected.map(|(name, _)| name));
    }

    #[test]
    fn every_type_of_json_has_a_name_and_what_is_none_may_be_any() {
        let told = |schema: &str| {
            let kind = type_of(&format!(r#"{{"properties":{{"a":{schema}}}}}"#), "a");
            kind.map(|kind| kind.to_string()).unwrap_or_default()
        };
        let all = "string | integer | number | boolean | null | array | object";
        let names = r#"["string","integer","number","boolean","null","array","object"]"#;
        assert_eq!(told(&format!(r#"{{"type":{names}}}"#)), all);
        assert_eq!(told(r#"{"enum":["a",1,1.5,true,null,[],{}]}"#), all);
        for any in [
            r#"{"type":"file"}"#,
            r#"{"type":["string","file"]}"#,
            r#"{"anyOf":[{"type":"string"},{}]}"#,
            r#"{"anyOf":[]}"#,
        ] {
            assert_eq!(told(any), "any", "{any}");
        }
    }

    #[test]
    fn w07_a_schema_that_no_tree_can_hold_still_names_its_arguments() {
        let schema = r#"{"properties":{"a":{"default":1e999},"b":{"description":"\ud800"}}}"#;
        assert_eq!(names(schema), ["a", "b"]);
        assert_eq!((type_of(schema, "a"), type_of(schema, "c")), (Some(ArgumentType::Any), None));
        assert_eq!(signature("t", schema, None), "t(a?: any, b?: any)");
    }

    #[test]
    fn a_signature_is_one_bounded_line() {
        let schema = r#"{"properties":{"b":{"type":"number"},"a":{"type":"string"}},"required":["b"]}"#;
        assert_eq!(
            signature("add", schema, Some(r#"{"type":"object"}"#)),
            "add(b: number, a?: string) -> object"
        );
        assert_eq!(signature("t", "{}", None), "t()");
        let hostile = format!(r#"{{"properties":{{"a\n\u202e":{{}},"{}":{{}}}}}}"#, "x".repeat(5000));
        let line = signature("t", &hostile, None);
        assert!(line.starts_with("t(a\\n\\u{202e}?: any, xxx"));
        assert!(line.ends_with('…') && line.len() <= SIGNATURE);
    }
}
