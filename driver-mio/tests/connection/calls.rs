//! Calls, their progress, and notifications of the host.

use sans_mcp_mio::Call;

use crate::support::{Host, Seen, fixture, slow_echo};

#[test]
fn three_connections_in_one_poll_keep_their_calls_apart() {
    const CALLS: u32 = 60;
    let mut host = Host::new([fixture(&[]), fixture(&["--noisy"]), fixture(&["--split-pause", "1"])]);
    (0..3).for_each(|index| host.connect(index));
    for key in 0..CALLS {
        for index in 0..3 {
            host.call(index, slow_echo(&format!("{index} {key}"), (CALLS - key) % 7), key);
        }
    }
    for key in 0..CALLS {
        for index in 0..3 {
            assert_eq!(host.outcome_of(index, key).expect("answered"), format!("{index} {key}"));
        }
    }
    (0..3).for_each(|index| assert!(host.close(index).gone()));
    assert_eq!(host.foreign, 0);
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
fn a_client_notification_reaches_the_server() {
    let mut server = fixture(&[]);
    server.settings.capabilities.roots = true;
    let mut host = Host::connected(server);
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
