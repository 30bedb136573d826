//! Standard error is always drained, kept as a tail, and never a failure by itself (rows L22, S02, S03).

use std::time::{Duration, Instant};

use sans_mcp::{Call, Secret, Server, StderrMode};

use super::alone::{alone, path_of};
use super::outcome::Seen;
use super::support::{
    assert_closes, called, connected, echo, everywhere, fixture, script, scripted, shell, until,
};
use crate::host::Kind;

fn survives_two_megabytes(kind: Kind, server: Server) {
    let mut host = connected(kind, server);
    assert_eq!(called(&mut host, echo("through")).unwrap().text(), "through");
    // A server that buffers may answer before it has written all of it.
    until(&mut host, "all of it", |host| host.counters().stderr_bytes >= 2 << 20);
    assert!(host.counters().stderr_truncated);
    assert!(host.stderr().as_str().len() <= 64 << 10);
    assert_closes(host);
}

#[test]
fn s02_two_megabytes_on_stderr_before_the_answer() {
    everywhere(|kind| survives_two_megabytes(kind, fixture(&["--stderr-bytes", "2097152"])));
}

#[test]
fn s03_the_python_server_blocks_when_nobody_reads_and_does_not_hang_this_client() {
    let Some(server) = script("python3", &["--stderr-bytes", "2097152"]) else { return };
    everywhere(|kind| survives_two_megabytes(kind, server.clone()));
}

#[test]
fn s03_the_node_server_buffers_when_nobody_reads_and_does_not_hang_this_client() {
    let Some(server) = script("node", &["--stderr-bytes", "2097152"]) else { return };
    everywhere(|kind| survives_two_megabytes(kind, server.clone()));
}

/// 1 MiB before anything is read, and 256 KiB before each answer, half of it without newlines.
#[test]
fn c107_a_chatty_server_is_not_held_up() {
    const NOISE: &str = "head -c 131072 /dev/zero | tr '\\0' e >&2; yes line | head -c 131072 >&2; ";
    everywhere(|kind| {
        let handshake = scripted("").args[1].replace("answer '{", &format!("{NOISE} answer '{{"));
        let calls =
            format!(r#"while take; do {NOISE} answer '{{"content":[{{"type":"text","text":"ok"}}]}}'; done"#);
        let began = Instant::now();
        let mut host = connected(kind, shell(&format!("head -c 1048576 /dev/zero >&2; {handshake}{calls}")));
        for _ in 0..20 {
            assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        assert!(host.counters().stderr_bytes >= (1 << 20) + 22 * (256 << 10), "{:?}", host.counters());
        assert_closes(host);
    });
}

/// The host's own stdout and stderr are seen from outside.
#[test]
fn c109_stderr_is_not_the_hosts_unless_that_is_asked_for() {
    const HELLO: &str = "HELLO-STDERR";
    let written = alone(path_of!(c109_stderr_is_not_the_hosts_unless_that_is_asked_for), || {
        everywhere(|kind| {
            for mode in [StderrMode::Tail, StderrMode::Events, StderrMode::Discard, StderrMode::Inherit] {
                let server = fixture(&["--stderr-text", &format!("{HELLO} {mode:?}")]).stderr(mode);
                let mut host = connected(kind, server);
                assert_eq!(called(&mut host, echo("fine")).unwrap().text(), "fine");
                let kept = [StderrMode::Tail, StderrMode::Events].contains(&mode);
                if kept {
                    until(&mut host, "the tail", |host| host.stderr().as_str().contains(HELLO));
                }
                assert_eq!(host.stderr().as_str().contains(HELLO), kept, "{mode:?}");
                assert_closes(host);
            }
        });
    });
    let Some(written) = written else { return };
    assert_eq!(written.matches(HELLO).count(), Kind::ALL.len(), "{written}");
    assert_eq!(written.matches("HELLO-STDERR Inherit").count(), Kind::ALL.len(), "{written}");
}

/// The other half of C109: what is on stderr is there for who asks, without secrets, and changes no state.
#[test]
fn c109_an_error_on_stderr_is_offered_and_is_no_failure() {
    everywhere(|kind| {
        let script =
            format!("echo \"ERROR fatal: $PASSWORD is wrong\" >&2; exec {}", env!("CARGO_BIN_EXE_fixture"));
        let server = shell(&script).stderr(StderrMode::Events).secret("PASSWORD", Secret::new("hunter2"));
        let mut host = connected(kind, server);
        let mut text = Vec::new();
        until(&mut host, "the line", |host| {
            for seen in host.seen() {
                if let Seen::Stderr(piece) = seen {
                    text.extend(piece);
                }
            }
            text.ends_with(b"is wrong\n")
        });
        assert!(!String::from_utf8(text).unwrap().contains("hunter2"));
        assert_eq!(host.stderr().as_str(), "ERROR fatal: [secret] is wrong\n");
        assert_eq!(called(&mut host, echo("fine")).unwrap().text(), "fine");
        assert_closes(host);
    });
}
