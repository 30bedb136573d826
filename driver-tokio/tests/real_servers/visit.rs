//! Every real server lists its tools and answers its safe call, through the command line and through the library, and leaves no process.
//!
//! `fixtures/real-servers/run` installs them and sets `SANS_MCP_REAL_SERVERS` to their list; without it there is nothing to do here.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sans_mcp_tokio::{Client, Server};
use serde_json::Value;

/// Slow interpreters on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Real {
    name: String,
    command: String,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    tool: String,
    arguments: Value,
    expected: String,
    is_error: bool,
    optional: bool,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn servers(list: &Path) -> Vec<Real> {
    let list: Value = serde_json::from_str(&std::fs::read_to_string(list).unwrap()).unwrap();
    let servers = list["servers"].as_array().unwrap().iter().map(|server| Real {
        name: text(&server["name"]),
        command: text(&server["command"]),
        args: server["args"].as_array().unwrap().iter().map(text).collect(),
        variables: server["env"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), text(v)))
            .collect(),
        tool: text(&server["call"]["name"]),
        arguments: server["call"]["arguments"].clone(),
        expected: text(&server["expect"]),
        is_error: server["call_is_error"].as_bool().unwrap_or(false),
        optional: !server["optional"].is_null(),
    });
    servers.collect()
}

/// Processes that carry this mark in their environment.
fn alive(mark: &str) -> Vec<u32> {
    let marked = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(marked).collect()
}

async fn through_the_library(real: &Real, mark: &str) -> Result<(), String> {
    let (key, value) = mark.split_once('=').unwrap();
    let mut server = Server::new(&real.name, &real.command).args(&real.args).variable(key, value);
    for (name, value) in &real.variables {
        server = server.variable(name, value);
    }
    let client = Client::connect(server).await.map_err(|error| format!("connect: {error}"))?;
    if client.tools().get(&real.tool).is_none() {
        return Err(format!("the list has no `{}`", real.tool));
    }
    let call = client.call_tool(&real.tool, &real.arguments).timeout(PATIENCE).await;
    let reply = call.map_err(|error| format!("call: {error}"))?;
    let answer = reply.raw().to_owned();
    let end = client.close().await;
    if reply.is_error() != real.is_error || !answer.contains(&real.expected) {
        return Err(format!("answered {answer}"));
    }
    if !end.gone() {
        return Err(format!("{end}"));
    }
    Ok(())
}

fn through_the_command_line(real: &Real, mark: &str) -> Result<(), String> {
    let run = |before: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sans-mcp"));
        command.args(before).args(["--json", "--timeout", "60s", "-e", mark]);
        for (name, value) in &real.variables {
            command.arg("-e").arg(format!("{name}={value}"));
        }
        let output =
            command.arg("--").arg(&real.command).args(&real.args).stdin(Stdio::null()).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, stdout, stderr) = run(&["list"]);
    if status != Some(0) || !stdout.contains(&format!("\"{}\"", real.tool)) {
        return Err(format!("list: status {status:?}, {stderr}"));
    }
    let (status, stdout, stderr) = run(&["call", &real.tool, &real.arguments.to_string()]);
    if status != Some(i32::from(real.is_error)) || !stdout.contains(&real.expected) {
        return Err(format!("call: status {status:?}, {stdout} {stderr}"));
    }
    Ok(())
}

#[tokio::test]
async fn every_real_server_lists_and_answers_and_leaves_nothing() {
    let Some(list) = std::env::var_os("SANS_MCP_REAL_SERVERS") else {
        println!("skipped: no real servers; fixtures/real-servers/run installs them");
        return;
    };
    let (mut passed, mut skipped, mut failed) = (0, 0, Vec::new());
    for real in servers(Path::new(&list)) {
        if real.optional && !Path::new(&real.command).exists() {
            println!("skip {}: not installed", real.name);
            skipped += 1;
            continue;
        }
        let mark = format!("SANS_MCP_REAL_SERVER_MARK={}-{}", real.name, std::process::id());
        let mut outcome = through_the_library(&real, &mark).await.map_err(|why| format!("library: {why}"));
        if outcome.is_ok() {
            outcome = through_the_command_line(&real, &mark).map_err(|why| format!("command line: {why}"));
        }
        let left = alive(&mark);
        if outcome.is_ok() && !left.is_empty() {
            outcome = Err(format!("processes left: {left:?}"));
        }
        match outcome {
            Ok(()) => {
                println!("ok   {}", real.name);
                passed += 1;
            }
            Err(why) => {
                println!("FAIL {}: {why}", real.name);
                failed.push(real.name);
            }
        }
    }
    println!("real servers: {passed} passed, {} failed, {skipped} skipped", failed.len());
    assert!(failed.is_empty(), "{failed:?}");
}
