//! The demonstration tells the truth and leaves nothing (row S04).

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::{COMMAND, Place, signal, until};
use rustix::process::Signal;

/// The lines of one scene, by what stands at their beginning.
fn lines<'a>(stdout: &'a str, title: &str, who: &str) -> Vec<&'a str> {
    let mut scenes = stdout.split("\n\n");
    let scene = scenes.find(|scene| scene.trim_start().starts_with(title));
    let scene = scene.unwrap_or_else(|| panic!("there is no scene `{title}` in {stdout}"));
    scene.lines().filter_map(|line| line.trim_start().strip_prefix(who)).map(str::trim_start).collect()
}

fn is_installed(interpreter: &str) -> bool {
    let version =
        Command::new(interpreter).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

#[test]
fn s04_the_demonstration_shows_every_situation_and_leaves_nothing() {
    let place = Place::new();
    // A name of its own, by which its processes can be told from those of other tests.
    let executable = Link::new();
    let temporary = place.file("temporary");
    fs::create_dir(&temporary).expect("a directory");
    let began = Instant::now();
    let ran = Command::new(&executable.0).arg("demo").env("TMPDIR", &temporary).output().expect("it runs");
    let elapsed = began.elapsed();
    let stdout = String::from_utf8(ran.stdout).expect("it prints UTF-8");
    let stderr = String::from_utf8(ran.stderr).expect("it prints UTF-8");
    assert_eq!((ran.status.code(), stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(elapsed < Duration::from_secs(25), "it took {elapsed:?}");

    let one = |scene: &str, who: &str, begins: &str| {
        let found = lines(&stdout, scene, who);
        assert!(found.len() == 1 && found[0].starts_with(begins), "{scene}, {who}: {found:?} in {stdout}");
        found[0].to_owned()
    };
    one("A conversation in which", "connect", "fixture-server 0.1.0, protocol 2025-11-25, after ");
    one("A conversation in which", "call echo value=hello", "`hello`");
    assert!(one("A conversation in which", "close", "").ends_with("exit code 0; no process left"));
    let naive = one("An answer in two writes", "parses each chunk", "2 chunks in ");
    assert!(naive.contains("no message; the parser: EOF while parsing"), "{naive}");
    one("An answer in two writes", "sans-mcp", "`one whole answer`, after ");
    let naive = one("Log lines on stdout", "parses each chunk", "");
    assert!(naive.contains("the parser: expected"), "{naive}");
    let ours = one("Log lines on stdout", "sans-mcp", "`still understood`; ");
    assert!(ours.contains("lines were no messages, such as `fixture-server: listening on stdin`"), "{ours}");
    one("An error of the protocol", "no such argument", "error -32602, ");
    one("An error of the protocol", "no such file", "isError, `cannot read /no/such/file");
    one("An error of the protocol", "the next call", "`fine`");
    for (language, interpreter, unread) in [
        ("from Python", "python3", "nothing in 2000 ms, the server is stuck"),
        ("from Node", "node", "answered after "),
    ] {
        let scene = format!("Two megabytes on stderr before the first answer, {language}");
        if is_installed(interpreter) {
            one(&scene, "never reads stderr", unread);
            let ours = one(&scene, "sans-mcp", "started and answered after ");
            assert!(ours.contains("2097152 bytes of stderr read, the last 65536 kept"), "{ours}");
        } else {
            one(&scene, interpreter, "is not installed: left out");
        }
    }
    one("A tool that never answers", "sans-mcp", "MCP_TIMEOUT (sent), ");
    assert!(one("A tool that never answers", "what the server saw", "").contains("\"cancel_hits\":1"));
    one("A tool that never answers", "calls still open", "0");
    let waiting = lines(&stdout, "A server that exits while three calls wait", "sans-mcp");
    assert_eq!(waiting.len(), 3, "{stdout}");
    assert!(
        waiting
            .iter()
            .all(|line| line.starts_with("MCP_PROCESS_EXIT (sent), ") && line.contains("exit code 3"))
    );
    let ours = one("A line that does not end", "sans-mcp", "MCP_TOO_LARGE (sent), ");
    assert!(ours.contains("67108864 bytes without an end of line"), "{ours}");
    assert!(one("A line that does not end", "afterwards", "").ends_with("no process left"));
    let naive = one("A line that does not end", "waits for its end", "held ");
    assert!(naive.contains("no end in sight"), "{naive}");

    assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 0, "no file is left");
    assert_eq!(running(&executable.0), Vec::<String>::new(), "no process is left");
}

#[test]
fn s04_an_interrupted_demonstration_leaves_nothing() {
    let place = Place::new();
    let executable = Link::new();
    let temporary = place.file("temporary");
    fs::create_dir(&temporary).expect("a directory");
    let mut demo = Command::new(&executable.0);
    let mut child =
        demo.arg("demo").env("TMPDIR", &temporary).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut begin = [0; 16];
    child.stdout.as_mut().expect("it is piped").read_exact(&mut begin).expect("it prints");
    until("a server runs", || running(&executable.0).len() > 1);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 0, "no file is left");
    until("no process is left", || running(&executable.0).is_empty());
}

/// Another name of the command, gone when it is dropped.
struct Link(String);

impl Link {
    fn new() -> Link {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let link = format!("{COMMAND}-demo-{}-{number}", std::process::id());
        fs::hard_link(COMMAND, &link).expect("a link beside it");
        Link(link)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Command lines of running processes that name `path`.
fn running(path: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(path))
        .collect()
}
