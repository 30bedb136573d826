//! What is measured.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;

use sans_mcp_tests::loopback::Outcome;
use serde_json::Value;

use crate::{Chart, Curve};

pub(crate) fn calls() -> Outcome<Chart> {
    let mut curves = Vec::new();
    for (name, kind, order) in [
        ("generic, the others wait on", "generic", "newest"),
        ("generic, the oldest is answered", "generic", "oldest"),
        ("tool, the others wait on", "tool", "newest"),
        ("tool, the oldest is answered", "tool", "oldest"),
    ] {
        let mut points = Vec::new();
        for waiting in [1, 100, 1_000, 10_000, 100_000] {
            let run = |times: usize| format!("{kind} {times} 1 {waiting} {order}");
            points.push((waiting, difference(&run(100), &run(1_100))? / 1e3));
        }
        curves.push(Curve { name, points });
    }
    let title = "Instructions per call, by how many other calls wait";
    Ok(Chart { title, along: "calls that wait", in_bytes: false, digits: 0, curves })
}

pub(crate) fn bytes() -> Outcome<Chart> {
    let mut curves = Vec::new();
    for (name, piece, longest) in [
        ("as much as there is room for", 0, 64 << 20),
        ("4 KiB at a time", 4 << 10, 64 << 20),
        ("64 bytes at a time", 64, 1 << 20),
    ] {
        let mut points = Vec::new();
        for bytes in [1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20] {
            if bytes <= longest {
                let run = |times: usize| format!("result {bytes} {piece} {times}");
                points.push((bytes, difference(&run(1), &run(2))? / bytes as f64));
            }
        }
        curves.push(Curve { name, points });
    }
    let title = "Instructions per byte of a result, by its size and how it is read";
    Ok(Chart { title, along: "bytes of the result", in_bytes: true, digits: 2, curves })
}

pub(crate) fn tools() -> Outcome<Chart> {
    let mut points = Vec::new();
    for tools in [1, 10, 100, 1_000, 10_000] {
        let run = |times: usize| format!("catalog {tools} {times}");
        points.push((tools, difference(&run(1), &run(2))? / tools as f64));
    }
    let curves = vec![Curve { name: "connect and list", points }];
    let title = "Instructions per tool, by how many the server has";
    Ok(Chart { title, along: "tools", in_bytes: false, digits: 0, curves })
}

/// What idle sessions hold, and what else they take.
pub(crate) fn sessions() -> Outcome<[Chart; 2]> {
    let (mut memory, mut idle) = (Vec::new(), Vec::new());
    for (client, names) in [
        ("compare-tokio", ["tokio", "tokio: descriptors each", "tokio: wake-ups of all in 10 s"]),
        ("compare-mio", ["mio", "mio: descriptors each", "mio: wake-ups of all in 10 s"]),
    ] {
        let mut points = [vec![], vec![], vec![]];
        for sessions in [1, 10, 100, 1_000] {
            let mut command = Command::new(path(&["examples", client])?);
            command.arg(path(&["bench-server"])?).args(["sessions", &sessions.to_string(), "10"]);
            let report: Value = serde_json::from_str(&text(command.output()?, |output| output.stdout)?)?;
            let fields = [("bytes_each", 1.0 / 1024.0), ("descriptors_each", 1.0), ("wakeups", 1.0)];
            for (points, (field, factor)) in points.iter_mut().zip(fields) {
                let value = report.get(field).and_then(Value::as_f64).ok_or("a field is missing")?;
                points.push((sessions, value * factor));
            }
        }
        let mut curves = names.into_iter().zip(points).map(|(name, points)| Curve { name, points });
        memory.extend(curves.next());
        idle.extend(curves);
    }
    let along = "sessions in a process";
    Ok([
        Chart { title: "KiB that an idle session holds", along, in_bytes: false, digits: 0, curves: memory },
        Chart { title: "What else idle sessions take", along, in_bytes: false, digits: 1, curves: idle },
    ])
}

/// How many instructions the second run of `count` takes more than the first.
fn difference(first: &str, second: &str) -> Outcome<f64> {
    let [first, second] = thread::scope(|scope| {
        let counts = [first, second].map(|arguments| scope.spawn(|| instructions(arguments)));
        counts.map(|count| count.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
    });
    Ok(second? - first?)
}

fn instructions(arguments: &str) -> Result<f64, String> {
    counted(arguments).map_err(|error| error.to_string())
}

fn counted(arguments: &str) -> Outcome<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(path(&["count"])?)
        .args(arguments.split(' '))
        .output()?;
    let report = text(output, |output| output.stderr)?;
    let (_, count) = report.rsplit_once("Collected :").ok_or("valgrind has not counted")?;
    Ok(count.split_whitespace().next().ok_or("no count")?.parse()?)
}

fn text(output: Output, of: impl FnOnce(Output) -> Vec<u8>) -> Outcome<String> {
    if output.status.success() {
        Ok(String::from_utf8(of(output))?)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

/// A program that was built beside this one.
fn path(names: &[&str]) -> Outcome<PathBuf> {
    let examples = env::current_exe()?;
    let folder = examples.parent().and_then(|examples| examples.parent()).ok_or("no folder")?;
    Ok(folder.join(names.iter().collect::<PathBuf>()))
}
