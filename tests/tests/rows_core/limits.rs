//! Rows L20, L21 and W02: what is bounded.

use sans_mcp::error::{Cause, Full, PeerFault};
use sans_mcp::{Code, Refusal, Request, Settings, Time};
use sans_mcp_tests::peer::{Act, Bytes};
use sans_mcp_tests::runner::{Outcome, Runner};
use sans_mcp_tests::scripted::Scripted;

use crate::support::{call, code, connected, connected_to, ms, server};

#[test]
fn l20_past_the_bound_of_pending_calls_one_is_refused_as_busy_and_starts_no_timer() {
    let mut runner = connected_to(server(|settings| settings.limits.pending = 3), Scripted::silent());
    let accepted: Vec<u64> =
        (0..3).map(|_| runner.call(call("{}").timeout(Some(ms(500)))).unwrap()).collect();
    assert_eq!(runner.call(call("{}").timeout(Some(ms(5)))), Err(Refusal::Busy(Full::Pending)));
    assert_eq!(runner.ping(Some(ms(5))), Err(Refusal::Busy(Full::Pending)));
    assert_eq!(runner.try_connect(), Err(Refusal::Busy(Full::Pending)));
    assert_eq!(runner.list(), Err(Refusal::Busy(Full::Pending)));
    assert_eq!(runner.counters().pending, 3);
    // The first thing that happens is the deadline of the accepted ones.
    runner.settle();
    runner.step();
    assert_eq!(runner.now(), Time::ZERO + ms(500));
    assert_eq!(accepted.iter().filter(|token| runner.outcome(**token).is_some()).count(), 3);
    assert!(runner.call(call("{}")).is_ok());
}

#[test]
fn l20_past_the_bound_of_queued_bytes_one_is_refused_as_busy() {
    let mut runner = connected_to(
        server(|settings| {
            settings.limits.parameters = 4_096;
            settings.limits.send_queue = 10_000;
        }),
        Scripted::on(|said, agenda| {
            agenda.act(ms(0), Act::StopReading);
            said.method == "tools/call"
        }),
    );
    let large = || call(&format!(r#"{{"a":"{}"}}"#, "a".repeat(4_000)));
    let mut accepted = 0;
    let refusal = loop {
        match runner.call(large()) {
            Ok(_) => accepted += 1,
            Err(refusal) => break refusal,
        }
        assert!(accepted < 100);
    };
    assert_eq!((refusal, accepted), (Refusal::Busy(Full::SendQueue), 2));
    assert!(runner.counters().queued_bytes <= 10_000);
    // What is small enough still goes.
    assert!(runner.call(call("{}")).is_ok());
}

#[test]
fn l21_parameters_are_measured_before_a_call_is_accepted() {
    let mut runner = connected_to(server(|settings| settings.limits.parameters = 1_024), Scripted::default());
    let of_size = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "a".repeat(bytes - 8));
    let around = r#"{"name":"t","arguments":}"#.len();
    let fits = runner.call(call(&of_size(1_024 - around))).unwrap();
    assert!(runner.ended(fits).answer().is_some());
    assert_eq!(
        runner.call(call(&of_size(1_025 - around))),
        Err(Refusal::TooLarge { bytes: 1_025, limit: 1_024 })
    );
    let request = Request::new("resources/list").params(of_size(1_025));
    assert_eq!(runner.request(request), Err(Refusal::TooLarge { bytes: 1_025, limit: 1_024 }));
    let now = runner.now();
    let notified = runner.session_mut().notify(now, "vendor/x", Some(&of_size(1_025)));
    assert_eq!(notified, Err(Refusal::TooLarge { bytes: 1_025, limit: 1_024 }));
}

#[test]
fn l21_a_result_is_held_to_the_limit_that_its_call_set() {
    let mut runner = connected(Scripted::on(|said, agenda| {
        if said.method == "tools/call" {
            let bytes = usize::try_from(said.argument("bytes").as_u64().unwrap()).unwrap();
            agenda.say(&said.result(&format!(r#"{{"x":"{}"}}"#, "x".repeat(bytes - 8))));
        }
        said.method == "tools/call"
    }));
    let asks = |bytes: usize| call(&format!(r#"{{"bytes":{bytes}}}"#));
    let fits = runner.call(asks(100).result_limit(100)).unwrap();
    let over = runner.call(asks(101).result_limit(100)).unwrap();
    let free = runner.call(asks(1_000_000)).unwrap();
    runner.settle();
    assert!(runner.outcome(fits).unwrap().answer().is_some());
    let failure = runner.outcome(over).unwrap().failure().unwrap();
    assert_eq!(
        (failure.code(), failure.to_string().contains("the limit of 100 bytes")),
        (Code::TOO_LARGE, true)
    );
    assert_eq!(runner.outcome(free).unwrap().answer().unwrap().len(), 1_000_000);
}

/// A session whose lines may have 2,000 bytes and whose endless ones 9,000, that calls get `line` for an answer in.
fn narrow(line: impl Fn(&str) -> Bytes + 'static, tune: impl FnOnce(&mut Settings)) -> Runner {
    let configuration = server(|settings| {
        settings.limits.line = 2_000;
        settings.limits.discard = 9_000;
        tune(settings);
    });
    connected_to(
        configuration,
        Scripted::on(move |said, agenda| {
            if said.method == "tools/call" {
                agenda.write(ms(0), line(&said.id.to_string()));
            }
            said.method == "tools/call"
        }),
    )
}

/// `pattern` with `ID` and `LONG` in it replaced, the latter by so many bytes.
fn long(id: &str, pattern: &str, bytes: usize) -> Bytes {
    Bytes::from(pattern.replace("ID", id).replace("LONG", &"x".repeat(bytes)).as_str())
}

#[test]
fn w02_a_line_over_the_limit_fails_its_call_wherever_its_id_stands() {
    // The second limit is one that no read fits into.
    for (limit, bytes) in [(2_000, 3_000), (200_000, 300_000)] {
        for pattern in [
            "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"LONG\"}}\n",
            "{\"a\":\"LONG\",\"id\":ID,\"jsonrpc\":\"2.0\",\"result\":{\"a\":\"LONG\"}}\n",
            "{\"result\":{\"id\":7,\"a\":\"LONG\"},\"jsonrpc\":\"2.0\",\"id\":ID}\n",
            "{\"error\":{\"a\":\"LONG\"},\"id\":ID}\n",
        ] {
            let limited = |settings: &mut Settings| {
                settings.limits.line = limit;
                settings.limits.discard = limit * 5;
            };
            let mut runner = narrow(move |id| long(id, pattern, bytes), limited);
            let token = runner.call(call("{}")).unwrap();
            runner.settle();
            let failure = runner.outcome(token).and_then(Outcome::failure).unwrap();
            let names_limit = failure.to_string().contains(&format!("{limit} bytes"));
            assert_eq!((failure.code(), names_limit), (Code::TOO_LARGE, true), "{pattern}");
            assert_eq!(runner.counters().long_lines, 1, "{pattern}");
            let ping = runner.ping(None).unwrap();
            assert_eq!(runner.ended(ping).answer(), Some("{}"), "{pattern}");
        }
    }
}

#[test]
fn w02_what_is_discarded_is_never_read_as_a_message() {
    // The discarded rest holds what would be an answer, a request and a notification on lines of their own.
    let inner = r#"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}"#;
    let pattern = format!(
        "{{\"x\":\"LONG\",\"y\":{{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{{}}}},\"z\":\"{inner}\",\"method\":\"ping\"}}\n"
    );
    let mut runner = narrow(move |id| long(id, &pattern, 3_000), |_| {});
    let token = runner.call(call("{}").timeout(Some(ms(50)))).unwrap();
    runner.settle();
    assert!(runner.outcome(token).is_none());
    let counters = runner.counters();
    assert_eq!((counters.long_lines, counters.pings, counters.unknown, counters.noise_lines), (1, 0, 0, 0));
    runner.ended(token);
    assert_eq!(code(&runner, token), "MCP_TIMEOUT");
    assert!(runner.trace().told("over the limit of 2000 bytes was thrown away"));
}

#[test]
fn w02_a_line_of_exactly_the_limit_is_a_message() {
    let exact = |id: &str, bytes: usize| {
        let empty = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":""}}}}"#);
        Bytes::from(
            format!(
                "{}\n",
                empty.replace(r#""a":"""#, &format!(r#""a":"{}""#, "x".repeat(bytes - empty.len())))
            )
            .as_str(),
        )
    };
    let mut runner = narrow(move |id| exact(id, 2_000), |_| {});
    let token = runner.call(call("{}")).unwrap();
    assert!(runner.ended(token).answer().is_some());
    let mut runner = narrow(move |id| exact(id, 2_001), |_| {});
    let token = runner.call(call("{}")).unwrap();
    assert_eq!(runner.ended(token).code(), Some(Code::TOO_LARGE));
}

#[test]
fn w02_past_the_second_bound_the_session_ends_and_under_strict_conduct_at_the_first() {
    let mut runner = narrow(|_| Bytes::repeated(vec![b'A'; 100], 10_000), |_| {});
    let token = runner.call(call("{}")).unwrap();
    assert_eq!(runner.ended(token).code(), Some(Code::TOO_LARGE));
    assert!(runner.counters().discarded_bytes >= 9_000);
    let end = runner.closed();
    assert_eq!((end.cause.clone(), end.gone()), (Cause::Peer(PeerFault::EndlessLine { limit: 9_000 }), true));

    let strict = |settings: &mut Settings| settings.conduct = sans_mcp::Conduct::Strict;
    let mut runner =
        narrow(|id| long(id, "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":\"LONG\"}}\n", 3_000), strict);
    let token = runner.call(call("{}")).unwrap();
    assert_eq!(runner.ended(token).code(), Some(Code::TOO_LARGE));
    assert_eq!(runner.closed().cause, Cause::Peer(PeerFault::LongLine { limit: 2_000 }));
}
