//! The tokio driver as the suite for all drivers sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sans_mcp::{Call, Catalog, ConfigError, Counters, End, Server, State, Tail, Version};
use sans_mcp_tokio::{Builder, CallError, Client, ConnectError, Event, Events, PeerError};
use serde_json::value::RawValue;
use tokio::runtime::{self, Runtime};

use crate::drivers::outcome::{Answer, Answering, Outcome, Seen, Unsuccessful};
use crate::drivers::support::LIMIT;

/// The flavour of the runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    CurrentThread,
    MultiThread,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::CurrentThread, Kind::MultiThread];

    pub(crate) fn runtime(self) -> Runtime {
        let mut builder = match self {
            Kind::CurrentThread => runtime::Builder::new_current_thread(),
            Kind::MultiThread => runtime::Builder::new_multi_thread(),
        };
        builder.worker_threads(2).enable_all().build().unwrap()
    }
}

/// A client and its runtime. On a single thread nothing moves but while something is waited for.
pub(crate) struct Host {
    /// Dropped before its runtime.
    client: Client,
    events: Events,
    runtime: Runtime,
}

/// An operation that was handed in; cancelled when it is dropped.
pub(crate) struct Ticket {
    operation: Pin<Box<dyn Future<Output = Outcome>>>,
    settled: Option<Outcome>,
}

impl Host {
    /// A host of a client that is not started.
    pub(crate) fn new(kind: Kind, server: Server, answering: &[Answering]) -> Result<Host, ConfigError> {
        let runtime = kind.runtime();
        let mut builder = answering.iter().fold(Client::builder(server), answer);
        let events = builder.events();
        Ok(Host { client: builder.build()?, events, runtime })
    }

    pub(crate) fn begin_connect(&self) -> Ticket {
        let client = self.client.clone();
        self.begin(async move {
            client.start().await.map(|()| Answer::Done).map_err(|error| match error {
                ConnectError::Config(error) => unreachable!("{error}"),
                ConnectError::Refused { refusal, .. } => Unsuccessful::Refused(refusal),
                ConnectError::Failed { failure, .. } => Unsuccessful::Failed(failure),
            })
        })
    }

    /// Connects; if that fails, the session is over.
    pub(crate) fn connect(&mut self) -> Result<(), Unsuccessful> {
        let ticket = self.begin_connect();
        self.wait(ticket).map(drop)
    }

    pub(crate) fn call(&self, call: Call) -> Ticket {
        let call = self.client.call(call);
        self.begin(async move {
            call.await.map(|reply| Answer::Result(reply.raw().to_owned())).map_err(unsuccessful)
        })
    }

    pub(crate) fn request(&self, method: &str) -> Ticket {
        let request = self.client.request(method, ());
        self.begin(
            async move { request.await.map(|raw| Answer::Result(raw.to_string())).map_err(unsuccessful) },
        )
    }

    pub(crate) fn ping(&self) -> Ticket {
        let client = self.client.clone();
        self.begin(async move { client.ping().await.map(|_| Answer::Done).map_err(unsuccessful) })
    }

    pub(crate) fn list(&self) -> Ticket {
        let client = self.client.clone();
        self.begin(async move { client.list_tools().await.map(|_| Answer::Done).map_err(unsuccessful) })
    }

    /// Hands an operation in at once.
    fn begin(&self, operation: impl Future<Output = Outcome> + 'static) -> Ticket {
        let mut operation = Box::pin(operation);
        let settled = match self.poll(operation.as_mut()) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        };
        Ticket { operation, settled }
    }

    fn poll<T>(&self, future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
        let _runtime = self.runtime.enter();
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    pub(crate) fn wait(&mut self, ticket: Ticket) -> Outcome {
        ticket.settled.unwrap_or_else(|| self.run(ticket.operation))
    }

    /// Cancels an operation, of which nothing is heard again.
    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        drop(ticket);
    }

    /// Has the client work for so long.
    pub(crate) fn turn(&mut self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    pub(crate) fn begin_close(&mut self) {
        let _ = self.poll(Box::pin(self.client.close()).as_mut());
    }

    pub(crate) fn begin_shutdown(&mut self, grace: Duration) {
        let _ = self.poll(Box::pin(self.client.shutdown(grace)).as_mut());
    }

    pub(crate) fn close(&mut self) -> End {
        (*self.run(self.client.close())).clone()
    }

    /// Waits for the end, and does nothing towards it.
    pub(crate) fn closed(&mut self) -> End {
        (*self.run(self.client.closed())).clone()
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(LIMIT, future).await.expect("it ends in time") })
    }

    /// Drops the client, and gives back what it ran on, which lives on.
    pub(crate) fn abandon(self) -> Runtime {
        self.runtime
    }

    /// What was seen since this was asked last.
    pub(crate) fn seen(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        while let Poll::Ready(Some(event)) = self.events.poll_next(&mut Context::from_waker(Waker::noop())) {
            seen.extend(match event {
                Event::State(state) => Some(Seen::State(state)),
                Event::Notification(notification) => Some(Seen::Notification(notification.method())),
                Event::Diagnostic(diagnostic) => Some(Seen::Diagnostic(diagnostic.to_string())),
                Event::Stderr(bytes) => Some(Seen::Stderr(bytes.to_vec())),
                Event::Closed(_) => Some(Seen::Closed),
                _ => None,
            });
        }
        seen
    }

    pub(crate) fn counters(&self) -> Counters {
        self.client.counters()
    }

    pub(crate) fn state(&self) -> State {
        self.client.state()
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.client.version()
    }

    pub(crate) fn tools(&self) -> Arc<Catalog> {
        self.client.tools()
    }

    pub(crate) fn tools_are_stale(&self) -> bool {
        self.client.tools_are_stale()
    }

    pub(crate) fn stderr(&mut self) -> Arc<Tail> {
        self.client.stderr()
    }

    pub(crate) fn noise_samples(&self) -> Vec<Box<str>> {
        self.client.noise_samples()
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.client.process_id()
    }
}

fn answer(builder: Builder, answering: &Answering) -> Builder {
    let Answering { method, after, with } = *answering;
    let answer = move |_| async move {
        tokio::time::sleep(after).await;
        with.map(|raw| serde_json::from_str::<&RawValue>(raw).unwrap())
            .map_err(|code| PeerError::new(code, "the host says no"))
    };
    match method {
        "roots/list" => builder.on_roots(answer),
        "sampling/createMessage" => builder.on_sampling(answer),
        "elicitation/create" => builder.on_elicitation(answer),
        other => unreachable!("nobody can answer {other}"),
    }
}

fn unsuccessful(error: CallError) -> Unsuccessful {
    match error {
        CallError::Refused { refusal, .. } => Unsuccessful::Refused(refusal),
        CallError::Failed(failure) => Unsuccessful::Failed(failure),
        CallError::Undecodable { .. } => unreachable!("the core checks the shape: {error}"),
    }
}
