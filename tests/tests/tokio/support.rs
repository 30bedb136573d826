//! What the tests of this suite share.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sans_mcp::{Server, Settings, Tree};
use sans_mcp_tokio::Client;

/// Runs a test on both kinds of runtime.
pub(crate) fn on_both<F: Future<Output = ()>>(test: impl Fn() -> F) {
    let current = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    current.block_on(test());
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    multi.block_on(test());
}

/// The fixture server with these switches.
pub(crate) fn fixture(switches: &[&str]) -> Server {
    Server::new("fixture", env!("CARGO_BIN_EXE_fixture")).args(switches.iter().copied())
}

/// The same small server in another language, if its interpreter is there.
pub(crate) fn script(interpreter: &str, switches: &[&str]) -> Option<Server> {
    let file = match interpreter {
        "python3" => "fixture.py",
        _ => "fixture.mjs",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/servers").join(file);
    if find(interpreter).is_none() {
        println!("skipped: no {interpreter}");
        return None;
    }
    let server = Server::new(interpreter, interpreter).arg(path.to_str().unwrap());
    Some(server.args(switches.iter().copied()))
}

/// Where a program is, if it is anywhere.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Changes settings of a server.
pub(crate) fn with(mut server: Server, change: impl FnOnce(&mut Settings)) -> Server {
    change(&mut server.settings);
    server
}

/// Nothing is awaited, queued or timed.
pub(crate) fn assert_idle(client: &Client) {
    let counters = client.counters();
    let gauges = [
        counters.pending,
        counters.queued_bytes,
        counters.reply_bytes,
        counters.timers,
        counters.peer_requests,
    ];
    assert_eq!(gauges, [0; 5], "pending, queued, replies, timers, peer requests");
}

/// Closes and sees from outside that the process is gone.
pub(crate) async fn assert_closes(client: Client) {
    let pid = client.process_id().expect("it runs");
    let end = client.close().await;
    assert_eq!(end.tree, Tree::Gone, "{end}");
    assert!(!is_alive(pid), "process {pid} is left");
    assert_idle(&client);
}

/// Whether a process of this number exists, zombies included.
pub(crate) fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits for a fact, for at most five seconds.
pub(crate) async fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < Duration::from_secs(5), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A file name of this test's own; the file is removed with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Scratch(std::env::temp_dir().join(format!("sans-mcp-{name}-{}-{count}", std::process::id())))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn read(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    /// The messages that were recorded, one a line; what is not whole yet is left out.
    pub(crate) fn messages(&self) -> Vec<serde_json::Value> {
        self.read().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Asks the fixture what it has seen until its answer contains `text`, for at most five seconds.
pub(crate) async fn until_stats(client: &Client, text: &str) -> String {
    let start = Instant::now();
    loop {
        let stats = client.call_tool("stats", serde_json::json!({})).await.unwrap().text().into_owned();
        if stats.contains(text) {
            return stats;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "never {text}: {stats}");
    }
}
