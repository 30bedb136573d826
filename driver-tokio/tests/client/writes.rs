//! How often the client writes, seen from its pipes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use sans_mcp_tokio::sans_mcp::{self, Exit, Moved, Signal, Signalled, StartFailure, Tree};
use sans_mcp_tokio::{Client, Code, Pipes, Server};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::support::current_thread;

/// A server in memory that answers what is written to it at once.
#[derive(Debug, Default)]
struct Prompt {
    writes: Arc<AtomicUsize>,
    half: Vec<u8>,
    output: VecDeque<u8>,
    killed: bool,
}

impl Prompt {
    fn answer(&mut self, line: &str) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(id) = line.get("id") else { return };
        let result = match line["method"].as_str() {
            Some("initialize") => {
                r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}"#
            }
            Some("vendor/slow") => return,
            _ => "{}",
        };
        self.output.extend(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes());
    }
}

impl sans_mcp::Pipes for Prompt {
    fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
        Ok(1)
    }
    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        let count = space.len().min(self.output.len());
        if count == 0 {
            return Moved::Blocked;
        }
        space.iter_mut().zip(self.output.drain(..count)).for_each(|(to, byte)| *to = byte);
        Moved::Bytes(count)
    }
    fn read_stderr(&mut self, _: &mut [u8]) -> Moved {
        Moved::Blocked
    }
    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.half.extend(bytes);
        while let Some(end) = self.half.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.half.drain(..=end).collect();
            self.answer(std::str::from_utf8(&line).unwrap());
        }
        Moved::Bytes(bytes.len())
    }
    fn take_writable(&mut self) -> bool {
        false
    }
    fn close_stdin(&mut self) {}
    fn signal(&mut self, _: Signal) -> Signalled {
        self.killed = true;
        Signalled::Delivered
    }
    fn exit(&mut self) -> Option<Exit> {
        self.killed.then_some(Exit::Signal(9))
    }
    fn reap(&mut self) -> Exit {
        Exit::Signal(9)
    }
    fn probe(&mut self) -> Tree {
        Tree::Gone
    }
}

impl Pipes for Prompt {
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

async fn connected() -> (Client, Arc<AtomicUsize>) {
    let server = Prompt::default();
    let writes = server.writes.clone();
    (Client::builder(Server::new("prompt", "prompt")).over(server).connect().await.unwrap(), writes)
}

/// One write for each round of callers. The patience with them ends where the machine is slow, so time stands still where it
/// can. With more threads than one it is up to the system who runs when.
#[test]
fn callers_that_were_answered_together_are_written_together() {
    const CALLERS: usize = 64;
    const ROUNDS: usize = 50;
    let round_after_round = async || {
        let (client, writes) = connected().await;
        let before = writes.load(Ordering::Relaxed);
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let client = client.clone();
            callers.spawn(async move {
                for _ in 0..ROUNDS {
                    client.ping().await.unwrap();
                }
            });
        }
        callers.join_all().await;
        writes.load(Ordering::Relaxed) - before
    };
    let one_worker = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let timeless = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    for (runtime, most) in [(timeless, ROUNDS + 2), (one_worker, 8 * ROUNDS)] {
        let writes = runtime.block_on(async { runtime.spawn(round_after_round()).await.unwrap() });
        assert!((ROUNDS..=most).contains(&writes), "{writes} writes");
    }
}

/// A caller who is alone waits for nobody, however many other tasks can run.
#[test]
fn a_lone_call_is_written_at_once() {
    const CALLS: usize = 100;
    let caller = async {
        let (client, writes) = connected().await;
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = turns.clone();
        let busy = tokio::spawn(poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let before = writes.load(Ordering::Relaxed);
        for _ in 0..CALLS {
            client.ping().await.unwrap();
        }
        busy.abort();
        assert_eq!(writes.load(Ordering::Relaxed) - before, CALLS);
        let turns = turns.load(Ordering::Relaxed);
        assert!(turns <= 4 * CALLS, "another task had {turns} turns meanwhile");
    };
    current_thread().block_on(async { tokio::spawn(caller).await.unwrap() });
}

/// L11: callers that were answered together and say nothing more do not keep the I/O task waiting for them.
#[test]
fn l11_a_deadline_is_on_time_after_a_crowd_was_answered() {
    const CROWD: usize = 1_000;
    let caller = async {
        let (client, _) = connected().await;
        let mut crowd = JoinSet::new();
        for _ in 0..CROWD {
            let client = client.clone();
            crowd.spawn(async move { client.ping().await.map(drop) });
        }
        while let Some(pinged) = crowd.join_next().await {
            pinged.unwrap().unwrap();
        }
        let (to_one, one) = mpsc::channel(1);
        let (to_other, other) = mpsc::channel(1);
        to_one.send(()).await.unwrap();
        let busy = [(one, to_other), (other, to_one)].map(|(mut mine, others)| {
            let client = client.clone();
            tokio::spawn(async move {
                while mine.recv().await.is_some() {
                    client.notify("notifications/vendor", serde_json::json!({})).unwrap();
                    let until = Instant::now() + Duration::from_millis(1);
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    others.send(()).await.unwrap();
                }
            })
        });
        let began = Instant::now();
        let slow =
            client.request("vendor/slow", serde_json::json!({})).timeout(Duration::from_millis(100)).await;
        busy.iter().for_each(JoinHandle::abort);
        assert_eq!(slow.unwrap_err().code(), Code::TIMEOUT);
        began.elapsed()
    };
    let took = current_thread().block_on(async { tokio::spawn(caller).await.unwrap() });
    assert!(took < Duration::from_millis(600), "{took:?}");
}
