//! `demo`: what happens in situations that break clients, with this one and with a naive one beside it (row S04).
//!
//! Everything that is printed was just measured. The servers are the fixture server that comes with the command, and
//! the same small server in Python and in Node.

mod files;
mod memory;
mod naive;
mod scene;

use std::io;
use std::time::{Duration, Instant};

use sans_mcp::{End, Server};
use serde_json::json;
use tokio::sync::oneshot;

use super::FIXTURE_SERVER;
use super::console::Console;
use super::interrupt::Interrupt;
use super::status::Status;
use crate::{Client, ConnectError};
use files::Files;
use scene::{Scene, answer, mebibytes, millis};

const INTRODUCTION: &str = "A conversation with a tool server, and what happens in situations that break clients: measured just now, with a naive\nclient beside this one.\n";
/// How long a naive reader gets for what this client does in a few milliseconds.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a parent that never reads stderr gets, and a reader that waits for the end of a line.
const BOUND: Duration = Duration::from_secs(2);
/// What the servers write on stderr, in bytes: 32 pipes full.
const STDERR: u64 = 2 << 20;
/// What a naive reader may hold of one line, in bytes, so that the demonstration harms nobody.
const HELD: usize = 256 << 20;

pub(super) async fn demo(console: &Console, interrupt: &mut Interrupt) -> Status {
    let stage = match Stage::new(console) {
        Ok(stage) => stage,
        Err(error) => {
            console.note(&format!("cannot prepare the demonstration: {error}"));
            return Status::Connect;
        }
    };
    tokio::select! {
        played = stage.play() => played.map_or_else(|status| status, |()| Status::Fine),
        signal = interrupt.next() => signal,
    }
}

/// Where scenes are played.
struct Stage<'a> {
    console: &'a Console,
    executable: String,
    files: Files,
}

impl<'a> Stage<'a> {
    fn new(console: &'a Console) -> io::Result<Stage<'a>> {
        let executable = std::env::current_exe()?.to_string_lossy().into_owned();
        Ok(Stage { console, executable, files: Files::write()? })
    }

    async fn play(&self) -> Result<(), Status> {
        self.console.result(INTRODUCTION.to_owned()).await?;
        self.show(self.conversation().await?).await?;
        self.show(self.split_answer().await?).await?;
        self.show(self.log_lines().await?).await?;
        self.show(self.two_kinds_of_error().await?).await?;
        self.show(self.unread_stderr("Python", "python3", "fixture.py").await?).await?;
        self.show(self.unread_stderr("Node", "node", "fixture.mjs").await?).await?;
        self.show(self.timeout().await?).await?;
        self.show(self.exit().await?).await?;
        self.show(self.endless_line().await?).await
    }

    async fn show(&self, scene: Scene) -> Result<(), Status> {
        self.console.result(scene.into_text()).await
    }

    async fn conversation(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("A conversation in which nothing goes wrong");
        let began = Instant::now();
        let client = self.connect(&[]).await?;
        let (info, version) = (client.server_info(), client.version());
        let server = info.map(|info| format!("{} {}", info.name, info.version)).unwrap_or_default();
        let version = version.map(|version| version.as_str()).unwrap_or_default();
        scene.line("connect", format!("{server}, protocol {version}, after {}", millis(began.elapsed())));
        let names: Vec<String> = client.tools().tools().map(|tool| tool.name().to_owned()).collect();
        scene.line("list tools", names.join(", "));
        let outcome = client.call_tool("echo", json!({ "value": "hello" })).await;
        scene.line("call echo value=hello", answer(&outcome));
        scene.line("close", &*client.close().await);
        Ok(scene)
    }

    async fn split_answer(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("An answer in two writes, 40 ms apart");
        let switches = ["--split-pause", "40"];
        self.read_by_chunks(&mut scene, &switches).await;
        let client = self.connect(&switches).await?;
        let began = Instant::now();
        let outcome = client.call_tool("echo", json!({ "value": "one whole answer" })).await;
        scene.ours(format!("{}, after {}", answer(&outcome), millis(began.elapsed())));
        leave(&mut scene, &client).await;
        Ok(scene)
    }

    async fn log_lines(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("Log lines on stdout, where only messages belong");
        let switches = ["--noisy"];
        self.read_by_chunks(&mut scene, &switches).await;
        let client = self.connect(&switches).await?;
        let outcome = client.call_tool("echo", json!({ "value": "still understood" })).await;
        let sample = client.noise_samples().first().map(|line| format!(", such as `{line}`"));
        let (count, sample) = (client.counters().noise_lines, sample.unwrap_or_default());
        scene.ours(format!("{}; {count} lines were no messages{sample}", answer(&outcome)));
        leave(&mut scene, &client).await;
        Ok(scene)
    }

    async fn two_kinds_of_error(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("An error of the protocol, and an error of a tool");
        let mut server = self.fixture(&[]);
        // So that the server is the one who refuses.
        server.settings.check_arguments = false;
        let client = self.start(server).await?;
        let wrong = client.call_tool("wordcount", json!({ "file": "a.txt" })).await;
        scene.line("no such argument", format!("{}: a mistake of the caller, for its log", answer(&wrong)));
        let failed = client.call_tool("wordcount", json!({ "path": "/no/such/file" })).await;
        scene.line("no such file", format!("{}: for the model to read", answer(&failed)));
        let next = client.call_tool("echo", json!({ "value": "fine" })).await;
        scene.line("the next call", answer(&next));
        leave(&mut scene, &client).await;
        Ok(scene)
    }

    async fn unread_stderr(&self, language: &str, interpreter: &str, file: &str) -> Result<Scene, Status> {
        let title = format!("Two megabytes on stderr before the first answer, from {language}");
        let mut scene = Scene::new(&title);
        let arguments = [self.files.path(file), "--stderr-bytes".to_owned(), STDERR.to_string()];
        let command: Vec<String> = [interpreter.to_owned()].into_iter().chain(arguments.clone()).collect();
        match blocking(move || naive::unread_stderr(&command, BOUND)).await {
            Ok(seen) => scene.line("never reads stderr", scene::unread(&seen, BOUND)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                scene.line(interpreter, "is not installed: left out");
                return Ok(scene);
            }
            Err(error) => scene.line("never reads stderr", format!("failed: {error}")),
        }
        let began = Instant::now();
        let client = self.start(Server::new(interpreter, interpreter).args(arguments)).await?;
        let elapsed = began.elapsed();
        while client.counters().stderr_bytes < STDERR && began.elapsed() < BOUND {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let memory = client.process_id().and_then(memory::of_process);
        let memory = memory.map(|bytes| format!("; memory of the server {}", mebibytes(bytes)));
        let read = client.counters().stderr_bytes;
        let end = leave(&mut scene, &client).await;
        scene.ours(format!(
            "started and answered after {}{}; {read} bytes of stderr read, the last {} kept",
            millis(elapsed),
            memory.unwrap_or_default(),
            end.stderr.as_str().len(),
        ));
        Ok(scene)
    }

    async fn timeout(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("A tool that never answers, and 200 ms to wait for it");
        let client = self.connect(&[]).await?;
        let began = Instant::now();
        let outcome = client.call_tool("never", json!({})).timeout(Duration::from_millis(200)).await;
        scene.ours(format!("{}, after {}", answer(&outcome), millis(began.elapsed())));
        scene.line("what the server saw", answer(&client.call_tool("stats", json!({})).await));
        scene.line("calls still open", client.counters().pending);
        leave(&mut scene, &client).await;
        Ok(scene)
    }

    async fn exit(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("A server that exits while three calls wait");
        let client = self.connect(&[]).await?;
        let waiting = [(); 3].map(|()| client.call_tool("never", json!({})).start());
        let began = Instant::now();
        let last = client.call_tool("exit", json!({ "code": 3 })).await;
        let elapsed = began.elapsed();
        for call in waiting {
            scene.ours(answer(&call.await));
        }
        scene.line("the call that ended it", format!("{}, after {}", answer(&last), millis(elapsed)));
        leave(&mut scene, &client).await;
        Ok(scene)
    }

    async fn endless_line(&self) -> Result<Scene, Status> {
        let mut scene = Scene::new("A line that does not end");
        let switches = ["--mode", "flood-nonl"];
        let client = self.connect(&switches).await?;
        // Before the naive reader, whose memory is this process's too.
        let (before, began) = (memory::own_peak(), Instant::now());
        let outcome = client.call_tool("echo", json!({ "value": "x" })).await;
        let elapsed = began.elapsed();
        let grown = before.zip(memory::own_peak()).map(|(before, after)| after.saturating_sub(before));
        let grown = grown.map(|bytes| format!(", with {} more memory", mebibytes(bytes)));
        let end = client.close().await;
        scene.ours(format!("{}, after {}{}", answer(&outcome), millis(elapsed), grown.unwrap_or_default()));
        scene.line("afterwards", &*end);
        let command = self.command(&switches);
        let began = Instant::now();
        match blocking(move || naive::line(&command, HELD, BOUND)).await {
            Ok(seen) => scene.line("waits for its end", scene::line(&seen, began.elapsed())),
            Err(error) => scene.line("waits for its end", format!("failed: {error}")),
        }
        Ok(scene)
    }

    async fn read_by_chunks(&self, scene: &mut Scene, switches: &[&str]) {
        let command = self.command(switches);
        match blocking(move || naive::chunks(&command, PATIENCE)).await {
            Ok(seen) => scene.line("parses each chunk", scene::chunks(seen, PATIENCE)),
            Err(error) => scene.line("parses each chunk", format!("failed: {error}")),
        }
    }

    fn command(&self, switches: &[&str]) -> Vec<String> {
        let own = [self.executable.as_str(), FIXTURE_SERVER];
        own.iter().chain(switches).map(|word| (*word).to_owned()).collect()
    }

    fn fixture(&self, switches: &[&str]) -> Server {
        Server::new("fixture", &self.executable).arg(FIXTURE_SERVER).args(switches.iter().copied())
    }

    async fn connect(&self, switches: &[&str]) -> Result<Client, Status> {
        self.start(self.fixture(switches)).await
    }

    async fn start(&self, server: Server) -> Result<Client, Status> {
        Client::connect(server).await.map_err(|error: ConnectError| {
            self.console.note(&error.report());
            Status::Connect
        })
    }
}

/// Closes, and says so only if something is left.
async fn leave(scene: &mut Scene, client: &Client) -> std::sync::Arc<End> {
    let end = client.close().await;
    if !end.gone() {
        scene.line("left behind", &*end);
    }
    end
}

/// Runs what blocks on a thread of its own. An interrupted demonstration does not wait for it: its server ends with its
/// pipes.
async fn blocking<R: Send + 'static>(work: impl FnOnce() -> io::Result<R> + Send + 'static) -> io::Result<R> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
}
