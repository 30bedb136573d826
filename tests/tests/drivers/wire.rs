//! What goes over real pipes, whole and in order (rows S02, S03, W01, W04, W05, W07; L19).

use std::time::Duration;

use sans_mcp::{Call, Code, Delivery};
use serde_json::{Value, json};

use super::support::{
    Scratch, assert_closes, assert_idle, call, called, connected, echo, everywhere, fixture, script,
    scripted, shell, until,
};

const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

#[test]
fn w01_an_answer_split_in_the_middle_of_a_character() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&["--split-pause", "20"]));
        assert_eq!(called(&mut host, echo("漢字 €😀")).unwrap().text(), "漢字 €😀");
        assert_closes(host);
    });
}

/// A read that was short has not emptied the pipe then.
#[test]
fn w01_lines_that_come_in_packets_of_their_own_are_all_read() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&["--packets", "--noisy"]));
        for number in 0..50 {
            assert_eq!(called(&mut host, echo(&number.to_string())).unwrap().text(), number.to_string());
        }
        assert_closes(host);
    });
}

#[test]
fn w05_log_lines_on_stdout_are_sampled_and_passed_over() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&["--noisy"]));
        assert_eq!(called(&mut host, echo("fine")).unwrap().text(), "fine");
        assert!(host.counters().noise_lines >= 3, "{:?}", host.counters());
        assert!(host.noise_samples()[0].contains("listening"), "{:?}", host.noise_samples());
        assert_closes(host);
    });
}

#[test]
fn s03_the_other_languages_get_through_with_splits_and_noise() {
    for interpreter in ["python3", "node"] {
        let Some(server) = script(interpreter, &["--noisy", "--split-pause", "20"]) else { continue };
        everywhere(|kind| {
            let mut host = connected(kind, server.clone());
            assert_eq!(called(&mut host, echo("é漢")).unwrap().text(), "é漢");
            assert_closes(host);
        });
    }
}

#[test]
fn s02_half_a_line_and_an_exit_is_an_exit() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&["--half-line-exit", "4"]));
        let error = called(&mut host, echo("x")).unwrap_err();
        assert_eq!((error.code(), error.delivery()), (Code::PROCESS_EXIT, Delivery::Sent));
        assert!(host.closed().gone());
    });
}

#[test]
fn w07_c032_numbers_of_the_caller_keep_their_digits() {
    everywhere(|kind| {
        let record = Scratch::new();
        let mut host = connected(kind, fixture(&["--record", record.path()]));
        let numbers = r#"{"n":9007199254740993,"m":9223372036854775807,"u":18446744073709551615,"f":1.0}"#;
        let answer = called(&mut host, Call::new("echo", format!(r#"{{"value":{numbers}}}"#))).unwrap();
        assert!(record.read().contains(numbers), "{}", record.read());
        for number in ["9007199254740993", "9223372036854775807", "18446744073709551615"] {
            assert!(answer.text().contains(number), "{}", answer.text());
        }
        assert_closes(host);
    });
}

#[test]
fn w04_crlf_blank_lines_and_a_byte_order_mark_are_accepted() {
    everywhere(|kind| {
        let mut server = scripted(&format!("take; answer '{OK}'; take"));
        let crlf = server.args[1].replace(r#""result":%s}\n'"#, r#""result":%s}\r\n\r\n\n'"#);
        assert_ne!(crlf, server.args[1]);
        server.args[1] = format!(r"printf '\357\273\277'; {crlf}");
        let mut host = connected(kind, server);
        assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
        assert_eq!(host.counters().noise_lines, 0, "{:?}", host.noise_samples());
        assert_closes(host);
    });
}

#[test]
fn w07_odd_text_loses_no_call_and_numbers_of_the_server_keep_their_digits() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    for odd in [
        r#""n":[123456789012345678901234567890,1e400,-0.0,1.000000000000000000001]"#,
        r#""text":"\ud800 \u0000 \udc00\ud800""#,
        r#""same":1,"same":2"#,
        &format!(r#""deep":{deep}"#),
    ] {
        everywhere(|kind| {
            let result = format!(r#"{{"content":[],{odd}}}"#);
            let steps = format!("take; answer '{result}'; take; answer '{OK}'; take");
            let mut host = connected(kind, scripted(&steps));
            assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().raw(), result);
            assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
            assert_closes(host);
        });
    }
}

#[test]
fn w08_a_batch_is_unpacked_where_the_revision_has_them_and_reported_elsewhere() {
    // Both answers in one line, once both calls are there.
    let steps = format!(
        r#"take; first=$id; take
        printf '[{{"jsonrpc":"2.0","id":%s,"result":{OK}}},{{"jsonrpc":"2.0","id":%s,"result":{OK}}}]\n' $first $id
        take; answer '{OK}'; take"#
    );
    everywhere(|kind| {
        for (version, unpacked) in [("2025-03-26", true), ("2025-06-18", false)] {
            let mut server = scripted(&steps);
            server.args[1] = server.args[1].replace("2025-06-18", version);
            let mut host = connected(kind, server);
            let calls = [(); 2].map(|()| host.call(Call::without_arguments("t").timeout(None)));
            if unpacked {
                calls.into_iter().for_each(|call| assert_eq!(host.wait(call).unwrap().text(), "ok"));
            } else {
                until(&mut host, "the batch", |host| host.counters().batches == 1);
                assert_eq!(host.counters().pending, 2);
            }
            assert_eq!(called(&mut host, Call::without_arguments("t")).unwrap().text(), "ok");
            assert_eq!(host.counters().batches, u64::from(!unpacked));
            assert_closes(host);
        }
    });
}

/// The server writes a notification of 1 MiB for each request, and reads nothing meanwhile.
#[test]
fn c112_reading_never_waits_for_writing() {
    everywhere(|kind| {
        let mut host = connected(kind, fixture(&[]));
        let data = "d".repeat(1 << 20);
        let arguments =
            json!({ "method": "notifications/message", "params": { "level": "info", "data": data } });
        let notify = || call("notify", arguments.clone()).timeout(Some(Duration::from_secs(20)));
        let calls: Vec<_> = (0..8).map(|_| host.call(notify())).collect();
        for ticket in calls {
            assert_eq!(host.wait(ticket).unwrap().text(), "1 sent");
        }
        assert_idle(&host);
        assert_closes(host);
    });
}

/// The server sends two hundred pings, and reads what comes in small pieces of two sizes that fit no line.
#[test]
fn w04_c113_every_line_that_the_server_reads_is_one_whole_message() {
    const PINGS: usize = 200;
    const CALLS: usize = 64;
    everywhere(|kind| {
        let record = Scratch::new();
        // Its answers and the pings are short enough to be written whole.
        let pings = format!(
            r#"(i=0; while [ $i -lt {PINGS} ]; do i=$((i+1)); printf '{{"jsonrpc":"2.0","id":"p%s","method":"ping"}}\n' $i; sleep 0.002; done) &"#
        );
        let slow = "dd bs=1013 2>/dev/null | dd bs=61 2>/dev/null";
        let fixture = env!("CARGO_BIN_EXE_fixture");
        let script = format!("{slow} | {{ {pings} exec {fixture} --record {}; }}", record.path());
        let mut host = connected(kind, shell(&script));
        let padding = "ü".repeat(100 << 10);
        let calls: Vec<_> =
            (0..CALLS).map(|_| host.call(call("stats", json!({ "padding": padding })))).collect();
        for ticket in calls {
            assert!(host.wait(ticket).unwrap().text().contains("\"pending\":"));
        }
        until(&mut host, "all pings", |host| host.counters().pings == PINGS as u64);
        let count =
            |is: &dyn Fn(&Value) -> bool| record.messages().iter().filter(|message| is(message)).count();
        until(&mut host, "all replies", |_| count(&|message| message.get("result").is_some()) == PINGS);
        assert_eq!(count(&|message| message["method"] == "tools/call"), CALLS);
        assert_eq!(record.read().lines().count(), record.messages().len(), "each line is one message");
        let whole = |message: &Value| message["params"]["arguments"]["padding"] == *padding;
        assert_eq!(count(&whole), CALLS);
        assert_idle(&host);
        assert_closes(host);
    });
}
