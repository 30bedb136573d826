use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::error::Cause;
use crate::redact::Redactor;
use crate::stderr::Collector;

fn read(event: &str) -> Value {
    serde_json::from_str(event).unwrap()
}

#[test]
fn what_has_no_id_has_null_there() {
    let event = read(&progress(None, r#"{"progress":1}"#));
    assert_eq!(event, json!({"event": "progress", "id": null, "params": {"progress": 1}}));
}

#[test]
fn l26_a_request_whose_answer_could_not_be_sent_says_why() {
    let event = read(&request("roots/list", None, "{}", Some(&Refusal::StdinClosed)));
    let why = Refusal::StdinClosed.to_string();
    assert_eq!(event, json!({"event": "request", "method": "roots/list", "unanswered": why}));
}

#[test]
fn l17_an_end_says_how_the_server_exited_and_what_is_left() {
    let mut stderr = Collector::new(4, &Redactor::new([].into_iter()));
    stderr.push(b"the end");
    let stderr = stderr.snapshot();
    let told = |exit, tree| {
        let (cause, stderr) = (Cause::Exited(Exit::Unknown), Arc::clone(&stderr));
        read(&closed(&End { server: "docs".into(), cause, exit, tree, signal_refused: false, stderr }))
    };
    let event = told(Some(Exit::Signal(9)), Tree::Alive(2));
    assert_eq!((&event["gone"], &event["left"]), (&json!(false), &json!(2)));
    assert_eq!(event["exit"], json!({"signal": 9}));
    assert_eq!((&event["stderr_tail"], &event["stderr_truncated"]), (&json!(" end"), &json!(true)));
    for (exit, told_as) in [(Exit::Code(3), json!({"code": 3})), (Exit::Unknown, json!({}))] {
        let event = told(Some(exit), Tree::Gone);
        assert_eq!((&event["exit"], event.get("left")), (&told_as, None));
    }
    assert_eq!(told(None, Tree::Unknown).get("exit"), None);
}
