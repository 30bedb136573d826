//! The workloads of `driver-tokio/examples/compare`.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{Peer, RoleClient};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};

use crate::Outcome;
use crate::client::{self, connect, echo, text};
use crate::report::{Meter, memory, peak_memory};
use crate::rest::{self, descriptors};
use crate::timing::Timing;

/// A call that was not answered by then never will be: no call here takes half as long.
const GUARD: Duration = Duration::from_secs(5);

pub(crate) async fn pipe(program: &str, name: &str, window: usize, n: usize) -> Outcome {
    let client = connect(program).await?;
    let meter = Meter::start();
    calls(client.peer(), window, n, |peer, number| async move { echo(&peer, number).await }).await?;
    meter.report(name, n, json!({}));
    client.cancel().await?;
    Ok(())
}

pub(crate) async fn blob(program: &str, bytes: usize, n: usize) -> Outcome {
    let client = connect(program).await?;
    let meter = Meter::start();
    let mut whole = 0;
    for _ in 0..n {
        match timeout(GUARD, text(client.peer(), client::blob(bytes), str::len)).await {
            Ok(Ok(length)) if length == bytes => whole += 1,
            Ok(other) => return Err(format!("another text: {other:?}").into()),
            Err(_) => {
                eprintln!("blob: no answer in {GUARD:?}");
                break;
            }
        }
    }
    meter.report("blob", n, json!({ "ok": whole }));
    client.cancel().await?;
    Ok(())
}

pub(crate) async fn cold(program: &str, n: usize) -> Outcome {
    let meter = Meter::start();
    for _ in 0..n {
        let client = connect(program).await?;
        if client.peer().list_tools(None).await?.tools.len() < 3 {
            return Err("the list is not complete".into());
        }
        client.cancel().await?;
    }
    meter.report("cold", n, json!({}));
    Ok(())
}

pub(crate) async fn sleepers(program: &str, n: usize, milliseconds: u64) -> Outcome {
    let client = connect(program).await?;
    echo(client.peer(), 7).await?;
    let before = memory();
    let meter = Meter::start();
    calls(client.peer(), n, n, move |peer, _| async move {
        text(&peer, client::sleep(milliseconds), drop_text).await
    })
    .await?;
    let bytes = (peak_memory().saturating_sub(before) << 10) / n as u64;
    meter.report("sleepers", n, json!({ "rss0_kb": before, "bytes_per_pending": bytes }));
    client.cancel().await?;
    Ok(())
}

pub(crate) async fn cancel(program: &str, n: usize) -> Outcome {
    const AT_ONCE: usize = 64;
    let client = connect(program).await?;
    echo(client.peer(), 7).await?;
    let before = memory();
    let meter = Meter::start();
    for first in (0..n).step_by(AT_ONCE) {
        let calls: Vec<_> = (first..n.min(first + AT_ONCE))
            .map(|_| {
                let peer = client.peer().clone();
                Box::pin(async move { text(&peer, client::sleep(600_000), drop_text).await })
            })
            .collect();
        let mut begun = Vec::with_capacity(calls.len());
        for mut call in calls {
            // A call begins when it is awaited.
            tokio::select! {
                biased;
                _ = &mut call => return Err("it did not sleep".into()),
                () = yield_now() => begun.push(call),
            }
        }
        echo(client.peer(), first).await?;
    }
    let echo_ok = timeout(GUARD, echo(client.peer(), 7)).await.is_ok();
    sleep(Duration::from_millis(200)).await;
    let stats = CallToolRequestParams::new("stats");
    let stats = timeout(GUARD, text(client.peer(), stats, str::to_owned)).await??;
    let more = json!({ "echo_ok": echo_ok, "server": stats, "rss0_kb": before, "rss1_kb": memory() });
    meter.report("cancel", n, more);
    client.cancel().await?;
    Ok(())
}

pub(crate) async fn latency(program: &str, window: usize, n: usize, beside: &str) -> Outcome {
    let odd = match beside {
        "nothing" => None,
        "slow" => Some(client::sleep(500)),
        "large" => Some(client::blob(8 << 20)),
        _ => return Err("beside nothing, slow or large".into()),
    };
    let odd = odd.map(|call| (n / 4, call));
    let except = odd.as_ref().map(|(number, _)| *number);
    let client = connect(program).await?;
    calls(client.peer(), window, n, |peer, number| async move { echo(&peer, number).await }).await?;
    let timing = Arc::new(Timing::of(n));
    let timed = timing.clone();
    let meter = Meter::start();
    calls(client.peer(), window, n, move |peer, number| {
        let (timing, odd) = (timed.clone(), odd.clone());
        async move {
            timing.begin(number);
            let call = match odd {
                Some((odd, call)) if odd == number => call,
                _ => client::numbered(number),
            };
            text(&peer, call, drop_text).await?;
            timing.end(number);
            Ok(())
        }
    })
    .await?;
    meter.report("latency", n, timing.percentiles(except));
    client.cancel().await?;
    Ok(())
}

pub(crate) async fn sessions(program: &str, n: usize, seconds: u64) -> Outcome {
    let before = [memory(), descriptors()];
    let meter = Meter::start();
    let mut clients = Vec::with_capacity(n);
    for _ in 0..n {
        let client = connect(program).await?;
        client.peer().list_tools(None).await?;
        clients.push(client);
    }
    let (send, receive) = oneshot::channel();
    thread::spawn(move || send.send(rest::observe(seconds)));
    let observed = receive.await?;
    let mut closes: JoinSet<_> = clients.into_iter().map(|client| client.cancel()).collect();
    while let Some(closed) = closes.join_next().await {
        closed??;
    }
    meter.report("sessions", n, rest::each(observed, before, n as u64));
    Ok(())
}

/// Makes the calls 0 to `n`, of which `window` are open at a time.
async fn calls<F: Future<Output = Outcome> + Send>(
    peer: &Peer<RoleClient>,
    window: usize,
    n: usize,
    call: impl Fn(Peer<RoleClient>, usize) -> F + Send + Sync + 'static,
) -> Outcome {
    let share = Arc::new((AtomicUsize::new(0), call));
    let mut tasks: JoinSet<Outcome> = JoinSet::new();
    for _ in 0..window.min(n) {
        let (peer, share) = (peer.clone(), share.clone());
        tasks.spawn(async move {
            let (next, call) = &*share;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= n {
                    return Ok(());
                }
                call(peer.clone(), number).await?;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

fn drop_text(text: &str) {
    std::hint::black_box(text);
}
