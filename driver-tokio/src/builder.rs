//! A client in the making.

use std::future::Future;

use sans_mcp::{ConfigError, Server};
use serde::Serialize;

use crate::client::Client;
use crate::error::ConnectError;
use crate::event::{Events, Subscribers};
use crate::peer::{Handlers, PeerError, PeerRequest, handler};
use crate::pipes::Pipes;
use crate::process::Process;

/// A client in the making: for hosts that answer requests of the server, or want its events from the
/// beginning.
///
/// What has a handler is declared to the server, and nothing else, whatever
/// [`Settings::capabilities`](crate::Settings::capabilities) says. A handler runs in a task of its own while
/// calls go on. Its result must be a JSON object. A handler that panics, or is late, or gives no valid
/// result, is answered with -32603; when the server cancels its request, or the session ends, the handler's
/// future is dropped. A handler must not hold a [`Client`] of this server, which would then never be dropped.
///
/// ```
/// use sans_mcp_tokio::{Client, Event, PeerError, Server, State};
/// use serde_json::json;
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let docs_server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs-server");
/// let mut builder = Client::builder(Server::new("docs", docs_server))
///     .on_roots(async |_| Ok(json!({ "roots": [{ "uri": "file:///srv/docs" }] })))
///     .on_sampling(async |_| Err::<(), _>(PeerError::rejected()));
/// let mut events = builder.events();
/// let client = builder.connect().await?;
/// assert!(matches!(events.next().await, Some(Event::State(State::Connecting))));
/// # client.close().await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "nothing is started before `connect`"]
pub struct Builder {
    server: Server,
    pipes: Box<dyn Pipes + Send>,
    handlers: Handlers,
    subscribers: Subscribers,
}

impl Builder {
    pub(crate) fn new(server: Server) -> Builder {
        let subscribers = Subscribers::new(server.settings.limits.events);
        Builder { server, pipes: Box::new(Process::default()), handlers: Handlers::default(), subscribers }
    }

    /// Goes over pipes of the host's own instead of starting a process, as [`Connection::over`] does.
    ///
    /// ```
    /// use sans_mcp_tokio::{Client, Code, Pipes, Server};
    /// # use sans_mcp_tokio::sans_mcp::{self, Exit, Moved, Signal, Signalled, StartFailure, Tree};
    /// # use std::task::{Context, Poll};
    ///
    /// /// There is no server.
    /// #[derive(Debug)]
    /// struct Nobody;
    ///
    /// impl sans_mcp::Pipes for Nobody {
    ///     fn spawn(&mut self, _: &Server) -> Result<u32, StartFailure> {
    ///         Err(StartFailure::NoResources { errno: 11 })
    ///     }
    ///     // Nothing else is asked of what was never started.
    /// #   fn read_stdout(&mut self, _: &mut [u8]) -> Moved { Moved::Blocked }
    /// #   fn read_stderr(&mut self, _: &mut [u8]) -> Moved { Moved::Blocked }
    /// #   fn write_stdin(&mut self, _: &[u8]) -> Moved { Moved::Ended }
    /// #   fn take_writable(&mut self) -> bool { false }
    /// #   fn close_stdin(&mut self) {}
    /// #   fn signal(&mut self, _: Signal) -> Signalled { Signalled::NoProcess }
    /// #   fn exit(&mut self) -> Option<Exit> { None }
    /// #   fn reap(&mut self) -> Exit { Exit::Unknown }
    /// #   fn probe(&mut self) -> Tree { Tree::Gone }
    /// }
    ///
    /// impl Pipes for Nobody {
    ///     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
    ///         Poll::Pending
    ///     }
    /// }
    ///
    /// # #[tokio::main] async fn main() {
    /// let failed = Client::builder(Server::new("docs", "docs-server")).over(Nobody).connect().await;
    /// assert_eq!(failed.unwrap_err().code(), Code::START_FAILED);
    /// # }
    /// ```
    ///
    /// [`Connection::over`]: crate::Connection::over
    pub fn over(mut self, pipes: impl Pipes + Send + 'static) -> Builder {
        self.pipes = Box::new(pipes);
        self
    }

    /// Answers `roots/list`.
    pub fn on_roots<H, F, R>(mut self, answer: H) -> Builder
    where
        H: Fn(PeerRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, PeerError>> + Send + 'static,
        R: Serialize,
    {
        self.handlers.roots = handler(answer);
        self
    }

    /// Answers `sampling/createMessage`.
    pub fn on_sampling<H, F, R>(mut self, answer: H) -> Builder
    where
        H: Fn(PeerRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, PeerError>> + Send + 'static,
        R: Serialize,
    {
        self.handlers.sampling = handler(answer);
        self
    }

    /// Answers `elicitation/create`, in form mode.
    pub fn on_elicitation<H, F, R>(mut self, answer: H) -> Builder
    where
        H: Fn(PeerRequest) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, PeerError>> + Send + 'static,
        R: Serialize,
    {
        self.handlers.elicitation = handler(answer);
        self
    }

    /// Subscribes to events, those of connecting included.
    pub fn events(&mut self) -> Events {
        self.subscribers.add()
    }

    /// Makes the client without starting anything: [`Client::start`] does.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn build(mut self) -> Result<Client, ConfigError> {
        self.handlers.declare(&mut self.server.settings.capabilities);
        Client::new(self.server, self.pipes, self.handlers, self.subscribers)
    }

    /// Makes the client and connects it.
    ///
    /// # Errors
    /// As [`Client::connect`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let client = self.build()?;
        client.start().await?;
        Ok(client)
    }
}
