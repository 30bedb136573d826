//! What the tests of this suite share.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::fcntl_getpipe_size;
use sans_mcp::{Call, Counters, End, Server, Settings, Timeouts, Tree};
use serde_json::Value;

use super::outcome::Outcome;
use crate::host::{Host, Kind};

/// How long a fact that must come may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// What a busy machine may add to a bound.
pub(crate) const SLACK: Duration = Duration::from_millis(500);

/// How long a process may outlive a client that was dropped: half a second, and what a busy machine may add.
pub(crate) const GONE: Duration = Duration::from_secs(1);

/// Runs a test on every kind of host that the driver has.
pub(crate) fn everywhere(test: impl Fn(Kind)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        test(kind);
    }
}

/// A host that is connected to this server.
pub(crate) fn connected(kind: Kind, server: Server) -> Host {
    let name = server.args.join(" ");
    let mut host = Host::new(kind, server, &[]).unwrap();
    host.connect().unwrap_or_else(|error| panic!("{name}: {error}"));
    host
}

/// Calls a tool and waits for what comes of it.
pub(crate) fn called(host: &mut Host, call: Call) -> Outcome {
    let ticket = host.call(call);
    host.wait(ticket)
}

/// A call of a tool of the fixture server.
pub(crate) fn call(tool: &str, arguments: Value) -> Call {
    Call::new(tool, arguments.to_string())
}

pub(crate) fn echo(value: &str) -> Call {
    call("echo", serde_json::json!({ "value": value }))
}

/// A call that is never answered.
pub(crate) fn never() -> Call {
    Call::without_arguments("never")
}

pub(crate) fn ping(host: &mut Host) -> Outcome {
    let ticket = host.ping();
    host.wait(ticket)
}

/// The fixture server with these switches.
pub(crate) fn fixture(switches: &[&str]) -> Server {
    Server::new("fixture", env!("CARGO_BIN_EXE_fixture")).args(switches.iter().copied())
}

/// The fixture server in one of its modes.
pub(crate) fn mode(name: &str) -> Server {
    fixture(&["--mode", name])
}

/// The same small server in another language, if its interpreter is there.
pub(crate) fn script(interpreter: &str, switches: &[&str]) -> Option<Server> {
    let file = match interpreter {
        "python3" => "fixture.py",
        _ => "fixture.mjs",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/servers").join(file);
    if !is_installed(interpreter) {
        println!("skipped: no {interpreter}");
        return None;
    }
    let server = Server::new(interpreter, interpreter).arg(path.to_str().unwrap());
    Some(server.args(switches.iter().copied()))
}

/// Whether a program is anywhere in `PATH`.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// A server that is this script.
pub(crate) fn shell(script: &str) -> Server {
    Server::new("shell", "/bin/sh").args(["-c", script]).allow_shell()
}

/// A server that shakes hands, lists the tool `t`, and then does what the steps say in shell. `take` reads a line, and
/// `answer` answers it with a result.
pub(crate) fn scripted(steps: &str) -> Server {
    const START: &str = r#"
        take() { read -r line || return 1; id=${line#*\"id\":}; id=${id%%,*}; }
        answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
        take
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"0"}}'
        take
        take
        answer '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
        "#;
    shell(&(START.to_owned() + steps))
}

/// Changes settings of a server.
pub(crate) fn with(mut server: Server, change: impl FnOnce(&mut Settings)) -> Server {
    change(&mut server.settings);
    server
}

/// How long a close with the default steps may take here.
pub(crate) fn close_bound() -> Duration {
    Timeouts::default().close_bound() + SLACK
}

/// Has the host work until a fact holds.
pub(crate) fn until(host: &mut Host, what: &str, mut fact: impl FnMut(&mut Host) -> bool) {
    let start = Instant::now();
    while !fact(host) {
        assert!(start.elapsed() < LIMIT, "{what} did not come");
        host.turn(Duration::from_millis(2));
    }
}

/// Asks the fixture what it has seen until its answer contains `text`.
pub(crate) fn until_stats(host: &mut Host, text: &str) -> String {
    let start = Instant::now();
    loop {
        let stats = called(host, Call::without_arguments("stats")).unwrap().text();
        if stats.contains(text) {
            return stats;
        }
        assert!(start.elapsed() < LIMIT, "never {text}: {stats}");
    }
}

/// Nothing is awaited, queued or timed.
pub(crate) fn assert_idle(host: &Host) {
    let Counters { pending, timers, queued_bytes, reply_bytes, peer_requests, .. } = host.counters();
    let gauges = [pending, timers, queued_bytes, reply_bytes, peer_requests];
    assert_eq!(gauges, [0; 5], "pending, timers, queued, replies, peer requests");
}

/// How much the pipe of a server's output holds, in bytes.
pub(crate) fn pipe_size(process: Option<u32>) -> usize {
    let stdout = format!("/proc/{}/fd/1", process.expect("it runs"));
    let stdout = open(stdout, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    fcntl_getpipe_size(stdout).unwrap()
}

/// Closes and sees from outside that the process is gone.
pub(crate) fn assert_closes(mut host: Host) -> End {
    let pid = host.process_id().expect("it runs");
    let begin = Instant::now();
    let end = host.close();
    assert!(begin.elapsed() < close_bound(), "the close took {:?}", begin.elapsed());
    assert_eq!(end.tree, Tree::Gone, "{end}");
    assert!(!is_alive(pid), "process {pid} is left");
    assert_idle(&host);
    end
}

/// Whether a process of this number exists, zombies included.
pub(crate) fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Marks all processes that a server starts, so that they are found from outside.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn on(server: Server) -> (Server, Mark) {
        let mark = Mark(format!("SANS_MCP_TEST_MARK={}-{}", process::id(), number()));
        (mark.put_on(server), mark)
    }

    /// Marks another server in the same way.
    pub(crate) fn put_on(&self, server: Server) -> Server {
        let (name, value) = self.0.split_once('=').unwrap();
        server.variable(name, value)
    }

    /// The processes that carry it.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let carries = |pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == self.0.as_bytes())
        };
        let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()));
        pids.filter(carries).collect()
    }

    /// Nothing is left.
    pub(crate) fn assert_none(&self) {
        assert_eq!(self.processes(), Vec::<u32>::new(), "processes are left");
    }

    /// Nothing is left at the latest so long after `begin`.
    pub(crate) fn assert_gone(&self, begin: Instant, within: Duration) {
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(begin.elapsed() < within, "processes {left:?} are left");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A file or folder name of this test's own; what is there is removed with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(std::env::temp_dir().join(format!("sans-mcp-tests-{}-{}", process::id(), number())))
    }

    /// A folder that is there.
    pub(crate) fn folder() -> Scratch {
        let scratch = Scratch::new();
        std::fs::create_dir(&scratch.0).unwrap();
        scratch
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn read(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    /// The messages that were recorded, one a line; what is not whole yet is left out.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.read().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Another number each time.
fn number() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}
