//! Events that nobody has fetched.

use super::*;

#[test]
fn an_event_for_which_the_session_is_asked_waits_until_it_was() {
    let session = Session::new(Server::new("stage", "server")).unwrap();
    let mut backlog = Backlog::default();
    backlog.push("first".to_owned());
    backlog.push_unwritten(Event::Ready(Duration::ZERO));
    assert_eq!((backlog.poll().as_deref(), backlog.poll()), (Some("first"), None));
    backlog.push("last".to_owned());
    backlog.write(&session);
    assert!(backlog.poll().is_some_and(|event| event.contains("ready")));
    assert_eq!(backlog.poll().as_deref(), Some("last"));
}

#[test]
fn the_bytes_of_events_count_while_they_wait() {
    let session = Session::new(Server::new("stage", "server")).unwrap();
    let mut backlog = Backlog::default();
    backlog.push("x".repeat(Script::BACKLOG));
    backlog.offer(|| panic!("it is full"));
    assert_eq!(backlog.poll().map(|event| event.len()), Some(Script::BACKLOG));
    assert_eq!(backlog.bytes(), 0);
    backlog.push("after what was dropped".to_owned());
    backlog.push_unwritten(Event::Ready(Duration::ZERO));
    backlog.push_unwritten(Event::Listed(None, Duration::ZERO));
    backlog.write(&session);
    let counted = backlog.bytes();
    let events: Vec<String> = std::iter::from_fn(|| backlog.poll()).collect();
    assert_eq!((events.len(), events.concat().len()), (4, counted), "{events:?}");
    assert_eq!(backlog.bytes(), 0);
}

#[test]
fn events_that_nobody_fetches_are_bounded_and_completions_are_not_lost() {
    let mut stage = Stage::connected(CALL_A);
    stage.events();
    let id = stage.request("tools/call")["id"].clone();
    let big = "x".repeat(1 << 15);
    let line = format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{big}"}}}}"#);
    for _ in 0..600 {
        stage.session.handle_stdout(stage.now, format!("{line}\n").as_bytes());
        while let output @ Output::Notification(_) = stage.session.poll_output() {
            stage.script.handle_output(output);
        }
    }
    assert!(stage.script.run.events.bytes() < Script::BACKLOG + (1 << 16));
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
    stage.session.handle_stdout(stage.now, answer.as_bytes());
    let Output::Complete(done) = stage.session.poll_output() else { panic!("the answer comes") };
    stage.script.handle_output(Output::Complete(done));
    stage.script.handle_input(b"{\"op\":\"counters\"}\n");
    stage.script.advance(&mut stage.session, stage.now);
    let before = stage.script.run.events.len();
    stage.run();
    let events = stage.events();
    assert_eq!(events[before - 1]["event"], "completed");
    assert_eq!(events[before]["event"], "dropped", "no command was carried out while too many events waited");
    assert_eq!(events[before]["count"].as_u64().unwrap() as usize + before - 1, 600);
    assert_eq!(events[before + 1]["event"], "counters");
}
