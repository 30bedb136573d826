//! Runs the command against its own fixture server.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

pub(crate) const COMMAND: &str = env!("CARGO_BIN_EXE_sans-mcp");

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `line`, a command with its options, split at spaces. Its server is the fixture server with `switches`.
pub(crate) fn run(line: &str, switches: &str) -> Ran {
    run_words(&split(line), switches, "")
}

/// As [`run`], for words with spaces in them and with something to read on stdin.
pub(crate) fn run_words(words: &[&str], switches: &str, stdin: &str) -> Ran {
    finish(start(words, switches), stdin)
}

/// Runs exactly these words.
pub(crate) fn run_alone(line: &str) -> Ran {
    finish(spawn(&split(line)), "")
}

pub(crate) fn start(words: &[&str], switches: &str) -> Child {
    let server = [&["--", COMMAND, "fixture-server"], &split(switches)[..]].concat();
    spawn(&[words, &server].concat())
}

/// Starts the command with exactly these words.
pub(crate) fn spawn(words: &[&str]) -> Child {
    spawn_on(words, Stdio::piped(), Stdio::piped())
}

/// As [`spawn`], with other ends of stdin and stdout.
pub(crate) fn spawn_on(words: &[&str], stdin: Stdio, stdout: Stdio) -> Child {
    let mut command = Command::new(COMMAND);
    command.env("OF_THE_CALLER", "its value");
    command.args(words).stdin(stdin).stdout(stdout).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

pub(crate) fn finish(mut child: Child, stdin: &str) -> Ran {
    // The command may end without having read it.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(stdin.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn split(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).collect()
}

/// A directory of one test, gone when it is dropped.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sans-mcp-cli-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).expect("a directory");
        Place(directory)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.file(name);
        fs::write(&path, text).expect("it can be written");
        path
    }

    /// What a file says, or nothing if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// The processes that the fixture server wrote down.
    pub(crate) fn pids(&self, name: &str) -> Vec<i32> {
        self.read(name).lines().filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits for something to become true, for 20 seconds at most.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().expect("a process number")).expect("a process number");
    kill_process(pid, signal).expect("it is still there");
}
