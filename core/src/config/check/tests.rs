use std::time::Duration;

use super::*;
use crate::{Limits, Secret, Settings};

fn server() -> Server {
    Server::new("docs", "docs-server")
}

fn error(server: &Server) -> ConfigError {
    server.check().expect_err("must be refused")
}

/// Checks that the message names the server, then `field`, and ends with advice after a colon.
fn assert_message(error: &ConfigError, field: &str) {
    let text = error.to_string();
    assert!(text.starts_with("server `docs`: "), "{text}");
    assert!(text.contains(&format!("`{field}`")), "{field}: {text}");
    let advice = text.rsplit(": ").next().unwrap();
    assert!(advice.split(' ').count() >= 2, "{text}");
}

#[test]
fn l02_defaults_pass() {
    assert_eq!(server().check(), Ok(()));
    let full = server()
        .args(["--root", "/srv/docs", ""])
        .working_directory("/srv")
        .inherit("LANG")
        .variable("A", "1")
        .variable("A", "2")
        .variable("EMPTY", "")
        .secret("TOKEN", Secret::new("s3cr3t"));
    assert_eq!(full.check(), Ok(()));
}

#[test]
fn l02_a_server_needs_a_short_visible_name() {
    for name in ["", " ", "\t\n"] {
        assert_eq!(error(&Server::new(name, "docs-server")), ConfigError::NoName);
    }
    let long = "n".repeat(Server::LONGEST_NAME + 1);
    assert_eq!(Server::new(&long[1..], "docs-server").check(), Ok(()));
    match error(&Server::new(&long, "docs-server")) {
        ConfigError::TooLong { server, field, limit } => {
            assert_eq!((field.as_str(), limit), ("name", Server::LONGEST_NAME));
            assert!(server.len() <= Server::LONGEST_NAME && server.ends_with('…'), "{server}");
        }
        other => panic!("{other:?}"),
    }
    for name in ["a\nb", "a\u{1b}[31m", "a\u{202e}b", "a\u{0}"] {
        let error = error(&Server::new(name, "docs-server"));
        assert!(matches!(error, ConfigError::Invisible { .. }), "{error:?}");
        assert!(!error.to_string().chars().any(is_hidden), "{error}");
    }
}

#[test]
fn l02_an_empty_or_blank_command_is_refused() {
    for command in ["", "  ", "\t"] {
        let error = error(&Server::new("docs", command));
        assert_eq!(error, ConfigError::Empty { server: "docs".to_owned(), field: "command".to_owned() });
        assert_message(&error, "command");
    }
}

#[test]
fn l02_nul_is_refused_wherever_the_process_would_get_it() {
    for (server, field) in [
        (Server::new("docs", "docs\0server"), "command"),
        (server().arg("fine").arg("a\0b"), "args[1]"),
        (server().working_directory("/srv\0"), "working_directory"),
        (server().inherit("A\0"), "inherit[0]"),
        (server().variable("A\0", "1"), "variables[0]"),
        (server().variable("A", "1").variable("B", "\0"), "variables[1]"),
        (server().secret("A\0", Secret::new("s3cr3t")), "secrets[0]"),
        (server().secret("A", Secret::new("s3c\0r3t")), "secrets[0]"),
    ] {
        let error = error(&server);
        assert_eq!(error, ConfigError::Nul { server: "docs".to_owned(), field: field.to_owned() });
        assert_message(&error, field);
    }
}

#[test]
fn l02_names_of_variables_are_checked() {
    for (server, field) in [
        (server().inherit(""), "inherit[0]"),
        (server().variable("", "1"), "variables[0]"),
        (server().secret("", Secret::new("s3cr3t")), "secrets[0]"),
    ] {
        let error = error(&server);
        assert!(matches!(error, ConfigError::Empty { .. }), "{error:?}");
        assert_message(&error, field);
    }
    for (server, field) in [
        (server().inherit("A=1"), "inherit[0]"),
        (server().variable("A=1", "1"), "variables[0]"),
        (server().secret("=A", Secret::new("s3cr3t")), "secrets[0]"),
    ] {
        let error = error(&server);
        assert!(matches!(error, ConfigError::VariableName { .. }), "{error:?}");
        assert_message(&error, field);
    }
    let empty = error(&server().working_directory(""));
    assert_message(&empty, "working_directory");
}

#[test]
fn l04_a_secret_has_its_name_for_itself() {
    for server in [
        server().variable("TOKEN", "x").secret("TOKEN", Secret::new("s3cr3t")),
        server().secret("A", Secret::new("other")).secret("A", Secret::new("s3cr3t")),
    ] {
        let error = error(&server);
        assert!(matches!(error, ConfigError::Duplicate { .. }), "{error:?}");
        assert_message(&error, &format!("secrets[{}]", server.secrets.len() - 1));
    }
    assert_eq!(server().inherit("TOKEN").secret("TOKEN", Secret::new("s3cr3t")).check(), Ok(()));
}

#[test]
fn l04_a_secret_cannot_be_an_argument() {
    let secret = |server: Server| server.secret("TOKEN", Secret::new("s3cr3t"));
    for (server, field) in [
        (secret(server()).arg("--token=s3cr3t"), "args[0]"),
        (secret(server()).arg("-v").arg("s3cr3t"), "args[1]"),
        (secret(Server::new("docs", "/srv/s3cr3t/server")), "command"),
    ] {
        let error = error(&server);
        assert!(matches!(error, ConfigError::ExposedSecret { .. }), "{error:?}");
        assert_message(&error, field);
        assert_message(&error, "TOKEN");
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
    }
    assert_eq!(secret(server()).arg("--token=s3cr3").check(), Ok(()));
    assert_eq!(
        server().secret("A", Secret::new("abc")).secret("B", Secret::new("")).arg("abc").check(),
        Ok(())
    );
}

#[test]
fn l03_the_guard_is_part_of_the_check_and_has_one_switch() {
    let shell = Server::new("docs", "/bin/SH").args(["-c", "docs-server"]);
    let error = error(&shell);
    assert!(matches!(error, ConfigError::Blocked { .. }), "{error:?}");
    assert_message(&error, "sh");
    assert_eq!(shell.allow_shell().check(), Ok(()));
}

#[test]
fn l03_inline_code_of_a_runtime_that_passes_is_not_refused() {
    assert_eq!(Server::new("docs", "python3").args(["-c", "import server"]).check(), Ok(()));
    assert_eq!(Server::new("docs", "node").args(["-e", "0"]).check(), Ok(()));
}

#[test]
fn l02_timeouts_are_positive_and_bounded() {
    type Field = fn(&mut Timeouts, Duration);
    let fields: [(&str, Field); 8] = [
        ("settings.timeouts.connect", |t, d| t.connect = Some(d)),
        ("settings.timeouts.call", |t, d| t.call = Some(d)),
        ("settings.timeouts.maximum", |t, d| t.maximum = Some(d)),
        ("settings.timeouts.peer_request", |t, d| t.peer_request = Some(d)),
        ("settings.timeouts.health_interval", |t, d| t.health_interval = Some(d)),
        ("settings.timeouts.health", |t, d| t.health = Some(d)),
        ("settings.timeouts.end_of_input", |t, d| t.end_of_input = d),
        ("settings.timeouts.terminate", |t, d| t.terminate = d),
    ];
    for (field, set) in fields {
        let with = |duration| {
            let mut settings = Settings::default();
            set(&mut settings.timeouts, duration);
            server().settings(settings)
        };
        let zero = error(&with(Duration::ZERO));
        assert_eq!(zero, ConfigError::ZeroTimeout { server: "docs".to_owned(), field });
        assert_message(&zero, field);
        let long = error(&with(Duration::MAX));
        assert!(matches!(long, ConfigError::LongTimeout { .. }), "{long:?}");
        assert_message(&long, field);
        for duration in [Duration::from_nanos(1), Timeouts::LONGEST] {
            assert_eq!(with(duration).check(), Ok(()), "{field}");
        }
    }
    const DAY: Duration = Duration::from_secs(86_400);
    assert_eq!(Timeouts::LONGEST, 366 * DAY);
}

#[test]
fn l02_limits_are_neither_useless_nor_endless() {
    type Field = fn(&mut Limits, usize);
    let fields: [(&str, Field, usize); 20] = [
        ("line", |l, n| l.line = n, 1_024),
        ("discard", |l, n| l.discard = n, 1_024),
        ("pending", |l, n| l.pending = n, 1),
        ("send_queue", |l, n| l.send_queue = n, 1_024),
        ("parameters", |l, n| l.parameters = n, 1_024),
        ("replies", |l, n| l.replies = n, 1_024),
        ("stderr_tail", |l, n| l.stderr_tail = n, 1),
        ("noise_samples", |l, n| l.noise_samples = n, 1),
        ("noise_sample", |l, n| l.noise_sample = n, 16),
        ("tools", |l, n| l.tools = n, 1),
        ("pages", |l, n| l.pages = n, 1),
        ("catalog", |l, n| l.catalog = n, 1_024),
        ("description", |l, n| l.description = n, 1),
        ("schema_depth", |l, n| l.schema_depth = n, 1),
        ("schema_cost", |l, n| l.schema_cost = n, 1),
        ("peer_requests", |l, n| l.peer_requests = n, 1),
        ("events", |l, n| l.events = n, 1),
        ("notification_bytes_per_second", |l, n| l.notification_bytes_per_second = n, 1_024),
        ("remote_message", |l, n| l.remote_message = n, 1),
        ("remote_data", |l, n| l.remote_data = n, 1),
    ];
    for (field, set, least) in fields {
        let with = |value| {
            let mut settings = Settings::default();
            set(&mut settings.limits, value);
            server().settings(settings)
        };
        for value in [0, least - 1, (1 << 30) + 1, usize::MAX] {
            let error = error(&with(value));
            assert!(matches!(error, ConfigError::OutOfRange { value: v, .. } if v == value), "{error:?}");
            assert_message(&error, &format!("settings.limits.{field}"));
        }
        match with(least).check() {
            Ok(()) | Err(ConfigError::Contradiction { .. }) => {}
            other => panic!("{field}: {other:?}"),
        }
    }
    let mut settings = Settings::default();
    settings.limits.notifications_per_second = 0;
    assert_message(&error(&server().settings(settings)), "settings.limits.notifications_per_second");
}

#[test]
fn l02_limits_do_not_contradict_each_other() {
    let mut settings = Settings::default();
    settings.limits.discard = settings.limits.line;
    settings.limits.send_queue = settings.limits.parameters;
    assert_eq!(server().settings(settings.clone()).check(), Ok(()));

    settings.limits.discard -= 1;
    let error_line = error(&server().settings(settings.clone()));
    assert_message(&error_line, "settings.limits.line");
    assert_message(&error_line, "settings.limits.discard");

    settings.limits.discard += 1;
    settings.limits.parameters += 1;
    let error_parameters = error(&server().settings(settings));
    assert_message(&error_parameters, "settings.limits.parameters");
    assert_message(&error_parameters, "settings.limits.send_queue");
}

#[test]
fn l02_client_and_versions_are_not_empty() {
    for (field, change) in [
        ("settings.client.name", (|s| s.client.name = " ".to_owned()) as fn(&mut Settings)),
        ("settings.client.version", |s| s.client.version.clear()),
        ("settings.client.version", |s| s.client.version = "1\n".to_owned()),
        ("settings.versions", |s| s.versions.clear()),
    ] {
        let mut settings = Settings::default();
        change(&mut settings);
        assert_message(&error(&server().settings(settings)), field);
    }
}

#[test]
fn l02_json_is_read_and_checked() {
    let server = Server::from_json(
        r#"{"name": "docs", "command": "docs-server", "args": ["-v"], "working_directory": "/srv",
            "environment": "minimal", "inherit": ["LANG"], "variables": {"B": "2", "A": "1"},
            "secrets": {"TOKEN": "s3cr3t"}, "stderr": "events", "descendants": "group",
            "settings": {"conduct": "strict", "timeouts": {"call": 5000, "connect": null}, "versions": ["2025-06-18"]}}"#,
    )
    .unwrap();
    let settings = Settings {
        conduct: crate::Conduct::Strict,
        timeouts: Timeouts { call: Some(Duration::from_secs(5)), connect: None, ..Timeouts::default() },
        versions: vec![crate::Version::V2025_06_18],
        ..Settings::default()
    };
    let expected = Server::new("docs", "docs-server")
        .arg("-v")
        .working_directory("/srv")
        .environment(crate::Environment::Minimal)
        .inherit("LANG")
        .variable("B", "2")
        .variable("A", "1")
        .secret("TOKEN", Secret::new("s3cr3t"))
        .stderr(crate::StderrMode::Events)
        .descendants(crate::Descendants::Group)
        .settings(settings);
    assert_eq!(server, expected);

    let twice = Server::from_json(r#"{"name": "docs", "command": "d", "secrets": {"A": "1", "A": "2"}}"#);
    assert!(matches!(twice, Err(ConfigError::Duplicate { .. })), "{twice:?}");
}

#[test]
fn l02_json_errors_say_where_and_what() {
    for (text, parts) in [
        ("{", &["EOF", "line 1 column 1"][..]),
        (r#"{"name": "docs"}"#, &["missing field `command`", "line 1"]),
        (r#"{"name": "docs", "command": "d", "argv": []}"#, &["unknown field `argv`", "`args`"]),
        (r#"{"name": "docs", "command": "d", "args": "x"}"#, &["expected a sequence", "line 1 column"]),
        (r#"{"name": "docs", "command": "d", "variables": 7}"#, &["expected an object of names and values"]),
        (
            r#"{"name": "docs", "command": "d", "settings": {"versions": ["1999"]}}"#,
            &["unknown protocol version"],
        ),
    ] {
        let error = Server::from_json(text).unwrap_err();
        assert!(matches!(error, ConfigError::Json { .. }), "{error:?}");
        for part in parts {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn l04_json_errors_do_not_repeat_a_value() {
    for secrets in [
        r#""hunter2""#,
        r#"{"TOKEN": ["hunter2"]}"#,
        r#"{"TOKEN": {"value": "hunter2"}}"#,
        r#"{"TOKEN": 4711}"#,
        r#""it was expected hunter2""#,
        "4711",
    ] {
        let text = format!(r#"{{"name": "docs", "command": "d", "secrets": {secrets}}}"#);
        let error = Server::from_json(&text).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(matches!(error, ConfigError::Json { .. }), "{error:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("4711"), "{shown}");
        assert!(shown.contains("line 1 column"), "{shown}");
    }
}

/// Nor where a word is wanted that is one of a few.
#[test]
fn l04_json_errors_do_not_repeat_a_word_that_is_none_of_those_wanted() {
    for settings in [
        r#""stderr": "hunter2""#,
        r#""environment": "hunter2""#,
        r#""settings": {"conduct": "hunter2"}"#,
        r#""settings": {"conduct": {"hunter2": 1}}"#,
        r#""settings": {"descendants": "expected hunter2"}"#,
    ] {
        let text = format!(r#"{{"name": "docs", "command": "d", {settings}}}"#);
        let error = Server::from_json(&text).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("expected ") && shown.contains("line 1 column"), "{shown}");
    }
}

#[test]
fn l02_a_server_is_read_from_an_object_and_not_from_a_list_of_its_fields() {
    let error = Server::from_json(r#" ["docs", "docs-server"]"#).unwrap_err();
    assert_eq!(error, ConfigError::Json { problem: "expected a JSON object".to_owned() });
    assert!(Server::from_json("\n {\"name\": \"docs\", \"command\": \"docs-server\"}").is_ok());
}

#[test]
fn l02_the_steps_of_a_close_are_read_as_milliseconds_and_cannot_be_endless() {
    let read = |value: &str| {
        Server::from_json(&format!(
            r#"{{"name": "docs", "command": "d", "settings": {{"timeouts": {{"end_of_input": 250, "terminate": {value}}}}}}}"#
        ))
    };
    let timeouts = read("750").unwrap().settings.timeouts;
    let milliseconds = Duration::from_millis;
    assert_eq!((timeouts.end_of_input, timeouts.terminate), (milliseconds(250), milliseconds(750)));
    assert_eq!(timeouts.close_bound(), milliseconds(2_100));
    assert_eq!(Timeouts::default().close_bound(), milliseconds(5_100));
    assert!(matches!(read("null"), Err(ConfigError::Json { .. })));
}
