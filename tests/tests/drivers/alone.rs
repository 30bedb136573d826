//! Hosts that are processes of their own, for what concerns a whole process.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::support::Scratch;

/// Set to a test's name in the process that runs it alone.
const ALONE: &str = "SANS_MCP_TEST_ALONE";

/// The path of a test, from its module and its own name.
macro_rules! path_of {
    ($test:ident) => {
        concat!(module_path!(), "::", stringify!($test))
    };
}
pub(crate) use path_of;

/// Whether this process runs only that test.
fn is_alone(path: &str) -> bool {
    std::env::var_os(ALONE).is_some_and(|running| running == path)
}

fn command(path: &str) -> Command {
    // The first part is the name of the crate, which the test's own name does not have.
    let (_, test) = path.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(ALONE, path);
    command
}

/// Runs the body of the test at this path in a process of its own, and gives what that wrote on its stdout and stderr; `None`
/// in that process itself.
pub(crate) fn alone(path: &str, body: impl FnOnce()) -> Option<String> {
    run(path, &mut command(path), body)
}

/// As [`alone`], and without privileges.
pub(crate) fn unprivileged(path: &str, body: impl FnOnce()) {
    const NOBODY: u32 = 65_534;
    let mut command = command(path);
    // The file itself may lie where nobody may go.
    let folder = Scratch::folder();
    if geteuid().is_root() {
        let executable = format!("{}/tests", folder.path());
        let copied = Command::new("cp").arg(command.get_program()).arg(&executable).status();
        assert!(copied.unwrap().success());
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let arguments: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
        command = Command::new(executable);
        command.args(arguments).env(ALONE, path).env("TMPDIR", folder.path());
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    }
    run(path, &mut command, body);
}

fn run(path: &str, command: &mut Command, body: impl FnOnce()) -> Option<String> {
    if is_alone(path) {
        body();
        return None;
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    assert!(text.contains("1 passed"), "no test is called {path}: {text}");
    Some(text.into_owned())
}

/// A process that runs the body of a test and is not waited for; killed with the value.
pub(crate) struct Hosting {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Hosting {
    /// `None` in the process itself, once its body is done.
    pub(crate) fn start(path: &str, body: impl FnOnce()) -> Option<Hosting> {
        if is_alone(path) {
            body();
            return None;
        }
        let mut process = command(path).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Some(Hosting { process, output })
    }

    /// Waits for a line that the body prints, and gives what follows this word in it.
    pub(crate) fn line(&mut self, word: &str) -> String {
        let lines = self.output.by_ref().lines().map(Result::unwrap);
        let mut found = lines.filter_map(|line| line.split_once(word).map(|(_, rest)| rest.to_owned()));
        found.next().expect("it prints this before it ends")
    }

    /// Ends the process as nothing that it does can prevent.
    pub(crate) fn kill(&mut self) {
        let pid = Pid::from_raw(self.process.id().cast_signed()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
        let _ = self.process.wait();
    }
}

impl Drop for Hosting {
    fn drop(&mut self) {
        self.kill();
    }
}
