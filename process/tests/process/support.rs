//! What the tests share.

use std::{
    fmt::Debug,
    fs,
    io::{self, ErrorKind, Write},
    os::{
        fd::AsFd,
        unix::{fs::PermissionsExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use sans_mcp::{Exit, Server, Tree};
use sans_mcp_process::{Child, read};

/// How long a fact that must come may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Waits for a fact and gives it; fails if it does not come.
pub(crate) fn eventually<T>(what: impl Debug, mut fact: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(fact) = fact() {
            return fact;
        }
        assert!(start.elapsed() < LIMIT, "{what:?} did not come");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn exit_of(child: &mut Child) -> Exit {
    eventually("exit", || child.exit())
}

pub(crate) fn gone(child: &mut Child) {
    eventually("an empty group", || (child.probe() == Tree::Gone).then_some(()));
}

/// Ends a process that a test has left alive.
pub(crate) fn kill(pid: u32) {
    let process = Pid::from_raw(pid.cast_signed()).expect("not zero");
    kill_process(process, Signal::KILL).expect("it runs");
    eventually("its end", || (!is_running(pid)).then_some(()));
}

pub(crate) fn shell(script: &str) -> Server {
    Server::new("shell", "/bin/sh").allow_shell().args(["-c", script])
}

/// All output up to its end.
pub(crate) fn output(fd: impl AsFd) -> String {
    let mut all = Vec::new();
    while let Some(mut piece) = next_piece(&fd) {
        all.append(&mut piece);
    }
    String::from_utf8(all).expect("tests print UTF-8")
}

/// The first line, without its end.
pub(crate) fn line(fd: impl AsFd) -> String {
    let mut all = Vec::new();
    while !all.ends_with(b"\n") {
        all.append(&mut next_piece(&fd).expect("a whole line"));
    }
    String::from_utf8(all).expect("tests print UTF-8").trim_end().to_owned()
}

fn next_piece(fd: impl AsFd) -> Option<Vec<u8>> {
    let mut buffer = [0; 4096];
    let length = eventually("output", || match read(&fd, &mut buffer) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        result => Some(result.expect("readable")),
    });
    (length > 0).then(|| buffer[..length].to_vec())
}

/// The state letter of a process, `None` if there is none of this number.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

pub(crate) fn is_running(pid: u32) -> bool {
    !matches!(state(pid), None | Some('Z' | 'X'))
}

/// How many processes were started by this one and not reaped.
pub(crate) fn own_children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux");
    let children = |task: io::Result<fs::DirEntry>| {
        let list = fs::read_to_string(task.expect("Linux").path().join("children")).unwrap_or_default();
        list.split_ascii_whitespace().count()
    };
    tasks.map(children).sum()
}

pub(crate) fn own_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// The variable by which descendants that left the group are found.
pub(crate) const COOKIE: &str = "SANS_MCP_COOKIE";

/// Set to a test's name in the process that runs it alone.
pub(crate) const ALONE: &str = "SANS_MCP_TEST_ALONE";

/// Runs the body of the test called `test` in a process of its own, for what concerns the whole process.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    let executable = std::env::current_exe().expect("a test has a file");
    in_process(test, &mut Command::new(executable), body);
}

/// As [`alone`], and without privileges.
pub(crate) fn unprivileged(test: &str, body: impl FnOnce()) {
    const NOBODY: u32 = 65_534;
    if std::env::var_os(ALONE).is_some() || !rustix::process::geteuid().is_root() {
        return alone(test, body);
    }
    // The file itself may lie where nobody may go.
    let folder = Folder::new();
    let executable = folder.path().join("tests");
    let copied = Command::new("cp").arg(std::env::current_exe().expect("a file")).arg(&executable).status();
    assert!(copied.expect("cp is installed").success());
    let mut command = Command::new(&executable);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").env("TMPDIR", folder.path());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("own folder");
    in_process(test, &mut command, body);
}

fn in_process(test: &str, command: &mut Command, body: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return body();
    }
    let command = command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(ALONE, test);
    let output = command.output().expect("the test's own file starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    assert!(text.contains("1 passed"), "no test is called {test}: {text}");
}

/// A server that is the test called `test`, in its own process.
pub(crate) fn as_server(test: &str) -> Server {
    let executable = std::env::current_exe().expect("a test has a file");
    let executable = executable.to_str().expect("a path in UTF-8");
    let server = Server::new("test", executable).args([test, "--exact", "--nocapture", "--test-threads=1"]);
    server.variable(ALONE, test)
}

/// A folder that is removed in the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sans-mcp-process-{}-{number}", process::id()));
        fs::create_dir(&folder).expect("a fresh name");
        Folder(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn text(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }

    /// Writes a file. Another process does: a descriptor open for writing here could be open, for a moment, in a
    /// child of a parallel test, and what is open for writing cannot be executed.
    pub(crate) fn file(&self, name: &str, mode: u32, content: &str) -> String {
        let path = self.0.join(name);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "cat > \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut shell = shell.spawn().expect("there is a shell");
        let mut stdin = shell.stdin.take().expect("piped");
        stdin.write_all(content.as_bytes()).expect("it reads");
        drop(stdin);
        assert!(shell.wait().expect("own child").success());
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own file");
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    pub(crate) fn folder(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).expect("a fresh name");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own folder");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("own folder");
    }
}
