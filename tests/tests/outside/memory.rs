//! What a server can make its host's memory grow by, at the default limits: the peak, as the system counts it, above that of
//! a host that has had a client.

use std::time::Duration;

use sans_mcp::{Call, Code, Server};

use crate::harness::{Proof, proof};
use crate::holdings::{peak, resident};
use crate::host::{CONNECT, Client, Host, assert_over, echo, mode};

const MIB: u64 = 1 << 20;

pub(crate) fn proofs<H: Host>() -> Vec<Proof> {
    vec![
        proof("w02_a_line_without_an_end", endless_line::<H>),
        proof("w02_a_line_without_an_end_where_more_of_it_is_thrown_away", endless_line_discarded::<H>),
        proof("w02_a_line_without_an_end_where_lines_may_be_long", endless_line_kept::<H>),
        proof("s02_every_other_mode", every_other_mode::<H>),
        proof("w03_memory_comes_back_after_a_big_message", big_message::<H>),
        proof("l22_a_flood_of_standard_error", standard_error::<H>),
        proof("l26_a_hundred_thousand_unread_pings", pings::<H>),
        proof("l27_a_million_notifications", notifications::<H>),
        proof("l19_ten_thousand_calls_to_who_does_not_read", unread_calls::<H>),
    ]
}

fn idle<H: Host>() -> (H, u64) {
    let mut host = H::new();
    let client = host.connected(mode("plain"));
    assert_eq!(host.ask(client, echo("x"), 1).as_deref(), Ok("x"));
    assert_over(&host.leave(client));
    (host, peak())
}

fn assert_grew_by(idle: u64, most: u64) {
    let grew = peak() - idle;
    println!("{} KiB above {} KiB, at most {} KiB", grew >> 10, idle >> 10, most >> 10);
    assert!(grew <= most);
}

/// 2 GiB, of which the session takes 64 MiB.
fn endless_line<H: Host>() {
    endless::<H>(mode("flood-nonl"), 32 * MIB);
}

/// What is thrown away costs nothing, however much it is.
fn endless_line_discarded<H: Host>() {
    let mut server = mode("flood-nonl");
    server.settings.limits.discard = 256 << 20;
    endless::<H>(server, 32 * MIB);
}

/// What is kept costs what was allowed, and no allocator needs it twice.
fn endless_line_kept<H: Host>() {
    let mut server = mode("flood-nonl");
    server.settings.limits.line = 32 << 20;
    endless::<H>(server, 64 * MIB);
}

fn endless<H: Host>(server: Server, most: u64) {
    let limit = server.settings.limits.discard;
    let (mut host, idle) = idle::<H>();
    let client = host.connected(server);
    assert_eq!(host.ask(client, echo("x"), 1), Err(Code::TOO_LARGE));
    assert_eq!(host.ask(client, echo("x"), 2), Err(Code::TOO_LARGE));
    let end = host.end(client);
    assert!(end.to_string().contains(&format!("{limit} bytes without an end of line; ")), "{end}");
    assert_over(&end);
    assert_grew_by(idle, most);
}

/// Modes that have a proof of their own, here or in the drill.
const FLOODS: [&str; 6] =
    ["flood-nonl", "drill", "stderr-flood", "srv-req-flood", "notif-flood", "stop-reading"];

/// One after another in one process, each with six calls and a close, whatever becomes of them.
fn every_other_mode<H: Host>() {
    let (mut host, idle) = idle::<H>();
    for name in sans_mcp_fixtures::mode_names().filter(|name| !FLOODS.contains(name)) {
        let mut server = mode(name);
        let timeouts = &mut server.settings.timeouts;
        let step = Duration::from_millis(500);
        (timeouts.connect, timeouts.call) = (Some(10 * step), Some(step));
        (timeouts.end_of_input, timeouts.terminate) = (step, step);
        if name == "init-never" {
            timeouts.connect = Some(step);
        }
        let client = host.open(server);
        host.connect(client, CONNECT);
        assert_eq!(host.outcome(client, CONNECT).is_ok(), name != "init-never", "{name}");
        for key in 1..=6 {
            let _ = host.ask(client, echo("x"), key);
        }
        assert_over(&host.leave(client));
        println!("{name}: {} KiB above", (peak() - idle) >> 10);
    }
    assert_grew_by(idle, 32 * MIB);
}

/// A result of nearly the line limit, in a session that lives on.
fn big_message<H: Host>() {
    let (mut host, _) = idle::<H>();
    let client = host.connected(mode("plain"));
    assert_eq!(host.ask(client, echo("x"), 1).as_deref(), Ok("x"));
    let idle = resident();
    for key in 2..=6 {
        let big = Call::new("blob", r#"{"bytes":9000000}"#);
        assert_eq!(host.ask(client, big, key).map(|text| text.len()), Ok(9_000_000));
        assert_eq!(host.ask(client, echo("x"), 10 * key).as_deref(), Ok("x"));
    }
    let (left, peak) = (resident().saturating_sub(idle), peak() - idle);
    println!("{} KiB above {} KiB are left of {} KiB", left >> 10, idle >> 10, peak >> 10);
    assert!(left <= 2 * MIB && peak >= 9 * MIB);
    assert_over(&host.leave(client));
}

fn standard_error<H: Host>() {
    flood_of_standard_error(mode("stderr-flood"), |_: &mut H, _| {});
}

/// 100 MiB, before the server reads anything; for somebody who does not read what `subscribe` gives.
pub(crate) fn flood_of_standard_error<H: Host>(server: Server, subscribe: fn(&mut H, Client)) {
    let (mut host, idle) = idle::<H>();
    let client = host.open(server);
    subscribe(&mut host, client);
    host.connect(client, CONNECT);
    host.outcome(client, CONNECT).expect("connected");
    assert_eq!(host.ask(client, echo("x"), 1).as_deref(), Ok("x"));
    let end = host.leave(client);
    assert!(end.stderr.is_truncated() && end.stderr.as_str().len() <= 64 << 10);
    assert_grew_by(idle, 32 * MIB);
}

fn notifications<H: Host>() {
    unread_notifications(|_: &mut H, _| {});
}

/// A million, for somebody who does not read what `subscribe` gives.
pub(crate) fn unread_notifications<H: Host>(subscribe: fn(&mut H, Client)) {
    let (mut host, idle) = idle::<H>();
    let client = host.connected(mode("notif-flood"));
    subscribe(&mut host, client);
    assert_eq!(host.ask(client, echo("x").timeout(None), 1).as_deref(), Ok("x"));
    assert_over(&host.leave(client));
    assert_grew_by(idle, 64 * MIB);
}

/// A hundred thousand, of a server that reads no reply before it has written them all.
fn pings<H: Host>() {
    let (mut host, idle) = idle::<H>();
    let client = host.connected(mode("srv-req-flood"));
    assert_eq!(host.ask(client, echo("x").timeout(None), 1).as_deref(), Ok("x"));
    assert_over(&host.leave(client));
    assert_grew_by(idle, 64 * MIB);
}

/// Ten thousand calls of 16 KiB each, and none of them has a deadline.
fn unread_calls<H: Host>() {
    let (mut host, idle) = idle::<H>();
    let client = host.connected(mode("stop-reading"));
    let value = "b".repeat(16 << 10);
    let calls = 1..=10_000;
    for key in calls.clone() {
        host.call(client, echo(&value).timeout(None), key);
    }
    host.close(client);
    let (mut closed, mut busy) = (0, 0);
    for key in calls {
        match host.outcome(client, key) {
            Err(Code::CLOSED) => closed += 1,
            Err(Code::BUSY) => busy += 1,
            other => panic!("call {key}: {other:?}"),
        }
    }
    println!("{closed} were accepted, {busy} were refused");
    assert!(closed > 1_000 && busy > 8_000);
    assert_over(&host.leave(client));
    assert_grew_by(idle, 64 * MIB);
}
