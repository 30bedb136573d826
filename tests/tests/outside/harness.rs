//! Runs each proof in a process of its own, and sees what that leaves.

use std::fs;
use std::io::{Read, pipe};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, WaitOptions, getrlimit, kill_process, setrlimit, wait};

use crate::host::Host;
use crate::{drill, idle, interleavings, leaving, life};

/// More than any proof takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// How long a process may outlive a host that did not wait for its end: half a second, and as much on a busy machine.
const SLACK: Duration = Duration::from_secs(1);

/// Descriptors of a proof, so that a leak of a few is a failure.
const DESCRIPTORS: u64 = 128;

pub(crate) struct Proof {
    name: String,
    run: fn(),
}

pub(crate) fn proof(name: impl Into<String>, run: fn()) -> Proof {
    Proof { name: name.into(), run }
}

/// What must hold on every driver.
pub(crate) fn shared<H: Host>(prefix: &str) -> Vec<Proof> {
    let proofs: [(&str, fn()); 8] = [
        ("l10_interleavings", interleavings::run::<H>),
        ("l17_drill", drill::run::<H>),
        ("idle_sessions_wake_nobody", idle::ten_sessions::<H>),
        ("l18_c134_cycles_of_close_leave_nothing", life::cycles_of_close::<H>),
        ("l18_c134_cycles_of_crash_leave_nothing", life::cycles_of_crash::<H>),
        ("l18_drops_leave_nothing", life::drops::<H>),
        ("l18_c130_a_host_that_returns_from_main_leaves_nothing", leaving::return_with_a_live_client::<H>),
        (
            "l18_a_host_that_drops_nothing_leaves_no_server_that_is_in_order",
            leaving::return_without_a_drop::<H>,
        ),
    ];
    proofs.into_iter().map(|(name, run)| proof(format!("{prefix}{name}"), run)).collect()
}

/// Runs the proofs whose name contains an argument of this program, or all. What they print are their figures.
pub(crate) fn main(proofs: &[Proof]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = &arguments[..]
        && flag == ALONE
    {
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(DESCRIPTORS);
        setrlimit(Resource::Nofile, limit).expect("a lower limit");
        let proof = proofs.iter().find(|proof| proof.name == *name).expect("one of ours");
        (proof.run)();
        return ExitCode::SUCCESS;
    }
    if !cfg!(target_os = "linux") {
        println!("left out: only Linux tells these counts in /proc");
        return ExitCode::SUCCESS;
    }
    // Whatever a proof leaves becomes a child of this process.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("Linux 3.4");
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let chosen = |proof: &&Proof| filters.is_empty() || filters.iter().any(|part| proof.name.contains(*part));
    let mut failed = 0;
    for proof in proofs.iter().filter(chosen) {
        let start = Instant::now();
        let outcome = alone(&proof.name);
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("{} ... {word} ({} ms)", proof.name, start.elapsed().as_millis());
        let (Ok(text) | Err(text)) = &outcome;
        text.lines().for_each(|line| println!("    {line}"));
        failed += usize::from(outcome.is_err());
    }
    if failed > 0 {
        println!("{failed} failed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Makes this program run one proof and nothing else.
const ALONE: &str = "--alone";

/// What the proof printed; and, if it failed, why.
fn alone(name: &str) -> Result<String, String> {
    let (mut reader, writer) = pipe().expect("a pipe");
    let mut command = Command::new(std::env::current_exe().expect("a test has a file"));
    command.args([ALONE, name]).stdout(writer.try_clone().expect("a descriptor")).stderr(writer);
    // Has the allocator of glibc give back what is freed, so that what is held can be told from it.
    command.env("MALLOC_TRIM_THRESHOLD_", "131072");
    let mut process = command.spawn().expect("own file");
    drop(command); // it holds the writing end
    let text = thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let status = ended(&mut process);
    let left = left();
    let text = text.join().expect("no panic").expect("readable");
    match status {
        None => Err(format!("{text}it did not end within {LIMIT:?}")),
        Some(status) if !status.success() => Err(format!("{text}{status}")),
        _ if text.contains("panicked") => Err(text),
        _ if !left.is_empty() => Err(format!("{text}left behind: {left:?}")),
        _ => Ok(text),
    }
}

/// How it ended; `None` if it had to be killed.
fn ended(process: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = process.try_wait().expect("own child") {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    process.kill().and_then(|()| process.wait()).expect("own child");
    None
}

/// The processes that are still there after that time; they are killed.
fn left() -> Vec<String> {
    let start = Instant::now();
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let children = crate::holdings::children();
        if children.is_empty() {
            return Vec::new();
        }
        if start.elapsed() > SLACK {
            let names = children.iter().map(|child| {
                let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
                let _ = kill_process(Pid::from_raw(*child).expect("not zero"), Signal::KILL);
                format!("{child} {}", line.replace('\0', " "))
            });
            return names.collect();
        }
        thread::sleep(Duration::from_millis(5));
    }
}
