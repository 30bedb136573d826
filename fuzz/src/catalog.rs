//! Lists of tools, and values: the catalog is that of a naive reader, and no value is refused that fits (rows L24, L25).
//!
//! The first byte sets the limits. Then come lines: pages of a list up to an empty one, and then values that are checked
//! against every schema, as arguments and as results.

use jsonschema::PatternOptions;
use sans_mcp::{Catalog, Server, Settings, Tool};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::source::Source;
use crate::stage::Stage;

/// Tools, pages and nesting that are allowed where the limits are small.
const SMALL: (usize, usize, usize) = (3, 2, 6);

/// Runs the target.
pub fn run(data: &[u8]) {
    let mut source = Source::new(data);
    let how = source.byte();
    let text = String::from_utf8_lossy(source.rest()).into_owned();
    let mut lines = text.split('\n');
    let pages: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let values: Vec<&str> = lines.take(8).collect();
    let mut settings = Settings::default();
    let limits = &mut settings.limits;
    if how & 1 != 0 {
        (limits.tools, limits.pages, limits.schema_depth) = SMALL;
        limits.schema_cost = 200;
        limits.description = 16;
    }
    let bounds = (limits.tools, limits.schema_depth);
    let description = limits.description;
    let Some(mut stage) = Stage::new(Server::new("catalog", "catalog").settings(settings)) else {
        unreachable!("the settings of this target")
    };
    stage.connect("2025-11-25");
    let mut given = Vec::new();
    for page in &pages {
        if stage.outcomes.contains_key(&0) {
            break;
        }
        if serde_json::from_str::<&RawValue>(page).is_err() || page.contains('\r') {
            return;
        }
        given.push(*page);
        stage.answer("tools/list", page);
    }
    let catalog = stage.session.catalog();
    if stage.outcomes.contains_key(&0)
        && let Some((names, set_aside)) = naive(&given, bounds)
    {
        let seen: Vec<&str> = catalog.tools().map(|tool| tool.name()).collect();
        assert_eq!(
            (seen, catalog.set_aside_count()),
            (names.iter().map(String::as_str).collect(), set_aside)
        );
    }
    for tool in catalog.tools() {
        check_tool(tool, catalog, description);
        for value in &values {
            check_value(tool, value);
        }
    }
}

/// Names of the tools that are admitted, and how many are set aside; nothing where values cannot hold what is there.
fn naive(pages: &[&str], (most, deepest): (usize, usize)) -> Option<(Vec<String>, usize)> {
    let (mut names, mut set_aside) = (Vec::<String>::new(), 0);
    for page in pages {
        let page: Value = serde_json::from_str(page).ok()?;
        let Some(Value::Array(tools)) = page.get("tools") else { break };
        for tool in tools {
            let admitted = tool.as_object().and_then(|tool| {
                let name = tool.get("name")?.as_str()?;
                let fits = !name.is_empty()
                    && name.len() <= Catalog::NAME
                    && !name.contains(|c: char| c.is_control() || !c.is_ascii());
                let input = tool.get("inputSchema")?;
                let output = tool.get("outputSchema").unwrap_or(&Value::Null);
                let shallow = depth(input) <= deepest && depth(output) <= deepest;
                let is_new = !names.iter().any(|known| known == name);
                (fits && is_new && input.is_object() && shallow && names.len() < most)
                    .then(|| name.to_owned())
            });
            // What cannot be seen in a name beyond ASCII is left to other tests.
            if tool.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_ascii()) {
                return None;
            }
            match admitted {
                Some(name) => names.push(name),
                None => set_aside += 1,
            }
        }
    }
    Some((names, set_aside))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn check_tool(tool: &Tool, catalog: &Catalog, description: usize) {
    assert!(catalog.get(tool.name()).is_some_and(|found| found.raw() == tool.raw()));
    let signature = tool.signature();
    assert!(!signature.contains(char::is_control) && signature.len() < 4 << 10, "{signature:?}");
    assert!(tool.title().len() <= Catalog::NAME);
    assert!(tool.description().is_none_or(|text| text.len() <= description + Tool::CUT.len()));
    for name in tool.argument_names().iter().take(50) {
        let _ = tool.argument_type(name);
    }
    assert!(catalog.near(tool.name()).len() <= 3);
    assert!(tool.raw().contains(tool.input_schema()));
}

/// A value that is refused does not fit by the validator either; a small one that is accepted fits.
fn check_value(tool: &Tool, value: &str) {
    if serde_json::from_str::<&RawValue>(value).is_err() {
        return;
    }
    let checked = tool.check_arguments(value);
    assert_eq!(tool.check_arguments(value), checked, "checked again");
    let _ = tool.check_result(&format!("{{\"content\":[],\"structuredContent\":{value}}}"));
    let Ok(value) = serde_json::from_str::<Value>(value) else {
        assert_eq!(checked, Ok(()), "what no value can hold is not refused");
        return;
    };
    if tool.schema_note().is_some() {
        return;
    }
    let Some(fits) = plain_check(tool.input_schema(), &value) else { return };
    match checked {
        Ok(()) => assert!(fits || value.to_string().len() > 64, "accepted: {value}"),
        Err(problem) => {
            assert!(!fits, "refused: {value}: {problem}");
            assert!(problem.len() <= 512 && !problem.contains(char::is_control), "{problem:?}");
        }
    }
}

/// Whether a value fits by the validator alone. Nothing where it does not say.
fn plain_check(schema: &str, value: &Value) -> Option<bool> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    let validator = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .without_content_media_type_support("application/json")
        .without_content_encoding_support("base64")
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .ok()?;
    Some(validator.is_valid(value))
}
