//! The client of tokio, as far as it shows what it does: all that happens at its pipes, and when each of its futures ends
//! with what.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use sans_mcp::{Exit, Failure, Moved, Server, Signal, Signalled, StartFailure, Time, Tree};
use sans_mcp_tests::Token;
use sans_mcp_tests::trace::{failed, short};
use sans_mcp_tokio::{CallError, Client, ConnectError, Pipes, State};
use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use crate::host::{call, timed};
use crate::recorded::{Log, Recorded};
use crate::script::{self, Command};

/// More moments than any history has.
const ROUNDS: usize = 100_000;

/// So often must the other tasks have their turn in vain before they are believed to be asleep.
const TURNS: usize = 8;

thread_local! {
    /// The link cannot leave its thread, and the client wants pipes that can. A runtime whose time is paused has one
    /// thread, so this is what the client is given them by.
    static PIPES: RefCell<Option<Recorded>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct OnThisThread;

impl OnThisThread {
    fn with<R>(&self, act: impl FnOnce(&mut Recorded) -> R) -> R {
        PIPES.with_borrow_mut(|pipes| act(pipes.as_mut().unwrap()))
    }
}

impl sans_mcp::Pipes for OnThisThread {
    fn spawn(&mut self, server: &Server) -> Result<u32, StartFailure> {
        self.with(|pipes| pipes.spawn(server))
    }
    fn read_stdout(&mut self, space: &mut [u8]) -> Moved {
        self.with(|pipes| pipes.read_stdout(space))
    }
    fn read_stderr(&mut self, space: &mut [u8]) -> Moved {
        self.with(|pipes| pipes.read_stderr(space))
    }
    fn write_stdin(&mut self, bytes: &[u8]) -> Moved {
        self.with(|pipes| pipes.write_stdin(bytes))
    }
    fn take_writable(&mut self) -> bool {
        self.with(Recorded::take_writable)
    }
    fn close_stdin(&mut self) {
        self.with(Recorded::close_stdin);
    }
    fn signal(&mut self, signal: Signal) -> Signalled {
        self.with(|pipes| pipes.signal(signal))
    }
    fn exit(&mut self) -> Option<Exit> {
        self.with(Recorded::exit)
    }
    fn reap(&mut self) -> Exit {
        self.with(Recorded::reap)
    }
    fn probe(&mut self) -> Tree {
        self.with(Recorded::probe)
    }
    fn release(&mut self) {
        self.with(Recorded::release);
    }
}

impl Pipes for OnThisThread {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.with(|pipes| pipes.poll_ready(cx))
    }
}

/// What a future of the client came to: a refusal, or an outcome as it stands in a trace.
enum Ended {
    Refused(String),
    So(String),
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Ended {
        match error {
            CallError::Refused { refusal, .. } => Ended::Refused(refusal.to_string()),
            CallError::Failed(failure) => Ended::from(failure),
            other => Ended::So(other.to_string()),
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        Ended::So(failed(&failure))
    }
}

fn answered(result: &str) -> Ended {
    Ended::So(format!("answer {}", short(result)))
}

type Open = Pin<Box<dyn Future<Output = Ended>>>;

fn begin(client: &Client, token: Token, command: Command) -> Open {
    let client = client.clone();
    match command {
        Command::Connect => Box::pin(async move {
            match client.start().await {
                Ok(()) => Ended::So("connected".to_owned()),
                Err(ConnectError::Refused { refusal, .. }) => Ended::Refused(refusal.to_string()),
                Err(ConnectError::Failed { failure, .. }) => Ended::from(failure),
                Err(other) => Ended::So(other.to_string()),
            }
        }),
        Command::Call { tool, timeout, progress, size } => Box::pin(async move {
            let ended = client.call(call(token, tool, timeout, progress, size)).await;
            ended.map_or_else(Ended::from, |reply| answered(reply.raw()))
        }),
        Command::Request => Box::pin(async move {
            let ended = client.request("resources/list", ()).await;
            ended.map_or_else(Ended::from, |result| answered(&result))
        }),
        Command::Ping => Box::pin(async move {
            // It tells how long the answer took, and not what it was.
            client.ping().await.map_or_else(Ended::from, |_| answered("{}"))
        }),
        Command::List => Box::pin(async move {
            client.list_tools().await.map_or_else(Ended::from, |_| Ended::So("listed".to_owned()))
        }),
        Command::Shutdown(grace) => {
            Box::pin(async move { Ended::So(client.shutdown(grace).await.to_string()) })
        }
        Command::Notify | Command::Cancel(_) | Command::Close => {
            Box::pin(async move { Ended::So(client.close().await.to_string()) })
        }
    }
}

/// What a client shows.
#[derive(Default)]
pub(crate) struct Shown {
    /// What happened at the pipes, and every refusal.
    pub(crate) steps: Vec<String>,
    /// How each operation ended whose future was not dropped.
    pub(crate) ended: Vec<String>,
    /// Those whose future was dropped before it ended.
    pub(crate) dropped: Vec<Token>,
}

pub(crate) fn play(seed: u64) -> Shown {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(drive(seed))
}

async fn drive(seed: u64) -> Shown {
    let log = Log::at_the_pipes();
    PIPES.set(Some(Recorded::new(seed, log.clone())));
    let start = Instant::now();
    let builder = Client::builder(script::server()).over(OnThisThread);
    let client = builder.on_roots(async |_| Ok(json!({ "roots": [] }))).build().unwrap();
    let mut commands = timed(seed);
    let (mut tokens, mut shown) = (0, Shown::default());
    // In the order in which they were accepted; what has ended is none any more.
    let mut open: Vec<(Token, Option<Open>)> = Vec::new();
    let mut leaving: Vec<Open> = Vec::new();
    for _ in 0..ROUNDS {
        settle(&log).await;
        let now = Time::ZERO + start.elapsed();
        log.set(now);
        poll_fn(|cx| {
            for (token, future) in &mut open {
                if let Some(Poll::Ready(Ended::So(how))) =
                    future.as_mut().map(|future| future.as_mut().poll(cx))
                {
                    shown.ended.push(format!("{:>7} {token}: {how}", now.as_micros()));
                    *future = None;
                }
            }
            leaving.retain_mut(|future| future.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        if client.state() == State::Closed
            && leaving.is_empty()
            && open.iter().all(|(_, future)| future.is_none())
        {
            return Shown { steps: log.lines(), ..shown };
        }
        let due = commands.partition_point(|(at, _)| *at <= now);
        for (_, command) in commands.drain(..due).collect::<Vec<_>>() {
            tokens += 1;
            match command {
                Command::Notify => drop(client.notify("notifications/vendor", json!({ "a": 1 }))),
                Command::Cancel(place) => {
                    if let Some((token, future)) = open.iter_mut().rev().nth(place) {
                        shown.dropped.extend(future.take().map(|_| *token));
                    }
                }
                command => {
                    let mut future = begin(&client, tokens, command);
                    let first = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
                    match (first, command) {
                        (Poll::Ready(Ended::Refused(refusal)), _) => {
                            log.push(format!("refused {tokens}: {refusal}"))
                        }
                        (Poll::Ready(Ended::So(how)), _) => {
                            log.push(format!("ended at once {tokens}: {how}"))
                        }
                        (Poll::Pending, Command::Shutdown(_) | Command::Close) => leaving.push(future),
                        (Poll::Pending, _) => open.push((tokens, Some(future))),
                    }
                }
            }
        }
        if due > 0 {
            continue;
        }
        let next = commands.front().map(|(at, _)| start + at.since(Time::ZERO));
        let mut command = std::pin::pin!(sleep_until(next.unwrap_or(start)));
        let mut asleep = false;
        poll_fn(|cx| {
            let woken = std::mem::replace(&mut asleep, true);
            let due = next.is_some() && command.as_mut().poll(cx).is_ready();
            if woken || due { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
    unreachable!("the client never ends: {:?}", log.lines().last())
}

/// Lets the client's task, and those that answer the server, do all that they can at this moment.
async fn settle(log: &Log) {
    let mut idle = 0;
    while idle < TURNS {
        let before = log.len();
        yield_now().await;
        idle = if log.len() == before { idle + 1 } else { 0 };
    }
}
