//! The cases of stage `foundation` that a server in memory can play.

use super::Asking::{Call, CancelledCall, List, Ping, Request};
use super::Counter::{
    Cancelled, IgnoredNotifications, Late, LongLines, Malformed, NearMisses, Noise, Pings, RefusedRequests,
    RemoteErrors, Timeouts, Uncorrelated, Unknown,
};
use super::Expected::{Fails, Fine, Long, Raw, Refused, Text};
use super::{Expectation, Tuning};

const INVALID: &str = "MCP_INVALID_RESPONSE";
const TIMEOUT: &str = "MCP_TIMEOUT";
const REMOTE: &str = "MCP_ERROR";
const OK: super::Expected = Text("ok");
const PONG: super::Expected = Raw("{}");

/// One record for each case, and more than one for some.
pub fn foundation() -> Vec<Expectation> {
    let mut all = noise_and_framing();
    all.extend(encoding_and_size());
    all.extend(ids());
    all.extend(envelopes());
    all.extend(handshake());
    all.extend(lists());
    all.extend(results());
    all
}

/// K01 to K03, K11, K12.
fn noise_and_framing() -> Vec<Expectation> {
    let case = Expectation::new;
    vec![
        case("C001").asks(Call, OK).counts(Noise, 1).tells("demo-server v9.9.1 listening on stdio", 1),
        // Two of the four lines are blank, and blank lines are ignored.
        case("C002")
            .asks(Call, OK)
            .counts(Noise, 2)
            .tells("server `player`: a line on its output is no message", 2),
        case("C003")
            .asks(Call, OK)
            .asks(Call, OK)
            .asks(Call, OK)
            .asks(Call, OK)
            .counts(Noise, 4)
            .tells("cache warmed in 3 ms", 4),
        // The first 32, and then 64, 128, ..., 16384.
        case("C006").asks(Call, OK).counts(Noise, 20_000).tells("noise noise noise", 41),
        case("C007")
            .asks(Call, OK)
            .counts(Noise, 1)
            .tells("\\x1b[33m[2026-07-28T10:00:00] [WARN] - retrying\\x1b[0m", 1),
        case("C008").asks(Call, OK).asks(Ping, PONG),
        Expectation { version: Some("2025-06-18"), ..case("C010") }
            .lists(&[])
            .sends("tools/list", 0)
            .asks(Call, Refused("MCP_UNSUPPORTED"))
            .asks(Ping, PONG),
        case("C011").asks(Call, Raw(r#"{"content":[]}"#)).asks(Ping, PONG),
        Expectation { end: Some("MCP_PROCESS_EXIT"), ..case("C014") }.asks(Call, Text("last")),
        case("C015")
            .asks(Call, Fails(TIMEOUT, &["`tools/call`, sent", "hint: 7 lines looked like multi-line JSON"]))
            .asks(Ping, PONG)
            .counts(Noise, 7)
            .counts(Timeouts, 1)
            .tells("multi-line JSON", 1)
            .tells("no message:", 0)
            .sends("notifications/cancelled", 1),
        case("C051").asks(Call, OK).counts(IgnoredNotifications, 3).tells("ignored its notification", 3),
        case("C053").asks(Call, OK).counts(Unknown, 1).counts(Uncorrelated, 1),
        case("C054").asks(Call, OK).asks(Ping, PONG).counts(IgnoredNotifications, 5_000),
    ]
}

/// K04 to K07.
fn encoding_and_size() -> Vec<Expectation> {
    let case = Expectation::new;
    let too_large = |variant, trigger: Option<&str>| {
        Expectation { trigger: trigger.map(str::to_owned), ..case("C023") }
            .variant(variant)
            .asks(Call, Fails("MCP_TOO_LARGE", &["`tools/call`, sent", "10485760"]))
            .asks(Ping, PONG)
            .counts(LongLines, 1)
    };
    vec![
        case("C016").asks(Call, OK).counts(Noise, 3).tells("\\xff\\xfe", 1).tells("\\xc3(", 1),
        case("C017").asks(Call, Text("\u{1f419} \u{2603}")).asks(Ping, PONG),
        case("C019").asks(Call, Text("\u{1f419}\0\u{2028}")).asks(Ping, PONG),
        case("C021").asks(Call, OK).counts(Noise, 3).tells("\\x00\\x00\\x01\\x00\\x01\\x00 icon", 1),
        case("C022").asks(Call, Long('z', 300_000)).asks(Ping, PONG),
        too_large("id first", None),
        too_large(
            "id in the middle",
            Some(
                r#"ON tools/call => {"jsonrpc":"2.0","_meta":"<REPEAT:6291456:q>","id":<ID>,"result":{"content":[{"type":"text","text":"<REPEAT:6291456:q>"}]}}\n"#,
            ),
        ),
        too_large(
            "id last",
            Some(
                r#"ON tools/call => {"result":{"content":[{"type":"text","text":"<REPEAT:12582912:q>"}]},"jsonrpc":"2.0","id":<ID>}\n"#,
            ),
        ),
        case("C025").fails("MCP_TOO_LARGE", &["67108864 bytes without an end of line"]),
        case("C028")
            .asks(Call, OK)
            .counts(Noise, 2)
            .tells("no message: [[[[", 1)
            .tells(r#"no message: {"a":{"a":"#, 1),
        case("C029").asks(Call, Text("real")).asks(Ping, PONG),
        case("C031").asks(Call, Raw(DIGITS)).asks(Ping, PONG),
    ]
}

const DIGITS: &str = r#"{"content":[],"structuredContent":{"a":9007199254740993,"b":-9223372036854775808,"c":18446744073709551615}}"#;

/// K08 and K10.
fn ids() -> Vec<Expectation> {
    let case = Expectation::new;
    let decimal = Tuning { decimal: true, ..Tuning::default() };
    let near = |case: Expectation| {
        case.asks(
            Call,
            Fails(
                TIMEOUT,
                &["`tools/call`, sent", "hint: an answer came with id ", "is not the id that was sent"],
            ),
        )
        .asks(Ping, PONG)
        .counts(NearMisses, 1)
        .counts(Timeouts, 1)
        .tells("which is not the id that was sent", 1)
        .sends("notifications/cancelled", 1)
    };
    let spelt = |variant, id: &str| {
        let trigger =
            format!(r#"ON tools/call => {{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}\n"#);
        near(Expectation { tuning: decimal, trigger: Some(trigger), ..case("C034") }.variant(variant))
    };
    vec![
        near(case("C034")),
        Expectation { tuning: decimal, ..case("C034") }.variant("decimal").asks(Call, OK).asks(Ping, PONG),
        spelt("decimal with a zero", r#""0<ID>""#),
        spelt("decimal with a blank", r#"" <ID>""#),
        spelt("decimal with a fraction", r#""<ID>.0""#),
        near(case("C036")),
        near(Expectation { tuning: decimal, ..case("C036") }.variant("decimal")),
        case("C038")
            .asks(
                Call,
                Fails(TIMEOUT, &["`tools/call`, sent", "hint: an error that names no call", "disk full"]),
            )
            .asks(Ping, PONG)
            .counts(Uncorrelated, 1)
            .counts(Timeouts, 1)
            .tells("disk full", 1)
            .sends("notifications/cancelled", 1),
        case("C039").asks(Call, OK).asks(Ping, PONG).counts(Uncorrelated, 1).tells("bad input", 1),
        case("C040")
            .lists(&[])
            .asks(List, Fine)
            .asks(Call, Refused("MCP_UNKNOWN_TOOL"))
            .asks(Ping, PONG)
            .tells("a request without a valid id", 4)
            .sends("tools/list", 2),
        case("C047")
            .asks(CancelledCall, Fails("MCP_ABORTED", &["`tools/call`, sent"]))
            .asks(Call, OK)
            .counts(Cancelled, 1)
            .counts(Late, 2)
            .sends("notifications/cancelled", 1),
        case("C048").asks(Call, OK).asks(Ping, PONG).counts(Unknown, 3).tells("which was never sent", 3),
    ]
}

/// K09.
fn envelopes() -> Vec<Expectation> {
    let case = Expectation::new;
    vec![
        case("C041")
            .asks(Call, Fails(INVALID, &["neither a result nor an error"]))
            .asks(Ping, PONG)
            .counts(Malformed, 1),
        case("C042").asks(Call, Fails(REMOTE, &["-32000", "nope"])).asks(Ping, PONG).counts(RemoteErrors, 1),
        case("C043")
            .asks(Ping, Raw("null"))
            .asks(Call, Fails(INVALID, &["wrong shape"]))
            .asks(Ping, Raw("null")),
        case("C044")
            .lists(&[])
            .asks(List, Fails(REMOTE, &["-32603", "no error object", "data \"bad_cursor\""]))
            .asks(Ping, PONG)
            .counts(RemoteErrors, 1)
            .tells("listing its tools failed", 1),
        case("C046")
            .asks(Call, Fails(INVALID, &["`jsonrpc` is not \"2.0\""]))
            .asks(Ping, Fails(INVALID, &["`jsonrpc` is not \"2.0\""]))
            .asks(List, Fine)
            .counts(Malformed, 2),
    ]
}

/// K13 to K15.
fn handshake() -> Vec<Expectation> {
    let case = Expectation::new;
    let roots = Tuning { roots: true, ..Tuning::default() };
    let asked = |case: Expectation| case.asks(Call, OK).replies("2", Some(-32601)).replies("3", Some(-32601));
    vec![
        Expectation { version: Some("2024-11-05"), ..case("C058") }.asks(Call, OK),
        case("C059")
            .fails(
                "MCP_VERSION_UNSUPPORTED",
                &["`2099-01-01`", "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25"],
            )
            .sends("notifications/initialized", 0),
        case("C060")
            .fails(
                "MCP_HANDSHAKE_FAILED",
                &["-32602", "version not offered here", r#""requested":"2025-11-25""#],
            )
            .sends("initialize", 1)
            .sends("notifications/initialized", 0),
        Expectation { version: Some("2025-06-18"), ..case("C061") }
            .asks(Call, OK)
            .asks(Request("resources/subscribe"), Refused("MCP_UNSUPPORTED"))
            .asks(Request("completion/complete"), Fails(REMOTE, &["-32601"]))
            .asks(Request("logging/setLevel"), Fails(REMOTE, &["-32601"]))
            .asks(Request("resources/list"), Fails(REMOTE, &["-32601"]))
            .counts(RemoteErrors, 3)
            .tells("is not of the right shape", 4)
            .tells("`tools`", 1)
            .tells("`prompts`", 1)
            .tells("`resources`", 1)
            .tells("`experimental`", 1),
        case("C063").asks(Call, OK).counts(IgnoredNotifications, 2),
        case("C064").asks(Call, OK).replies("\"srv-1\"", None).counts(Pings, 1),
        asked(case("C065")).replies("1", Some(-32601)).counts(RefusedRequests, 3),
        asked(Expectation { tuning: roots, ..case("C065") }.variant("roots declared"))
            .replies("1", None)
            .counts(RefusedRequests, 2),
    ]
}

/// K16 and K17.
fn lists() -> Vec<Expectation> {
    let case = Expectation::new;
    let walk = |id, requests| {
        let told = usize::from(requests > 1);
        // A second page repeats the tool too.
        let set_aside: &[&str] = if requests > 1 { &["a"] } else { &[] };
        Expectation { set_aside, ..case(id) }
            .lists(&["a"])
            .sends("tools/list", requests)
            .tells("its tool list is not complete: page 2 repeats", told)
            .asks(Ping, PONG)
    };
    vec![
        walk("C070", 2),
        walk("C071", 2),
        walk("C073", 1),
        Expectation { set_aside: &["bare"], ..case("C076") }
            .lists(&["good"])
            .asks(Ping, PONG)
            .tells("`bare`", 1),
        case("C078").lists(&["a", "b"]).asks(Ping, PONG),
        Expectation { set_aside: &["dup"], ..case("C081") }
            .lists(&["dup"])
            .asks(List, Fine)
            .asks(Ping, PONG)
            .tells("a tool of this name came before it", 2),
    ]
}

/// K18, K19, K21.
fn results() -> Vec<Expectation> {
    let case = Expectation::new;
    vec![
        case("C082").asks(Call, Raw(FIVE_BLOCKS)).asks(Ping, PONG),
        case("C083").asks(Call, Raw(r#"{"structuredContent":{"n":1}}"#)).asks(Ping, PONG),
        case("C085")
            .asks(Request("resources/list"), Fails(REMOTE, &["-32601", "Method not found"]))
            .asks(Request("prompts/list"), Fails(REMOTE, &["-32601", "Method not found"]))
            .asks(Call, OK)
            .counts(RemoteErrors, 2),
        case("C091").asks(Call, OK).asks(Ping, PONG).counts(IgnoredNotifications, 2),
    ]
}

const FIVE_BLOCKS: &str = r#"{"content":[{"type":"text","text":"a"},{"type":"hologram","data":{"x":1}},{"type":"resource_link","uri":"demo://x","name":"x"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"text","text":"b"}]}"#;
