use serde_json::{Value, json};

use super::*;
use crate::config::Limits;
use crate::tool::Draft;

/// The tool that a server would define so.
pub(in crate::tool) fn tool(definition: Value) -> Tool {
    from_text(&definition.to_string())
}

fn from_text(definition: &str) -> Tool {
    let mut draft = Draft::new(&Limits::default());
    assert_eq!(draft.page(&format!("{{\"tools\":[{definition}]}}")), Ok(None));
    let catalog = draft.finish(None);
    assert_eq!(catalog.set_aside(), []);
    let tool = catalog.tools().next().unwrap().clone();
    drop(catalog);
    Arc::into_inner(tool).unwrap()
}

#[test]
fn a_definition_is_kept_as_the_text_it_was() {
    let text = r#"{ "name":"a", "inputSchema" : {"type": "object","x":1.0} ,"outputSchema":{"n":1e3},"annotations":{"readOnlyHint":true},"x":9007199254740993}"#;
    let tool = from_text(text);
    assert_eq!(tool.raw(), text);
    assert_eq!(tool.input_schema(), r#"{"type": "object","x":1.0}"#);
    assert_eq!(tool.output_schema(), Some(r#"{"n":1e3}"#));
    assert_eq!(tool.annotations(), Some(r#"{"readOnlyHint":true}"#));
    let tool =
        from_text(r#"{"name":"a","inputSchema":{},"outputSchema":null,"annotations":null,"description":7}"#);
    assert_eq!((tool.output_schema(), tool.annotations(), tool.description()), (None, None, None));
}

#[test]
fn a_tool_tells_its_arguments_in_the_order_of_its_schema() {
    let add = from_text(
        r#"{"name":"add","inputSchema":{"properties":{"b":{"type":"number"},"a":{}},"required":["b"]},"outputSchema":{"type":"object"}}"#,
    );
    assert_eq!(add.argument_names(), ["b", "a"]);
    assert_eq!(add.argument_type("b"), Some(ArgumentType::Number));
    assert_eq!(add.argument_type("c"), None);
    assert_eq!(add.signature(), "add(b: number, a?: any) -> object");
}

#[test]
fn a_title_is_looked_for_in_three_places() {
    let title = |more: Value| {
        let mut definition = json!({"name": "n", "inputSchema": {}});
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool(definition).title().to_owned()
    };
    assert_eq!(title(json!({"title": "t", "annotations": {"title": "a"}})), "t");
    assert_eq!(title(json!({"title": "", "annotations": {"title": "a"}})), "a");
    assert_eq!(title(json!({"title": 7, "annotations": []})), "n");
}

#[test]
fn l24_a_long_description_is_cut_on_a_character_boundary_and_marked() {
    let limit = Limits::DESCRIPTION;
    let exact = "é".repeat(limit / 2);
    let described = |text: &str| tool(json!({"name": "n", "inputSchema": {}, "description": text}));
    assert_eq!(described(&exact).description(), Some(&*exact));
    let cut = described(&format!("x{exact}"));
    let kept = cut.description().unwrap().strip_suffix(Tool::CUT).unwrap();
    assert_eq!(kept.len(), limit - 1);
    assert!(cut.raw().contains(&exact));
}

#[cfg(feature = "schema")]
mod checks {
    use super::*;
    use crate::tool::Call;
    use crate::{Refusal, Settings};

    fn add() -> Tool {
        tool(json!({
            "name": "add",
            "inputSchema": {"type": "object", "required": ["a"], "additionalProperties": false,
                "properties": {"a": {"type": "number"}, "b": {"type": "integer"}}},
            "outputSchema": {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}},
        }))
    }

    #[test]
    fn l25_arguments_are_checked_and_the_problem_names_the_argument_but_no_value() {
        let add = add();
        assert_eq!(add.check_arguments(r#"{"a":1,"b":2}"#), Ok(()));
        let problem = |arguments| add.check_arguments(arguments).unwrap_err();
        assert_eq!(problem(r#"{"a":"hunter2"}"#), r#"/a: value is not of type "number""#);
        assert!(problem("{}").contains(r#""a" is a required property"#));
        assert!(problem(r#"{"a":1,"zzz":"hunter2"}"#).contains("'zzz'"));
        assert!(!problem(r#"{"a":1,"zzz":"hunter2"}"#).contains("hunter2"));
        assert!(problem(r#"{"a":1,"b":1.5}"#).starts_with("/b: "));
        let long = format!(r#"{{"a":1,"{}":1}}"#, "x".repeat(4096));
        assert!(problem(&long).len() < 600);
    }

    #[test]
    fn l25_a_call_is_refused_for_its_arguments_unless_checks_are_off() {
        let add = Arc::new(add());
        let mut settings = Settings::default();
        let refused = Call::new("add", r#"{"a":"x"}"#).prepare(&add, &settings).unwrap_err();
        let problem = r#"/a: value is not of type "number""#.to_owned();
        assert_eq!(refused.refusal, Refusal::Arguments { tool: "add".to_owned(), problem });
        settings.check_arguments = false;
        assert!(Call::new("add", r#"{"a":"x"}"#).prepare(&add, &settings).is_ok());
    }

    #[test]
    fn l25_results_are_checked_by_presence_and_never_when_the_tool_failed() {
        let add = add();
        assert_eq!(add.check_result(r#"{"content":[],"structuredContent":{"sum":3}}"#), Ok(()));
        assert_eq!(add.check_result(r#"{"content":[],"isError":true}"#), Ok(()));
        assert_eq!(add.check_result(r#"{"structuredContent":{"sum":"x"},"isError":true}"#), Ok(()));
        assert!(add.check_result(r#"{"content":[]}"#).unwrap_err().contains("no structured content"));
        assert!(add.check_result(r#"{"structuredContent":null}"#).unwrap_err().contains("not of type"));
        assert!(add.check_result(r#"{"structuredContent":{"sum":"3"}}"#).unwrap_err().starts_with("/sum: "));
        assert!(add.check_result("null").is_err());
        let bare = tool(json!({"name": "n", "inputSchema": {}}));
        assert_eq!(bare.check_result("null"), Ok(()));
        let nullable =
            tool(json!({"name": "n", "inputSchema": {}, "outputSchema": {"enum": [null, 0, false]}}));
        for value in ["null", "0", "false"] {
            assert_eq!(nullable.check_result(&format!(r#"{{"structuredContent":{value}}}"#)), Ok(()));
        }
    }

    #[test]
    fn l24_a_check_that_is_set_aside_leaves_the_tool_callable() {
        let tool =
            tool(json!({"name": "n", "inputSchema": {"$ref": "https://example.com/s"}, "outputSchema": 7}));
        assert_eq!(tool.schema_note(), Some(SchemaNote::ExternalReference("https://example.com/s".into())));
        assert_eq!(tool.check_arguments(r#"{"any":1}"#), Ok(()));
        assert_eq!(tool.check_result(r#"{"structuredContent":1}"#), Ok(()));
        assert_eq!(add().schema_note(), None);
    }
}

#[cfg(not(feature = "schema"))]
#[test]
fn without_the_feature_everything_is_accepted() {
    let tool = tool(json!({"name": "n", "inputSchema": {"type": "null"}, "outputSchema": false}));
    assert_eq!(tool.check_arguments("{}"), Ok(()));
    assert_eq!(tool.check_result("{}"), Ok(()));
    assert_eq!(tool.schema_note(), None);
}
