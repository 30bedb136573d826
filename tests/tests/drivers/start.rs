//! Starts that fail, told apart, and what a server gets to see (rows L02 to L06).

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use sans_mcp::error::HandshakeFault;
use sans_mcp::{Cause, Code, Environment, Exit, FailureKind, Secret, Server, StartFailure, State, Version};
use serde_json::{Value, json};

use super::alone::{alone, path_of, unprivileged};
use super::outcome::Unsuccessful;
use super::support::{
    Mark, SLACK, Scratch, assert_closes, call, called, connected, everywhere, fixture, is_alive, shell, with,
};
use crate::host::{Host, Kind};

/// Why connecting fails; nothing is left by then.
fn refused(kind: Kind, server: Server) -> (Cause, Unsuccessful) {
    let (server, mark) = Mark::on(server);
    let mut host = Host::new(kind, server, &[]).unwrap();
    let error = host.connect().expect_err("it cannot connect");
    mark.assert_none();
    assert!(host.closed().gone());
    let FailureKind::Ended(cause) = error.failure().kind() else { panic!("not an end: {error}") };
    (cause.clone(), error)
}

fn start_failure(kind: Kind, server: Server) -> (StartFailure, Unsuccessful) {
    match refused(kind, server) {
        (Cause::Start { failure, .. }, error) => (failure, error),
        (cause, _) => panic!("not a start: {cause}"),
    }
}

/// As a whole process, so that its descriptors can be counted.
#[test]
fn c098_a_command_that_is_not_there_is_named_and_leaves_no_descriptor() {
    alone(path_of!(c098_a_command_that_is_not_there_is_named_and_leaves_no_descriptor), || {
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let empty = Scratch::folder();
        everywhere(|kind| {
            let lost = || Server::new("lost", "no-such-runtime-xyz").variable("PATH", empty.path());
            refused(kind, lost());
            let before = descriptors();
            let (failure, error) = start_failure(kind, lost());
            assert_eq!(failure, StartFailure::NotFound { searched_path: true });
            assert_eq!(error.code(), Code::NOT_FOUND);
            let text = error.to_string();
            let tells = ["no-such-runtime-xyz", "PATH", "lost"].iter().all(|word| text.contains(word));
            assert!(tells, "{text}");
            let (failure, _) = start_failure(kind, Server::new("lost", "/no/such/runtime-xyz"));
            assert_eq!(failure, StartFailure::NotFound { searched_path: false });
            for (command, word) in [("", "command"), ("ru\0n", "NUL")] {
                let error = Host::new(kind, Server::new("lost", command), &[]).err().unwrap();
                assert!(error.to_string().contains(word), "{error}");
            }
            assert_eq!(descriptors(), before);
            assert_eq!(std::fs::read_to_string("/proc/thread-self/children").unwrap(), "");
        });
    });
}

#[test]
fn l06_what_cannot_be_started_is_told_apart_with_what_to_do() {
    everywhere(|kind| {
        let folder = Scratch::folder();
        let file = |name: &str, mode, text: &str| {
            let path = format!("{}/{name}", folder.path());
            // Another process writes it: what is open for writing here could be open in a child of a parallel test, and
            // such a file cannot be executed.
            let status = std::process::Command::new("/bin/sh")
                .args(["-c", "printf '%s' \"$1\" > \"$0\"", &path, text])
                .status();
            assert!(status.unwrap().success());
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        for (path, expected, advice) in [
            (file("plain", 0o600, "#!/bin/sh\n"), StartFailure::NotPermitted, "check the file's mode"),
            (file("odd", 0o700, "\u{7f}NOT-A-PROGRAM\n"), StartFailure::NotExecutable, "`#!` line"),
            (file("orphan", 0o700, "#!/no/such/interpreter\n"), StartFailure::NotExecutable, "interpreter"),
            ("no-such-runtime-xyz".into(), StartFailure::NotFound { searched_path: true }, "install it"),
            ("/no/such/file".into(), StartFailure::NotFound { searched_path: false }, "check the path"),
        ] {
            let (failure, error) = start_failure(kind, Server::new("file", &path));
            assert_eq!(failure, expected, "{path}: {error}");
            let text = error.to_string();
            assert!(text.contains(&path) && text.contains(advice), "{text}");
        }
        let lost = Server::new("lost", "/bin/cat").working_directory("/no/such/directory");
        let (failure, error) = start_failure(kind, lost);
        assert_eq!(failure, StartFailure::BadWorkingDirectory);
        assert!(error.to_string().contains("check its path"), "{error}");
    });
}

/// As a user whom permissions concern.
#[test]
fn c099_a_working_directory_that_cannot_be_entered_is_the_cause() {
    unprivileged(path_of!(c099_a_working_directory_that_cannot_be_entered_is_the_cause), || {
        let (file, closed) = (Scratch::new(), Scratch::folder());
        std::fs::write(file.path(), "").unwrap();
        std::fs::set_permissions(closed.path(), Permissions::from_mode(0o600)).unwrap();
        everywhere(|kind| {
            for directory in ["/no/such/directory", file.path(), closed.path()] {
                let server = Server::new("lost", "/bin/cat").working_directory(directory);
                let (failure, error) = start_failure(kind, server);
                assert_eq!(failure, StartFailure::BadWorkingDirectory, "{directory}");
                assert_eq!(error.code(), Code::BAD_DIRECTORY);
                assert!(error.to_string().contains("working directory"), "{error}");
            }
        });
    });
}

#[test]
fn c097_an_exit_before_the_handshake_has_its_code_or_signal() {
    everywhere(|kind| {
        for (script, exit) in [
            ("exit 2", Exit::Code(2)),
            ("exit 0", Exit::Code(0)),
            ("echo usage: server; exit 0", Exit::Code(0)),
            ("kill -SEGV $$", Exit::Signal(11)),
            ("kill -KILL $$", Exit::Signal(9)),
            ("read -r line; exit 255", Exit::Code(255)),
        ] {
            let began = Instant::now();
            let (cause, error) = refused(kind, shell(script));
            assert!(began.elapsed() < Duration::from_secs(1) + SLACK, "{script}: {:?}", began.elapsed());
            assert_eq!(cause, Cause::ExitedInHandshake(exit), "{script}");
            assert_eq!(error.code(), Code::PROCESS_EXIT);
            let text = format!("exited before the handshake was over ({exit})");
            assert!(error.to_string().contains(&text), "{error}");
        }
    });
}

#[test]
fn c101_an_exit_with_a_reason_on_stderr_is_told_with_it() {
    everywhere(|kind| {
        let (_, error) = refused(kind, shell("echo 'FATAL: token missing' >&2; exit 78"));
        let text = error.to_string();
        assert!(text.contains("exit code 78") && text.contains("FATAL: token missing"), "{text}");
    });
}

/// The numbers of the case: twelve seconds to start, five or thirty to wait.
#[test]
fn c087_a_slow_start_is_given_the_time_that_was_configured() {
    const SHORT: Duration = Duration::from_secs(5);
    let script = "i=0; while [ $i -lt 12 ]; do printf . >&2; sleep 1; i=$((i+1)); done";
    let script = format!("{script}; exec {}", env!("CARGO_BIN_EXE_fixture"));
    let slow = |timeout| with(shell(&script), |settings| settings.timeouts.connect = Some(timeout));
    std::thread::scope(|scope| {
        for kind in Kind::ALL {
            scope.spawn(move || assert_closes(connected(kind, slow(Duration::from_secs(30)))));
            scope.spawn(move || {
                let began = Instant::now();
                let (cause, error) = refused(kind, slow(SHORT));
                let took = began.elapsed();
                assert_eq!(cause, Cause::ConnectTimeout(SHORT));
                assert!(took >= SHORT && took < SHORT + SLACK, "{took:?}");
                assert_eq!(error.code(), Code::CONNECT_TIMEOUT);
                assert!(error.to_string().contains("stderr: ...."), "{error}");
            });
        }
    });
}

#[test]
fn l06_a_version_that_is_not_supported_is_refused_with_both_sides() {
    everywhere(|kind| {
        let record = Scratch::new();
        let server = fixture(&["--protocol", "2099-01-01", "--record", record.path()]);
        let (cause, error) = refused(kind, server);
        let Cause::Handshake(HandshakeFault::Version { offered, accepted }) = &cause else {
            panic!("{cause:?}")
        };
        assert_eq!((offered.as_str(), accepted.len()), ("2099-01-01", Version::LEGACY.len()));
        assert_eq!(error.code(), Code::VERSION);
        assert!(!record.read().contains("notifications/initialized"), "{}", record.read());
    });
}

#[test]
fn l05_connecting_many_times_shares_one_process_and_one_handshake() {
    everywhere(|kind| {
        let (pids, record) = (Scratch::new(), Scratch::new());
        let server = fixture(&["--pids", pids.path(), "--record", record.path(), "--start-delay", "50"]);
        let mut host = Host::new(kind, server, &[]).unwrap();
        assert_eq!((host.state(), host.process_id()), (State::New, None));
        let tickets = [(); 3].map(|()| host.begin_connect());
        for ticket in tickets {
            host.wait(ticket).unwrap();
        }
        host.connect().unwrap();
        assert_eq!(pids.read().lines().count(), 1);
        let messages = record.messages();
        assert_eq!(messages.iter().filter(|message| message["method"] == "initialize").count(), 1);
        let pid = host.process_id().unwrap();
        assert!(host.close().gone() && !is_alive(pid));
        assert_eq!(host.connect().unwrap_err().code(), Code::CLOSED, "what is closed stays closed");
    });
}

#[test]
fn l02_a_bad_configuration_starts_nothing() {
    everywhere(|kind| {
        let trace = Scratch::new();
        let touching = |name: &str, command: &str| Server::new(name, command).arg(trace.path());
        for (server, word) in [
            (touching("", "touch"), "name"),
            (touching("s", ""), "command"),
            (touching("s", "to\0uch"), "NUL"),
            (Server::new("s", "/bin/bash").args(["-c", &format!("touch {}", trace.path())]), "shell"),
            (with(touching("s", "touch"), |settings| settings.limits.line = 0), "settings.limits.line"),
        ] {
            let error = Host::new(kind, server, &[]).err().unwrap();
            assert!(error.to_string().contains(word), "{error} should speak of {word}");
            assert!(!std::path::Path::new(trace.path()).exists(), "{error}, and something was started");
        }
    });
}

#[test]
fn l03_the_guard_is_turned_off_by_one_switch() {
    everywhere(|kind| {
        let command = format!("exec {}", env!("CARGO_BIN_EXE_fixture"));
        let guarded = Server::new("guarded", "sh").args(["-c", &command]);
        assert!(Host::new(kind, guarded.clone(), &[]).is_err());
        assert_closes(connected(kind, guarded.allow_shell()));
    });
}

/// What the fixture sees of the environment.
fn environment(kind: Kind, server: Server) -> Value {
    let mut host = connected(kind, server);
    let seen = called(&mut host, call("environment", json!({}))).unwrap().text();
    assert_closes(host);
    serde_json::from_str(&seen).unwrap()
}

#[test]
fn c103_the_server_sees_the_documented_variables_and_no_other() {
    everywhere(|kind| {
        let server = fixture(&[]).secret("TOKEN", Secret::new("s3cr3t-value"));
        assert!(!format!("{server:?}").contains("s3cr3t"));
        let seen = environment(kind, server);
        assert_eq!(seen["TOKEN"], "s3cr3t-value");
        assert_eq!(Environment::Default.names(), ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]);
        for name in Environment::Default.names() {
            assert_eq!(seen.get(*name).is_some(), std::env::var_os(name).is_some(), "{name}");
        }
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && seen.get("CARGO_MANIFEST_DIR").is_none());
        let inherited = environment(kind, fixture(&[]).inherit("CARGO_MANIFEST_DIR"));
        assert_eq!(inherited["CARGO_MANIFEST_DIR"], env!("CARGO_MANIFEST_DIR"));
    });
}

/// The command itself is looked up in the `PATH` that the server gets.
#[test]
fn c104_the_server_sees_what_it_was_given_and_is_looked_up_in_its_own_path() {
    everywhere(|kind| {
        let folder = Scratch::folder();
        symlink(env!("CARGO_BIN_EXE_fixture"), format!("{}/only-here-xyz", folder.path())).unwrap();
        let server = Server::new("own path", "only-here-xyz").variable("PATH", folder.path());
        let seen = environment(kind, server.variable("A", "1").variable("EMPTY", "").variable("UNI", "é"));
        assert_eq!((&seen["A"], &seen["EMPTY"], &seen["UNI"]), (&json!("1"), &json!(""), &json!("é")));
        assert_eq!(seen["PATH"], folder.path());
        assert_eq!(seen.get("HOME").is_some(), std::env::var_os("HOME").is_some());
        let (failure, _) = start_failure(kind, Server::new("own path", "only-here-xyz"));
        assert_eq!(failure, StartFailure::NotFound { searched_path: true });
    });
}
