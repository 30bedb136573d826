//! What the server sends by itself.

use sans_mcp_mio::{Call, Capabilities, PeerReply, Server, Settings, StderrMode};

use crate::support::{Host, Seen, fixture};

fn with_roots(server: Server) -> Server {
    let mut settings = Settings::default();
    let mut capabilities = Capabilities::default();
    capabilities.roots = true;
    settings.capabilities = capabilities;
    server.settings(settings)
}

#[test]
fn l26_requests_of_the_server_are_answered_by_the_host() {
    let mut host = Host::connected(with_roots(fixture(&[])));
    host.call(0, Call::new("ask", r#"{"method":"roots/list"}"#), 1);
    let (request, method) = host.wait("a request", |_, seen| match seen {
        Seen::Request(handle, method) => Ok((handle, method)),
        other => Err(other),
    });
    assert_eq!(method, "roots/list");
    let now = host.now();
    host.connections[0].respond(now, request, PeerReply::Result(r#"{"roots":[]}"#)).expect("open");
    let reply = host.outcome(1).expect("answered");
    assert!(reply.contains(r#""result":{"roots":[]}"#), "{reply}");
}

#[test]
fn progress_comes_under_the_key_of_its_call() {
    let mut host = Host::connected(fixture(&[]));
    let call = Call::new("progress", r#"{"steps":3}"#).progress();
    host.call(0, call, 5);
    for step in 1..=3 {
        let params = host.wait("progress", |_, seen| match seen {
            Seen::Progress(5, params) => Ok(params),
            other => Err(other),
        });
        assert!(params.contains(&format!(r#""progress":{step},"#)), "{params}");
    }
    assert_eq!(host.outcome(5).expect("answered"), "3 steps");
}

#[test]
fn notifications_and_standard_error_reach_the_host() {
    let noisy = fixture(&["--stderr-text", "ready"]).stderr(StderrMode::Events);
    let mut host = Host::connected(noisy);
    let mut text = Vec::new();
    host.wait("a line of standard error", |_, seen| match seen {
        Seen::Stderr(bytes) => {
            text.extend(bytes);
            if text.ends_with(b"\n") { Ok(()) } else { Err(Seen::Oddity) }
        }
        other => Err(other),
    });
    assert_eq!(text, b"ready\n");
    assert_eq!(host.connections[0].stderr().to_string().trim_end(), "ready");
    host.text("change_tools", "{}");
    host.wait("a notification", |_, seen| match seen {
        Seen::Notification("notifications/tools/list_changed") => Ok(()),
        other => Err(other),
    });
    assert!(host.connections[0].session().catalog_is_stale());
}

#[test]
fn a_client_notification_reaches_the_server() {
    let mut host = Host::connected(with_roots(fixture(&[])));
    let before = host.text("stats", "{}");
    let now = host.now();
    host.connections[0].notify(now, "notifications/roots/list_changed", None).expect("declared");
    let after = host.text("stats", "{}");
    let lines = |stats: &str| {
        let (_, lines) = stats.trim_end_matches('}').rsplit_once(':').expect("the last member");
        lines.parse::<u32>().expect("a number")
    };
    // The notification, and the request for the second count.
    assert_eq!(lines(&after), lines(&before) + 2);
}
