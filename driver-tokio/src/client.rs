//! The handle of one server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sans_mcp::{
    Call, Catalog, ConfigError, Counters, End, Refusal, Request, Server, ServerCapabilities, ServerInfo,
    Session, State, Tail, Time, Version,
};
use serde::Serialize;
use tokio::runtime::Handle;
use tracing::Instrument;

use crate::builder::Builder;
use crate::call::ToolCall;
use crate::error::{CallError, ConnectError};
use crate::event::{Events, Subscribers};
use crate::operation::Operation;
use crate::peer::Handlers;
use crate::pipes::Pipes;
use crate::request::{RequestCall, micros};
use crate::shared::Shared;
use crate::slot::Slot;
use crate::task::Task;

/// The handle of one server: cheap to clone, and all clones are the same session.
///
/// It can be used from any task and any thread. When the last clone, and the last call of it, is dropped
/// without [`close`](Client::close), the process group is killed at once and reaped, within 200 ms and
/// without a runtime. A session that is over stays over: connect again from the same [`Server`] for a new
/// one.
#[derive(Clone)]
pub struct Client {
    alive: Arc<Alive>,
}

/// What keeps the server alive: held by every handle and by every call.
#[derive(Debug)]
pub(crate) struct Alive(Arc<Shared>);

impl Alive {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Client {
    /// Starts the server, shakes hands and lists its tools.
    ///
    /// Dropping the future before it is done leaves nothing.
    ///
    /// # Errors
    /// See [`ConnectError`]. It comes only after the process is gone.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(server: Server) -> Result<Client, ConnectError> {
        Client::builder(server).connect().await
    }

    /// A client in the making, for handlers and events.
    pub fn builder(server: Server) -> Builder {
        Builder::new(server)
    }

    pub(crate) fn new(
        server: Server,
        pipes: Box<dyn Pipes + Send>,
        handlers: Handlers,
        subscribers: Subscribers,
    ) -> Result<Client, ConfigError> {
        let shared = Shared::new(server, pipes, handlers, subscribers)?;
        Ok(Client { alive: Arc::new(Alive(Arc::new(shared))) })
    }

    /// Connects a client that was [built](Builder::build). Starting twice, also at the same time, shares one
    /// process and one handshake (row L05). If everybody who waits for the connection drops this future, the
    /// session ends.
    ///
    /// # Errors
    /// As [`Client::connect`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(&self) -> Result<(), ConnectError> {
        let shared = self.shared();
        let span = tracing::info_span!("connect", server = &*shared.name, instance = shared.instance);
        self.connected().instrument(span).await
    }

    async fn connected(&self) -> Result<(), ConnectError> {
        self.run();
        let shared = self.shared();
        let connect = Operation::accept(&self.alive, |session, now, slot| session.connect(now, slot));
        let settled = match connect {
            Ok(operation) => operation.settled().await,
            Err(refusal) => return Err(ConnectError::Refused { server: shared.name.clone(), refusal }),
        };
        let elapsed_us = micros(settled.elapsed);
        match settled.outcome {
            Ok(_) => {
                tracing::info!(code = "OK", elapsed_us, "connected");
                Ok(())
            }
            Err(failure) => {
                let end = shared.ended().await;
                tracing::info!(
                    code = failure.code().as_str(),
                    elapsed_us,
                    gone = end.gone(),
                    "not connected"
                );
                Err(ConnectError::Failed { failure, end })
            }
        }
    }

    /// Spawns the I/O task, once.
    fn run(&self) {
        // Outside a runtime this panics, before anything counts as started.
        let runtime = Handle::current();
        if self.shared().starts() {
            runtime.spawn(Task::new(self.shared().clone()));
        }
    }

    /// Calls a tool. `arguments` must serialize to a JSON object, or to null, which stands for an empty one;
    /// a [`RawValue`](serde_json::value::RawValue) is passed on unchanged.
    ///
    /// The call begins when the future is first polled, see [`ToolCall`].
    ///
    /// ```
    /// use sans_mcp_tokio::{Client, Code, Server};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let docs_server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server");
    /// # let client = Client::connect(Server::new("docs", docs_server)).await?;
    /// let call = client
    ///     .call_tool("never", ())
    ///     .timeout(Duration::from_millis(20))
    ///     .reset_on_progress()
    ///     .on_progress(|progress| println!("{:?}", progress.message()));
    /// assert_eq!(call.await.unwrap_err().code(), Code::TIMEOUT);
    /// # Ok(()) }
    /// ```
    pub fn call_tool(&self, name: impl Into<String>, arguments: impl Serialize) -> ToolCall {
        let name = name.into();
        let call = object(&arguments, &name).map(|arguments| match arguments {
            Some(json) => Call::new(name, json),
            None => Call::without_arguments(name),
        });
        ToolCall::new(self.alive.clone(), call)
    }

    /// Calls a tool, with arguments as raw JSON text.
    pub fn call(&self, call: Call) -> ToolCall {
        ToolCall::new(self.alive.clone(), Ok(call))
    }

    /// Sends a request of any method but `initialize` and `tools/call`, whose capability the server must have
    /// offered. `params` must serialize to a JSON object, or to null, which stands for none.
    ///
    /// The request begins when the future is first polled, see [`RequestCall`].
    pub fn request(&self, method: impl Into<String>, params: impl Serialize) -> RequestCall {
        let request = Request::new(method);
        let request = object(&params, request.method()).map(|params| match params {
            Some(json) => request.params(json),
            None => request,
        });
        RequestCall::new(self.alive.clone(), request)
    }

    /// Sends a notification. `params` must serialize to a JSON object, or to null, which stands for none.
    ///
    /// # Errors
    /// Refused, and nothing is sent.
    pub fn notify(&self, method: &str, params: impl Serialize) -> Result<(), CallError> {
        let params = object(&params, method).map_err(|refusal| self.refused(refusal))?;
        let notified = self.shared().command(|session, now| session.notify(now, method, params.as_deref()));
        notified.map_err(|refusal| self.refused(refusal))
    }

    /// Fetches the list of tools anew, all pages of it. Joins a walk that is under way.
    ///
    /// # Errors
    /// Refused, for instance because the server offers no tools; or failed, then the catalog is what it was.
    pub async fn list_tools(&self) -> Result<Arc<Catalog>, CallError> {
        let list = Operation::accept(&self.alive, |session, now, slot| session.list_tools(now, slot));
        self.settled(list).await?;
        Ok(self.tools())
    }

    /// Asks whether the server answers at all, and gives the time that took.
    ///
    /// # Errors
    /// Refused or failed, like any request.
    pub async fn ping(&self) -> Result<Duration, CallError> {
        let ping = Operation::accept(&self.alive, |session, now, slot| session.ping(now, None, slot));
        self.settled(ping).await
    }

    async fn settled(&self, accepted: Result<Operation, Refusal>) -> Result<Duration, CallError> {
        let settled = match accepted {
            Ok(operation) => operation.settled().await,
            Err(refusal) => return Err(self.refused(refusal)),
        };
        settled.outcome.map(|_| settled.elapsed).map_err(CallError::Failed)
    }

    fn refused(&self, refusal: Refusal) -> CallError {
        CallError::Refused { server: self.shared().name.clone(), refusal }
    }

    /// The tools as they were last listed, without a round trip.
    pub fn tools(&self) -> Arc<Catalog> {
        self.shared().view(|session| session.catalog().clone())
    }

    /// Whether the server said, since the tools were last listed, that its list has changed.
    pub fn tools_are_stale(&self) -> bool {
        self.shared().view(|session| session.catalog_is_stale())
    }

    /// Where the session stands.
    pub fn state(&self) -> State {
        self.shared().view(|session| session.state())
    }

    /// The negotiated version, once connected.
    pub fn version(&self) -> Option<Version> {
        self.shared().view(|session| session.version())
    }

    /// What the server said about itself, once connected.
    pub fn server_info(&self) -> Option<ServerInfo> {
        self.shared().view(|session| session.server_info().cloned())
    }

    /// What the server offers, once connected.
    pub fn capabilities(&self) -> Option<ServerCapabilities> {
        self.shared().view(|session| session.server_capabilities().cloned())
    }

    /// How the server wants to be used, if it said so.
    pub fn instructions(&self) -> Option<String> {
        self.shared().view(|session| session.instructions().map(str::to_owned))
    }

    /// What happened so far, in numbers.
    pub fn counters(&self) -> Counters {
        self.shared().view(|session| session.counters())
    }

    /// The newest of what the server wrote on standard error.
    pub fn stderr(&self) -> Arc<Tail> {
        self.shared().view(|session| session.stderr())
    }

    /// The first lines of output that were no message: bounded, escaped, without secrets (row W05).
    pub fn noise_samples(&self) -> Vec<Box<str>> {
        self.shared().view(|session| session.noise_samples().to_vec())
    }

    /// Name of the server, as configured.
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// The number that tells this session from all others of this process, in logs and reports (row L29).
    pub fn instance(&self) -> u64 {
        self.shared().instance
    }

    /// The process number of the server while it has one; it may be another's later.
    pub fn process_id(&self) -> Option<u32> {
        self.shared().process_id()
    }

    /// Subscribes to what happens from now on. [`Builder::events`] has the events of connecting too.
    pub fn events(&self) -> Events {
        self.shared().subscribe()
    }

    /// Closes: open calls fail as closed, the server's input is closed, and a server that does not leave is
    /// killed (row L17). It returns within [`Timeouts::close_bound`](crate::Timeouts::close_bound), whatever
    /// the server does. Many may close, and all get the same end. Dropping the future does not stop the
    /// closing.
    pub async fn close(&self) -> Arc<End> {
        self.leave(|session, now| session.close(now)).await
    }

    /// Refuses new calls, lets accepted ones finish for at most `grace`, then closes. A
    /// [`close`](Client::close) meanwhile cuts it short.
    pub async fn shutdown(&self, grace: Duration) -> Arc<End> {
        self.leave(|session, now| session.shutdown(now, grace)).await
    }

    async fn leave(&self, command: impl FnOnce(&mut Session<Arc<Slot>>, Time)) -> Arc<End> {
        if self.shared().starts() {
            // Nothing was ever started, and there is no task to carry anything out.
            self.shared().abort();
        } else {
            self.shared().command(command);
        }
        self.closed().await
    }

    /// Waits until the session is over, for whatever reason, and closes nothing.
    pub async fn closed(&self) -> Arc<End> {
        self.shared().ended().await
    }

    fn shared(&self) -> &Arc<Shared> {
        self.alive.shared()
    }
}

/// The text of an object; `None` for null.
fn object(value: &impl Serialize, of: &str) -> Result<Option<String>, Refusal> {
    match serde_json::to_string(value) {
        Ok(json) => Ok((json != "null").then_some(json)),
        Err(error) => Err(Refusal::Arguments { tool: of.to_owned(), problem: error.to_string() }),
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.name())
            .field("instance", &self.instance())
            .finish_non_exhaustive()
    }
}
