//! Row L22: standard error, as it shows in errors.

use sans_mcp::{Exit, Secret};
use sans_mcp_tests::link::LinkOptions;
use sans_mcp_tests::runner::Runner;
use sans_mcp_tests::scripted::Scripted;

use crate::support::{call, connected_to, ms, server};

/// A server that complains and exits when it is called.
fn complaining(text: Vec<u8>) -> Scripted {
    Scripted::on(move |said, agenda| {
        if said.method == "tools/call" {
            agenda.complain(text.clone());
            agenda.exit(ms(5), Exit::Code(1));
        }
        said.method == "tools/call"
    })
}

#[test]
fn l22_the_tail_in_an_error_has_no_secret_however_its_bytes_come() {
    let configuration = server(|_| {}).secret("DOCS_TOKEN", Secret::new("hunter2-hunter2"));
    for options in [LinkOptions::default(), LinkOptions::bytewise(), LinkOptions::rough(5)] {
        let text = b"login with hunter2-hunter2 failed\nhunter2-hunter2".to_vec();
        let mut runner = Runner::new(configuration.clone(), complaining(text), options);
        runner.connected();
        let token = runner.call(call("{}")).unwrap();
        let failure = runner.ended(token).failure().unwrap();
        assert_eq!(failure.stderr().as_str(), "login with [secret] failed\n[secret]");
        assert!(!failure.report().contains("hunter2"));
        assert!(!runner.closed().stderr.as_str().contains("hunter2"));
    }
}

#[test]
fn l22_the_tail_is_the_newest_output_cut_on_a_character_and_marked() {
    let configuration = server(|settings| settings.limits.stderr_tail = 100);
    let text = "é".repeat(200_000);
    let mut runner = connected_to(configuration, complaining(format!("{text}end").into_bytes()));
    let token = runner.call(call("{}")).unwrap();
    let failure = runner.ended(token).failure().unwrap();
    let tail = failure.stderr();
    assert!(tail.is_truncated() && tail.as_str().len() <= 100 && tail.as_str().ends_with("éend"));
    assert!(tail.as_str().trim_end_matches("end").chars().all(|c| c == 'é'));
    assert!(failure.report().contains("stderr: [...] é"));
    let counters = runner.counters();
    assert_eq!((counters.stderr_bytes, counters.stderr_truncated), (400_003, true));
}

#[test]
fn l22_a_failure_tells_what_was_written_before_it() {
    let lines = "a line of a stack trace\n".repeat(200);
    for options in [LinkOptions::default(), LinkOptions::bytewise(), LinkOptions::rough(5)] {
        let text = format!("{lines}out of paper");
        let peer = Scripted::on(move |said, agenda| {
            if said.method == "tools/call" {
                agenda.complain(text.clone());
                agenda.say(&said.result("7"));
            }
            said.method == "tools/call"
        });
        let mut runner = Runner::new(server(|_| {}), peer, options);
        runner.connected();
        let token = runner.call(call("{}")).unwrap();
        let failure = runner.ended(token).failure().unwrap();
        assert_eq!(failure.stderr().as_str(), format!("{lines}out of paper"));
    }
}

#[test]
fn l22_what_stands_on_standard_error_never_fails_a_call() {
    let peer = Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            agenda.complain(b"FATAL ERROR: panic!\n".repeat(50_000));
        }
        false
    });
    let mut runner = connected_to(server(|_| {}), peer);
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some());
    assert_eq!(runner.counters().failed, 0);
    assert_eq!(runner.counters().stderr_bytes, 1_000_000, "all of it was drained");
}
