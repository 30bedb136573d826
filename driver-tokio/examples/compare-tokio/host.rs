//! A host that awaits one thing at a time.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sans_mcp_tokio::{Call, CallError, Client, Server, ToolReply, Tree};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::comparison::{GUARD, Host, Outcome, Step, Tally};

pub(crate) struct TokioHost {
    // Dropped before the runtime.
    client: Option<Client>,
    runtime: Runtime,
}

impl TokioHost {
    pub(crate) fn new() -> Outcome<TokioHost> {
        let one_thread = std::env::var("BENCH_RT").is_ok_and(|flavour| flavour == "current");
        let mut builder =
            if one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
        Ok(TokioHost { client: None, runtime: builder.enable_all().build()? })
    }

    fn client(&self) -> Outcome<&Client> {
        self.client.as_ref().ok_or_else(|| "no client".into())
    }
}

impl Host for TokioHost {
    fn connect(&mut self, server: Server, guard: Duration) -> Outcome<Step> {
        let client = self.client.insert(Client::builder(server).build()?);
        let connected = self.runtime.block_on(async { timeout(guard, client.start()).await });
        Ok(connected.ok().map(|connected| connected.map_err(|error| error.to_string())))
    }

    fn tools(&self) -> usize {
        self.client.as_ref().map_or(0, |client| client.tools().len())
    }

    fn call<T>(&mut self, call: Call, guard: Duration, read: impl FnOnce(&str) -> T) -> Outcome<Step<T>> {
        let call = self.client()?.call(call);
        let outcome = self.runtime.block_on(async { timeout(guard, call).await });
        Ok(outcome.ok().map(|outcome| with_text(&outcome, |text| text.map(read))))
    }

    fn calls(
        &mut self,
        window: usize,
        n: usize,
        guard: Duration,
        make: impl Fn(usize) -> Call + Send + Sync + 'static,
        judge: impl Fn(usize, Result<&str, String>) -> Cow<'static, str> + Send + Sync + 'static,
    ) -> Outcome<Tally> {
        let client = self.client()?.clone();
        let share = Arc::new((AtomicUsize::new(0), make, judge));
        let work = async move {
            let deadline = Instant::now() + guard;
            let mut tasks = JoinSet::new();
            for _ in 0..window.min(n) {
                let (client, share) = (client.clone(), share.clone());
                tasks.spawn(async move {
                    let (next, make, judge) = &*share;
                    let mut tally = Tally::new();
                    loop {
                        let key = next.fetch_add(1, Ordering::Relaxed);
                        if key >= n {
                            return tally;
                        }
                        let outcome = client.call(make(key)).await;
                        *tally.entry(with_text(&outcome, |text| judge(key, text))).or_default() += 1;
                    }
                });
            }
            let mut all = Tally::new();
            while let Ok(Some(tally)) = timeout_at(deadline, tasks.join_next()).await {
                for (out, count) in tally? {
                    *all.entry(out).or_default() += count;
                }
            }
            Ok(all)
        };
        self.runtime.block_on(work)
    }

    fn give_up(&mut self, calls: Vec<Call>, after: Call) -> Outcome<String> {
        let client = self.client()?;
        let (calls, after) = self.runtime.block_on(async {
            let calls: Vec<_> = calls.into_iter().map(|call| client.call(call).start()).collect();
            (calls, timeout(GUARD, client.call(after)).await)
        });
        // Dropping them is what cancels them.
        drop(calls);
        Ok(with_text(&after?, |text| text.map(str::to_owned))?)
    }

    fn rest<T: Send + 'static>(
        &mut self,
        servers: Vec<Server>,
        guard: Duration,
        meanwhile: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T> {
        self.runtime.block_on(async {
            let mut clients = Vec::with_capacity(servers.len());
            for server in servers {
                clients.push(timeout(guard, Client::connect(server)).await??);
            }
            let (send, receive) = oneshot::channel();
            thread::spawn(move || send.send(meanwhile()));
            let result = receive.await?;
            let mut closes: JoinSet<_> =
                clients.into_iter().map(|client| async move { client.close().await }).collect();
            while let Some(end) = timeout(guard, closes.join_next()).await? {
                // So many look at all processes at once that some cannot prove in time that nothing is left.
                if matches!(end?.tree, Tree::Alive(_)) {
                    return Err("something is left".into());
                }
            }
            Ok(result)
        })
    }

    fn abandon(&mut self) {
        self.client = None;
    }

    fn close(&mut self, guard: Duration) -> Outcome<Step> {
        let client = self.client()?;
        let end = self.runtime.block_on(async { timeout(guard, client.close()).await });
        Ok(end.ok().map(|end| if end.gone() { Ok(()) } else { Err(end.to_string()) }))
    }
}

/// What `read` makes of the text of an answered call, or of why there is none.
fn with_text<T>(outcome: &Result<ToolReply, CallError>, read: impl FnOnce(Result<&str, String>) -> T) -> T {
    match outcome {
        Ok(reply) => read(Ok(&reply.text())),
        Err(error) => read(Err(error.to_string())),
    }
}
