//! Row L04 and cases C103 and C104: what a server sees of the environment.

use std::collections::BTreeMap;

use sans_mcp::{Environment, Secret, Server};
use sans_mcp_process::spawn;

use crate::support::{ALONE, COOKIE, alone, as_server, output};

/// Without the variable that is not the configuration's.
fn seen(server: &Server) -> BTreeMap<String, String> {
    let (_child, pipes) = spawn(server).expect("env is installed");
    let text = output(&pipes.stdout);
    let pairs = text.lines().map(|line| line.split_once('=').expect("NAME=value"));
    let configured = pairs.filter(|&(name, _)| name != COOKIE);
    configured.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn host(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().filter_map(|&name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

fn env() -> Server {
    Server::new("env", "env")
}

#[test]
fn l04_only_the_default_set_is_inherited() {
    let default = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
    let has_more = std::env::vars_os().any(|(name, _)| !default.iter().any(|&default| name == default));
    assert!(has_more, "otherwise this shows nothing");
    assert_eq!(seen(&env()), host(&default));
    assert_eq!(seen(&env().environment(Environment::Minimal)), host(&["PATH"]));
}

#[test]
fn l04_more_is_inherited_by_name_where_the_host_has_it() {
    alone("environment::l04_more_is_inherited_by_name_where_the_host_has_it", || {
        let server = env().environment(Environment::Minimal).inherit(ALONE).inherit("NOT_IN_THE_HOST");
        let seen = seen(&server);
        assert_eq!(seen, host(&["PATH", ALONE]));
        assert!(seen.contains_key(ALONE));
    });
}

#[test]
fn c104_variables_win_over_inherited_ones_and_arrive_intact() {
    let path = std::env::var("PATH").expect("tests run with one");
    let server = env()
        .environment(Environment::Minimal)
        .inherit("HOME")
        .variable("PATH", format!("{path}:/custom"))
        .variable("A", "0")
        .variable("A", "1")
        .variable("EMPTY", "")
        .variable("UNI", "\u{e9}");
    let mut expected = host(&["HOME"]);
    for (name, value) in [("PATH", &*format!("{path}:/custom")), ("A", "1"), ("EMPTY", ""), ("UNI", "\u{e9}")]
    {
        expected.insert(name.to_owned(), value.to_owned());
    }
    assert_eq!(seen(&server), expected);
}

#[test]
fn l04_a_secret_reaches_the_server_as_a_variable() {
    let server = env().environment(Environment::Minimal).secret("TOKEN", Secret::new("hunter2"));
    assert_eq!(seen(&server).get("TOKEN").map(String::as_str), Some("hunter2"));
}

/// A value of the host that is not UTF-8 goes through as it is.
#[test]
fn l04_inherited_values_are_bytes() {
    use std::os::unix::ffi::OsStringExt;

    const TEST: &str = "environment::l04_inherited_values_are_bytes";
    let value = || std::ffi::OsString::from_vec(vec![b'a', 0xff, b'b']);
    let odd = "SANS_MCP_TEST_ODD";
    // In the first process it is missing, in the second it comes from std, in the third through `spawn`.
    match std::env::var_os(odd) {
        None => {
            let executable = std::env::current_exe().expect("a test has a file");
            let mut command = std::process::Command::new(executable);
            let status =
                command.args([TEST, "--exact"]).env(odd, value()).output().expect("it starts").status;
            assert!(status.success());
        }
        Some(given) if std::env::var_os(ALONE).is_none() => {
            assert_eq!(given, value());
            let (mut child, pipes) = spawn(&as_server(TEST).inherit(odd)).expect("own file");
            assert!(output(&pipes.stdout).contains("1 passed"));
            assert_eq!(crate::support::exit_of(&mut child), sans_mcp::Exit::Code(0));
        }
        Some(given) => alone(TEST, || assert_eq!(given, value())),
    }
}
