//! Runs a script on both drivers, and compares what they say.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const RUNNERS: [(&str, &str); 2] =
    [("tokio", env!("CARGO_BIN_EXE_script-on-tokio")), ("mio", env!("CARGO_BIN_EXE_script-on-mio"))];

const FIXTURE: &str = env!("CARGO_BIN_EXE_fixture");

/// A fixture server ends by itself before this.
const LIMIT: Duration = Duration::from_secs(90);

/// How a run ended, without what depends on time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) events: Vec<String>,
    pub(crate) stderr: String,
    pub(crate) status: Option<i32>,
}

/// Runs `script` on both drivers against the fixture server with `switches`, finds the same, and gives it.
pub(crate) fn same(options: &[&str], switches: &[&str], script: &str) -> Ran {
    same_for(&[options, &["-", "--", FIXTURE], switches].concat(), script)
}

/// As [`same`], with exactly these words after the name of the runner.
pub(crate) fn same_for(words: &[&str], script: &str) -> Ran {
    let [tokio, mio] = RUNNERS.map(|(_, program)| {
        let mut child = start(program, words);
        let mut stdin = child.stdin.take().expect("it is piped");
        // It may have ended without reading.
        let _ = stdin.write_all(script.as_bytes());
        drop(stdin);
        let stdout = child.stdout.take().expect("it is piped");
        finish(child, BufReader::new(stdout), Vec::new())
    });
    assert_eq!(tokio, mio, "tokio, and then mio");
    tokio
}

/// Has both drivers run `commands`, and then, once `events` came, sends them the signal of that name.
pub(crate) fn same_after_signal(commands: &str, events: usize, signal: &str) -> Ran {
    let [tokio, mio] = RUNNERS.map(|(_, program)| {
        let mut child = start(program, &["-", "--", FIXTURE]);
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(commands.as_bytes()).expect("it reads");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut seen = Vec::new();
        while seen.len() < events {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).expect("UTF-8"), 0, "no more after {seen:?}");
            seen.push(line.trim_end().to_owned());
        }
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
        // Its stdin stays open until it has ended.
        let ran = finish(child, stdout, seen);
        drop(stdin);
        ran
    });
    assert_eq!(tokio, mio, "tokio, and then mio");
    tokio
}

fn start(program: &str, words: &[&str]) -> Child {
    let mut command = Command::new(program);
    if program == RUNNERS[0].1 {
        command.arg("script");
    }
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn finish(mut child: Child, mut stdout: impl Read + Send + 'static, mut seen: Vec<String>) -> Ran {
    let mut stderr = child.stderr.take().expect("it is piped");
    let events = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let said = thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let status = ended(&mut child);
    let text = events.join().expect("no panic").expect("UTF-8");
    seen.extend(text.lines().map(str::to_owned));
    let events = seen.iter().map(|line| without_time(line)).collect();
    Ran { events, stderr: said.join().expect("no panic").expect("UTF-8"), status: status.code() }
}

fn ended(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("it does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The line with 0 for how long something took, and without how many calls took how long. That nothing is left cannot be
/// told where the machine is too busy to look within the time for it; that something is left can.
fn without_time(line: &str) -> String {
    if line.contains(r#""gone":false"#) && !line.contains(r#","left":"#) {
        return without_time(&line.replacen(r#""gone":false"#, r#""gone":true"#, 1));
    }
    if let Some((counts, _)) = line.split_once(r#","latency":{"#) {
        return format!("{counts}}}");
    }
    let mut parts = line.split(r#""ms":"#);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(r#""ms":0"#);
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
    }
    out
}
