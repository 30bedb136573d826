//! Starts that fail, told apart, and what a server gets to see (rows L02 to L06).

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use sans_mcp::error::HandshakeFault;
use sans_mcp::{Cause, Code, Environment, Exit, FailureKind, Secret, Server, StartFailure, Version};
use sans_mcp_tokio::{Client, ConnectError};
use serde_json::{Value, json};

use crate::support::{Scratch, assert_closes, fixture, is_alive, on_both, until, with};

/// Why connecting failed; the process is gone by then.
async fn refused(server: Server) -> (Cause, ConnectError) {
    let error = Client::connect(server).await.expect_err("it cannot connect");
    let ConnectError::Failed { failure, end } = &error else { panic!("not a failure: {error}") };
    assert!(end.gone(), "{end}");
    let FailureKind::Ended(cause) = failure.kind() else { panic!("not an end: {error}") };
    (cause.clone(), error)
}

fn shell(script: &str) -> Server {
    Server::new("shell", "/bin/sh").args(["-c", script]).allow_shell()
}

#[test]
fn l06_start_failures_are_told_apart() {
    on_both(|| async {
        let (cause, error) =
            refused(Server::new("lost", "no-such-runtime-xyz").variable("PATH", "/var/empty")).await;
        let found =
            matches!(&cause, Cause::Start { failure: StartFailure::NotFound { searched_path: true }, .. });
        assert!(found, "{cause:?}");
        assert_eq!(error.code(), Code::NOT_FOUND);
        let text = error.to_string();
        assert!(
            text.contains("no-such-runtime-xyz") && text.contains("PATH") && text.contains("lost"),
            "{text}"
        );

        let file = Scratch::new("not-executable");
        std::fs::write(file.path(), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        let (cause, error) = refused(Server::new("plain", file.path())).await;
        assert!(matches!(&cause, Cause::Start { failure: StartFailure::NotPermitted, .. }), "{cause:?}");
        assert_eq!(error.code(), Code::NOT_PERMITTED);

        for directory in ["/no/such/directory", file.path()] {
            let (cause, error) = refused(fixture(&[]).working_directory(directory)).await;
            assert!(
                matches!(&cause, Cause::Start { failure: StartFailure::BadWorkingDirectory, .. }),
                "{cause:?}"
            );
            assert!(error.to_string().contains("working directory"), "{error}");
        }
    });
}

/// C097, C101.
#[test]
fn l06_an_exit_before_the_handshake_has_its_code_and_stderr() {
    on_both(|| async {
        for (script, exit) in [
            ("exit 2", Exit::Code(2)),
            ("exit 0", Exit::Code(0)),
            ("echo usage: server; exit 0", Exit::Code(0)),
            ("kill -SEGV $$", Exit::Signal(11)),
            ("echo 'FATAL: token missing' >&2; exit 78", Exit::Code(78)),
        ] {
            let started = Instant::now();
            let (cause, error) = refused(shell(script)).await;
            assert_eq!(cause, Cause::ExitedInHandshake(exit), "{script}");
            assert!(started.elapsed() < Duration::from_secs(1), "{script}: {:?}", started.elapsed());
            assert_eq!(error.code(), Code::PROCESS_EXIT);
            if exit == Exit::Code(78) {
                let text = error.to_string();
                assert!(text.contains("78") && text.contains("FATAL: token missing"), "{text}");
            }
        }
    });
}

/// C087: the connect timeout is the server's own setting; when it fires the tail is quoted and the tree is gone.
#[test]
fn l06_the_connect_timeout_fires_on_time_and_leaves_nothing() {
    on_both(|| async {
        let pids = Scratch::new("slow-start");
        let script = format!("echo $$ > {}; echo warming up >&2; sleep 60 & wait", pids.path());
        let timeout = Duration::from_millis(600);
        let server = with(shell(&script), |settings| settings.timeouts.connect = Some(timeout));
        let started = Instant::now();
        let (cause, error) = refused(server).await;
        let elapsed = started.elapsed();
        assert_eq!(cause, Cause::ConnectTimeout(timeout));
        assert!(elapsed >= timeout && elapsed < timeout + Duration::from_millis(500), "{elapsed:?}");
        assert!(error.to_string().contains("warming up"), "{error}");
        let pid: u32 = pids.read().trim().parse().unwrap();
        until("the leader is gone", || !is_alive(pid)).await;
    });
    on_both(|| async {
        let slow = with(fixture(&["--start-delay", "700"]), |settings| {
            settings.timeouts.connect = Some(Duration::from_secs(30));
        });
        assert_closes(Client::connect(slow).await.unwrap()).await;
    });
}

/// C087, with the numbers of the case.
#[tokio::test]
async fn c087_a_slow_start_is_given_the_time_that_was_configured() {
    let script = "i=0; while [ $i -lt 12 ]; do printf . >&2; sleep 1; i=$((i+1)); done";
    let script = format!("{script}; exec {}", env!("CARGO_BIN_EXE_fixture"));
    let slow = |seconds| {
        let timeout = Duration::from_secs(seconds);
        with(shell(&script), |settings| settings.timeouts.connect = Some(timeout))
    };
    let began = Instant::now();
    let short = async {
        let (cause, error) = refused(slow(5)).await;
        (cause, error, began.elapsed())
    };
    let ((cause, error, elapsed), long) = tokio::join!(short, Client::connect(slow(30)));
    assert_eq!(cause, Cause::ConnectTimeout(Duration::from_secs(5)));
    assert!(elapsed >= Duration::from_secs(5) && elapsed < Duration::from_millis(5_500), "{elapsed:?}");
    assert!(error.to_string().contains("stderr: ...."), "{error}");
    assert_closes(long.unwrap()).await;
}

#[test]
fn l06_a_version_that_is_not_supported_is_refused_with_both_sides() {
    on_both(|| async {
        let record = Scratch::new("version");
        let (cause, error) = refused(fixture(&["--protocol", "2099-01-01", "--record", record.path()])).await;
        let Cause::Handshake(HandshakeFault::Version { offered, accepted }) = &cause else {
            panic!("{cause:?}")
        };
        assert_eq!(offered, "2099-01-01");
        assert_eq!(accepted.len(), Version::LEGACY.len());
        assert_eq!(error.code(), Code::VERSION);
        assert!(!record.read().contains("notifications/initialized"), "{}", record.read());
    });
}

#[test]
fn l05_connecting_twice_shares_one_process_and_one_handshake() {
    on_both(|| async {
        let (pids, record) = (Scratch::new("pids"), Scratch::new("record"));
        let server = fixture(&["--pids", pids.path(), "--record", record.path(), "--start-delay", "50"]);
        let client = Client::builder(server).build().unwrap();
        let (one, two, three) = tokio::join!(client.start(), client.start(), client.start());
        assert!(one.is_ok() && two.is_ok() && three.is_ok());
        client.start().await.unwrap();
        assert_eq!(pids.read().lines().count(), 1);
        let initialized = record.messages().iter().filter(|m| m["method"] == "initialize").count();
        assert_eq!(initialized, 1);
        let server = client.process_id().unwrap();
        client.close().await;
        assert!(!is_alive(server));
        assert_eq!(client.start().await.unwrap_err().code(), Code::CLOSED, "an old handle stays closed");
    });
}

#[test]
fn l02_a_bad_configuration_starts_nothing() {
    on_both(|| async {
        let trace = Scratch::new("started");
        let touching = |name: &str, command: &str| Server::new(name, command).arg(trace.path());
        for (server, word) in [
            (touching("", "touch"), "name"),
            (touching("s", ""), "command"),
            (touching("s", "to\0uch"), "NUL"),
            (Server::new("s", "/bin/bash").args(["-c", &format!("touch {}", trace.path())]), "shell"),
            (with(touching("s", "touch"), |settings| settings.limits.line = 0), "settings.limits.line"),
        ] {
            let error = Client::connect(server).await.unwrap_err();
            assert!(matches!(error, ConnectError::Config(_)), "{error}");
            assert!(error.to_string().contains(word), "{error} should speak of {word}");
            assert!(!std::path::Path::new(trace.path()).exists(), "{error}, and something was started");
        }
    });
}

#[test]
fn l03_the_guard_is_turned_off_by_one_switch() {
    on_both(|| async {
        let command = format!("exec {}", env!("CARGO_BIN_EXE_fixture"));
        let guarded = Server::new("guarded", "sh").args(["-c", &command]);
        assert!(matches!(Client::connect(guarded.clone()).await, Err(ConnectError::Config(_))));
        assert_closes(Client::connect(guarded.allow_shell()).await.unwrap()).await;
    });
}

/// C103, C104.
#[test]
fn l04_the_server_sees_the_allowlist_and_what_it_was_given_by_name() {
    on_both(|| async {
        let server = fixture(&[])
            .variable("A", "1")
            .variable("EMPTY", "")
            .variable("UNI", "é")
            .secret("TOKEN", Secret::new("s3cr3t-value"));
        let client = Client::connect(server).await.unwrap();
        let seen: Value =
            serde_json::from_str(&client.call_tool("environment", json!({})).await.unwrap().text()).unwrap();
        assert_eq!((&seen["A"], &seen["EMPTY"], &seen["UNI"]), (&json!("1"), &json!(""), &json!("é")));
        assert_eq!(seen["TOKEN"], "s3cr3t-value");
        for name in Environment::Default.names() {
            assert_eq!(seen.get(*name).is_some(), std::env::var_os(name).is_some(), "{name}");
        }
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && seen.get("CARGO_MANIFEST_DIR").is_none());
        assert!(!format!("{client:?}").contains("s3cr3t"));
        assert_closes(client).await;
    });
}
