use proptest::prelude::*;

use super::*;

/// Walks pages as a session does, and gives the catalog with the cursors that were sent back.
fn walk_with(limits: &Limits, pages: &[&str]) -> (Catalog, Vec<String>) {
    let mut draft = Draft::new(limits);
    let mut sent = Vec::new();
    for page in pages.iter().cycle() {
        match draft.page(page) {
            Ok(Some(cursor)) => sent.push(cursor),
            Ok(None) => return (draft.finish(None), sent),
            Err(fault) => return (draft.finish(Some(fault)), sent),
        }
    }
    panic!("no pages")
}

fn walk(pages: &[&str]) -> (Catalog, Vec<String>) {
    walk_with(&Limits::default(), pages)
}

fn list(items: &str) -> Catalog {
    walk(&[&format!("{{\"tools\":[{items}]}}")]).0
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().map(|tool| tool.name()).collect()
}

fn reasons(catalog: &Catalog) -> Vec<(&str, Reason)> {
    catalog.set_aside().iter().map(|one| (&*one.name, one.reason)).collect()
}

const A: &str = r#"{"name":"a","inputSchema":{"type":"object"}}"#;

#[test]
fn c070_l24_a_repeated_cursor_ends_the_walk_and_keeps_the_tools() {
    let page = format!(r#"{{"tools":[{A}],"nextCursor":"same"}}"#);
    let (catalog, sent) = walk(&[&page]);
    assert_eq!(sent, [r#""same""#]);
    assert_eq!(catalog.incomplete(), Some(WalkFault::RepeatedCursor(2)));
    assert_eq!(names(&catalog), ["a"]);
}

#[test]
fn c071_an_empty_cursor_is_followed_once() {
    let page = format!(r#"{{"tools":[{A}],"nextCursor":""}}"#);
    let (catalog, sent) = walk(&[&page]);
    assert_eq!(sent, [r#""""#]);
    assert_eq!(catalog.incomplete(), Some(WalkFault::RepeatedCursor(2)));
    assert_eq!(names(&catalog), ["a"]);
}

#[test]
fn c073_null_means_absent() {
    let (catalog, sent) = walk(&[&format!(r#"{{"tools":[{A}],"nextCursor":null}}"#)]);
    assert_eq!((names(&catalog), sent.len(), catalog.incomplete()), (vec!["a"], 0, None));
}

#[test]
fn c075_l24_cursors_go_back_as_they_came_and_an_empty_page_is_not_the_end() {
    let cursor = r#""a \"b\"\u00e9\n é""#;
    let pages = [
        format!(r#"{{"tools":[{A},{}],"nextCursor":{cursor}}}"#, A.replace("\"a\"", "\"b\"")),
        r#"{"tools":[],"nextCursor":{"odd":1.0}}"#.to_owned(),
        format!(r#"{{"tools":[{}]}}"#, A.replace("\"a\"", "\"c\"")),
    ];
    let (catalog, sent) = walk(&[&*pages[0], &*pages[1], &*pages[2]]);
    assert_eq!(sent, [cursor, r#"{"odd":1.0}"#]);
    assert_eq!((names(&catalog), catalog.incomplete()), (vec!["a", "b", "c"], None));
}

#[test]
fn l24_pages_are_capped() {
    let mut limits = Limits { pages: 3, ..Limits::default() };
    let pages: Vec<String> = (0..9).map(|at| format!(r#"{{"tools":[],"nextCursor":"{at}"}}"#)).collect();
    let pages: Vec<&str> = pages.iter().map(|page| &**page).collect();
    let (catalog, sent) = walk_with(&limits, &pages);
    assert_eq!((sent.len(), catalog.incomplete()), (2, Some(WalkFault::TooManyPages(3))));
    for (bytes, followed) in [(2, 0), (3, 1), (5, 1), (6, 2)] {
        limits.catalog = bytes;
        let (catalog, sent) = walk_with(&limits, &pages);
        let fault = WalkFault::TooManyPages(followed + 1);
        assert_eq!((sent.len(), catalog.incomplete()), (followed, Some(fault)), "{bytes} bytes");
    }
}

#[test]
fn l24_a_page_without_a_list_ends_the_walk() {
    let first = format!(r#"{{"tools":[{A}],"nextCursor":"x"}}"#);
    for second in ["{}", "null", "[]", r#"{"tools":null}"#, r#"{"tools":{}}"#] {
        let (catalog, _) = walk(&[&first, second]);
        assert_eq!(
            (names(&catalog), catalog.incomplete()),
            (vec!["a"], Some(WalkFault::NoList(2))),
            "{second}"
        );
    }
}

#[test]
fn c076_a_tool_without_a_schema_is_set_aside_and_the_rest_survives() {
    let catalog =
        list(r#"{"name":"good","inputSchema":{"type":"object"}},{"name":"bare","description":"no schema"}"#);
    assert_eq!(names(&catalog), ["good"]);
    assert_eq!(reasons(&catalog), [("bare", Reason::NoInputSchema)]);
    assert_eq!(catalog.set_aside()[0].to_string(), "tool `bare` set aside: it has no input schema");
}

#[test]
fn c078_schemas_stay_raw() {
    let catalog = list(
        r#"{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}}"#,
    );
    assert_eq!(names(&catalog), ["a", "b"]);
    assert_eq!(catalog.get("a").unwrap().input_schema(), "{}");
    let b = catalog.get("b").unwrap();
    assert_eq!(b.input_schema(), r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#);
    assert_eq!(b.schema_note(), None);
}

#[test]
fn c081_of_two_tools_of_one_name_the_first_wins() {
    let catalog = list(
        r#"{"name":"dup","description":"one","inputSchema":{}},{"name":"dup","description":"two","inputSchema":{}}"#,
    );
    assert_eq!(catalog.get("dup").unwrap().description(), Some("one"));
    assert_eq!((catalog.len(), reasons(&catalog)), (1, vec![("dup", Reason::Duplicate)]));
}

#[test]
fn l24_each_bad_item_has_its_reason() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = "n".repeat(257);
    let items = [
        "null".to_owned(),
        "7".to_owned(),
        r#"{"inputSchema":{}}"#.to_owned(),
        r#"{"name":7,"inputSchema":{}}"#.to_owned(),
        r#"{"name":"","inputSchema":{}}"#.to_owned(),
        r#"{"name":"a\u001b[2Jb","inputSchema":{}}"#.to_owned(),
        r#"{"name":"a\u202eb","inputSchema":{}}"#.to_owned(),
        r#"{"name":"a\ud800","inputSchema":{}}"#.to_owned(),
        format!(r#"{{"name":"{long}","inputSchema":{{}}}}"#),
        r#"{"name":"none","inputSchema":null}"#.to_owned(),
        r#"{"name":"list","inputSchema":[]}"#.to_owned(),
        format!(r#"{{"name":"deep","inputSchema":{{"default":{deep}}}}}"#),
        format!(r#"{{"name":"out","inputSchema":{{}},"outputSchema":{{"default":{deep}}}}}"#),
        format!(r#"{{"name":"big","inputSchema":{{}},"x":"{}"}}"#, "x".repeat(Catalog::TOOL)),
        A.to_owned(),
    ];
    let catalog = list(&items.join(","));
    assert_eq!(names(&catalog), ["a"]);
    assert_eq!(
        reasons(&catalog),
        [
            ("", Reason::NotAnObject),
            ("", Reason::NotAnObject),
            ("", Reason::NoName),
            ("", Reason::NoName),
            ("", Reason::BadName),
            ("a\\x1b[2Jb", Reason::BadName),
            ("a\\u{202e}b", Reason::BadName),
            ("a\u{fffd}", Reason::BadName),
            (&*format!("{}…", "n".repeat(253)), Reason::BadName),
            ("none", Reason::NoInputSchema),
            ("list", Reason::InputSchemaNotAnObject),
            ("deep", Reason::SchemaTooDeep),
            ("out", Reason::SchemaTooDeep),
            ("big", Reason::TooLarge),
        ]
    );
}

#[test]
fn l24_what_is_as_large_as_its_limit_is_admitted() {
    let name = "n".repeat(Catalog::NAME);
    let levels = Limits::SCHEMA_DEPTH - 1;
    let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let frame = r#"{"name":"big","inputSchema":{},"x":""}"#.len();
    let items = [
        format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#),
        format!(
            r#"{{"name":"deep","inputSchema":{{"default":{deep}}},"outputSchema":{{"default":{deep}}}}}"#
        ),
        format!(r#"{{"name":"big","inputSchema":{{}},"x":"{}"}}"#, "x".repeat(Catalog::TOOL - frame)),
    ];
    assert_eq!(items[2].len(), Catalog::TOOL);
    let catalog = list(&items.join(","));
    assert_eq!((names(&catalog), reasons(&catalog)), (vec![&*name, "deep", "big"], vec![]));
    assert!(!catalog.is_empty() && list("").is_empty());
}

#[test]
fn l24_a_full_catalog_says_so_and_stays_bounded() {
    let limits = Limits { tools: 2, ..Limits::default() };
    let items: Vec<String> =
        (0..1000).map(|at| format!(r#"{{"name":"t{at}","inputSchema":{{}}}}"#)).collect();
    let page = format!("{{\"tools\":[{}]}}", items.join(","));
    let (catalog, _) = walk_with(&limits, &[&page]);
    assert_eq!(names(&catalog), ["t0", "t1"]);
    assert_eq!((catalog.set_aside().len(), catalog.set_aside_count()), (Catalog::SET_ASIDE, 998));
    assert_eq!(catalog.set_aside()[0].reason, Reason::CatalogFull);
    let limits = Limits { catalog: items[0].len() * 3, ..Limits::default() };
    let (catalog, _) = walk_with(&limits, &[&page]);
    assert_eq!(catalog.len(), 3);
}

#[test]
fn the_joined_list_is_what_the_server_sent() {
    let pages = [
        format!(r#"{{"tools":[ {A} ,7],"nextCursor":1}}"#),
        r#"{"tools":[{"name":"b", "inputSchema":{"n":1.0}}]}"#.into(),
    ];
    let (catalog, _) = walk(&[&*pages[0], &*pages[1]]);
    assert_eq!(catalog.to_json(), format!(r#"{{"tools":[{A},{{"name":"b", "inputSchema":{{"n":1.0}}}}]}}"#));
    assert_eq!(Catalog::default().to_json(), r#"{"tools":[]}"#);
}

#[test]
fn names_are_case_sensitive_and_look_alikes_are_only_hints() {
    let catalog = list(&format!("{A},{}", A.replace("\"a\"", "\"A\"")));
    assert_eq!(catalog.len(), 2);
    assert!(catalog.get("b").is_none());
    assert_eq!(catalog.near("b"), ["a", "A"]);
}

proptest! {
    #[test]
    fn w07_good_items_survive_any_neighbours(
        before in proptest::collection::vec("null|\\{\\}|\\[1\\]|\"x\"|\\{\"name\":\"[a-z]{0,2}\",\"inputSchema\":(1|\\{\\}|null)\\}", 0..6)
    ) {
        let mut items = before;
        items.push(r#"{"name":"good","inputSchema":{}}"#.to_owned());
        let catalog = list(&items.join(","));
        prop_assert!(catalog.get("good").is_some());
        prop_assert_eq!(catalog.len() + catalog.set_aside_count(), items.len());
    }

    #[test]
    fn w07_any_text_is_a_page_or_a_fault(text in ".{0,64}") {
        let _ = Draft::new(&Limits::default()).page(&text);
    }
}
