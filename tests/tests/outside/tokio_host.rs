//! The host of clients on tokio. Each operation has a task, which owns its future.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use sans_mcp::{Call, Code, Counters, End, Server};
use sans_mcp_tokio::Events;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinError, JoinHandle};

use crate::holdings::assert_gone;
use crate::host::{self, Host};

pub(crate) type CurrentThread = Tokio<0>;
pub(crate) type MultiThread = Tokio<2>;

/// A runtime with so many threads of its own.
pub(crate) struct Tokio<const THREADS: usize> {
    clients: BTreeMap<host::Client, Client>,
    opened: usize,
    runtime: Runtime,
}

struct Client {
    client: sans_mcp_tokio::Client,
    /// What nobody reads.
    events: Option<Events>,
    operations: BTreeMap<u32, Operation>,
    closes: Vec<JoinHandle<Arc<End>>>,
}

type Operation = JoinHandle<Result<String, Code>>;

impl<const THREADS: usize> Tokio<THREADS> {
    fn runtime() -> Runtime {
        let mut builder = match THREADS {
            0 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        builder.worker_threads(THREADS.max(1)).enable_all().build().expect("a runtime")
    }

    /// Has events of a client that it does not read.
    pub(crate) fn subscribe(&mut self, client: host::Client) {
        let client = self.client(client);
        client.events = Some(client.client.events());
    }

    fn client(&mut self, client: host::Client) -> &mut Client {
        self.clients.get_mut(&client).expect("it is open")
    }

    fn begin(
        &mut self,
        client: host::Client,
        key: u32,
        operation: impl Future<Output = Result<String, Code>> + Send + 'static,
    ) {
        let operation = self.runtime.spawn(operation);
        assert!(self.client(client).operations.insert(key, operation).is_none(), "{key} is open");
    }
}

impl<const THREADS: usize> Host for Tokio<THREADS> {
    fn new() -> Self {
        Tokio { clients: BTreeMap::new(), opened: 0, runtime: Self::runtime() }
    }

    fn open(&mut self, server: Server) -> host::Client {
        let number = self.opened;
        self.opened += 1;
        let client = sans_mcp_tokio::Client::builder(server).build().expect("valid");
        let (operations, closes) = (BTreeMap::new(), Vec::new());
        self.clients.insert(number, Client { client, events: None, operations, closes });
        number
    }

    fn connect(&mut self, client: host::Client, key: u32) {
        let handle = self.client(client).client.clone();
        self.begin(client, key, async move {
            handle.start().await.map(|()| String::new()).map_err(|error| error.code())
        });
    }

    fn call(&mut self, client: host::Client, call: Call, key: u32) {
        let call = self.client(client).client.call(call).start();
        self.begin(client, key, async move {
            call.await.map(|reply| reply.text().into_owned()).map_err(|error| error.code())
        });
    }

    fn cancel(&mut self, client: host::Client, key: u32) {
        if let Some(operation) = self.client(client).operations.get(&key) {
            operation.abort();
        }
    }

    fn close(&mut self, client: host::Client) {
        let handle = self.client(client).client.clone();
        let close = self.runtime.spawn(async move { handle.close().await });
        self.client(client).closes.push(close);
    }

    fn process_id(&self, client: host::Client) -> Option<u32> {
        self.clients.get(&client)?.client.process_id()
    }

    fn counters(&self, client: host::Client) -> Counters {
        self.clients[&client].client.counters()
    }

    fn turn(&mut self, time: Duration) {
        self.runtime.block_on(async {
            if time.is_zero() { tokio::task::yield_now().await } else { tokio::time::sleep(time).await }
        });
    }

    fn outcome(&mut self, client: host::Client, key: u32) -> Result<String, Code> {
        let operation = self.client(client).operations.remove(&key).expect("it was begun");
        outcome(self.runtime.block_on(operation))
    }

    fn end(&mut self, client: host::Client) -> End {
        let handle = self.client(client).client.clone();
        End::clone(&*self.runtime.block_on(handle.closed()))
    }

    fn drop_client(&mut self, client: host::Client) {
        let Client { client, events, operations, closes } = self.clients.remove(&client).expect("it is open");
        operations.values().for_each(JoinHandle::abort);
        closes.iter().for_each(JoinHandle::abort);
        drop((client, events));
        for operation in operations.into_values() {
            let _ = outcome(self.runtime.block_on(operation));
        }
        for close in closes {
            let _ = self.runtime.block_on(close);
        }
    }

    fn drop_loop_then_client(&mut self, client: host::Client) {
        let process = self.process_id(client);
        drop(mem::replace(&mut self.runtime, Self::runtime()));
        if let Some(process) = process {
            assert_gone(process, "its runtime is gone");
        }
        self.drop_client(client);
    }

    fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }
}

/// One whose task was aborted has been dropped, and so cancelled.
fn outcome(joined: Result<Result<String, Code>, JoinError>) -> Result<String, Code> {
    joined.unwrap_or_else(|error| {
        assert!(error.is_cancelled(), "{error}");
        Err(Code::ABORTED)
    })
}
