//! Starts a server.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, PipeReader, PipeWriter},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, Stdio},
};

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use sans_mcp::Descendants;
use sans_mcp::{Server, StartFailure, StderrMode};

#[cfg(target_os = "linux")]
use crate::escaped::{self, Cookie};
use crate::{Child, Pipes, executable, pipes};

/// Starts `server` in a process group of its own, from an executable and an argument vector, never through a shell
/// (row L02), with no environment but the one its configuration names (row L04). On Linux one variable more,
/// `SANS_MCP_COOKIE`, is set over whatever the configuration says, unless that asks for
/// [`Descendants::Group`](sans_mcp::Descendants): by it [`Child`] finds what leaves the group.
///
/// - A command without a slash is looked up in the `PATH` that the server gets, which may differ from the host's;
///   without one nothing is found. A command with a slash, and an entry of `PATH`, that is relative is relative to
///   the server's working directory, as with a program that a shell starts there. The server sees the command as it
///   was written as its own name.
/// - The working directory is the host's unless the configuration has one; a relative one is relative to the host's.
/// - Nothing else of the host is inherited: its other descriptors stay closed, also those of servers that are
///   started at the same time. This needs the host's own descriptors to be close-on-exec, as all of Rust's are.
///
/// Configurations are checked before by `Server::check`; the command guard is part of that, not of this.
///
/// # Errors
///
/// A [`StartFailure`] says what to put right (row L06). Then no process and no descriptor is left.
///
/// ```
/// use sans_mcp::{Server, StartFailure};
/// use sans_mcp_process::spawn;
///
/// let failure = spawn(&Server::new("docs", "no-such-server")).err();
/// assert_eq!(failure, Some(StartFailure::NotFound { searched_path: true }));
///
/// let failure = spawn(&Server::new("docs", "cat").working_directory("/no/such/directory")).err();
/// assert_eq!(failure, Some(StartFailure::BadWorkingDirectory));
///
/// let (child, pipes) = spawn(&Server::new("docs", "cat")).expect("cat is installed");
/// assert!(pipes.stderr.is_some());
/// drop(child); // kills it
/// ```
pub fn spawn(server: &Server) -> Result<(Child, Pipes), StartFailure> {
    let environment = server.environment_values(|name| std::env::var_os(name));
    let directory = server.working_directory.as_deref();
    let path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default();
    let executable = executable::find(&server.command, path, directory)?;

    // There, a descriptor becomes close-on-exec a moment after it is made, and another start would inherit it.
    #[cfg(target_os = "macos")]
    let _spawning = SPAWNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ends = Ends::open(server.stderr).map_err(|error| executable::system(&error))?;
    let mut command = Command::new(&executable);
    command.arg0(&server.command).args(&server.args).env_clear().envs(environment).process_group(0);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    #[cfg(target_os = "linux")]
    let cookie = (server.descendants == Descendants::All).then(Cookie::unique);
    #[cfg(target_os = "linux")]
    if let Some(cookie) = &cookie {
        command.env(escaped::VARIABLE, cookie.value());
    }
    command.stdin(ends.stdin).stdout(ends.stdout).stderr(ends.stderr);
    let started = command.spawn();
    // It holds the server's ends of the pipes: with them open, the end of output would never be seen.
    drop(command);
    let leader = match started {
        Ok(child) => Pid::from_child(&child),
        Err(error) => return Err(executable::explain(&error, &executable, !server.command.contains('/'))),
    };
    let child = Child::watch(leader).map_err(|error| executable::system(&error))?;
    #[cfg(target_os = "linux")]
    let child = match &cookie {
        Some(cookie) => child.also_escaped(cookie),
        None => child,
    };
    Ok((child, ends.host))
}

#[cfg(target_os = "macos")]
static SPAWNING: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Both sides of what the server's standard streams are connected to.
struct Ends {
    stdin: PipeReader,
    stdout: PipeWriter,
    stderr: Stdio,
    host: Pipes,
}

impl Ends {
    fn open(mode: StderrMode) -> io::Result<Ends> {
        let (stdin, to_server) = pipes::input()?;
        let (stdout, from_server) = pipes::output()?;
        let (stderr, diagnostics) = stderr(mode)?;
        let host = Pipes { stdin: to_server, stdout: from_server, stderr: diagnostics };
        Ok(Ends { stdin, stdout, stderr, host })
    }
}

fn stderr(mode: StderrMode) -> io::Result<(Stdio, Option<OwnedFd>)> {
    match mode {
        StderrMode::Inherit => Ok((Stdio::inherit(), None)),
        // Opened here, so that a failure is not taken for one to execute.
        StderrMode::Discard => Ok((File::options().write(true).open("/dev/null")?.into(), None)),
        // Also a mode that core may get: whatever becomes of the output, it is drained.
        _ => {
            let (server, host) = pipes::output()?;
            Ok((server.into(), Some(host)))
        }
    }
}
