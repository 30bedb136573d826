//! What can be read at any time without a round trip (row L31).

use std::sync::Arc;

use super::Session;
use crate::config::Server;
use crate::counters::Counters;
use crate::error::{End, Refusal};
use crate::output::State;
use crate::protocol::Version;
use crate::session::{ServerCapabilities, ServerInfo};
use crate::stderr::Tail;
use crate::tool::{Catalog, Tool};

impl<T> Session<T> {
    /// What was configured.
    pub fn server(&self) -> &Server {
        &self.machine.server
    }

    /// The number that tells this session from other ones of the same server.
    pub fn instance(&self) -> u64 {
        self.machine.instance
    }

    /// Where the session stands.
    pub fn state(&self) -> State {
        self.machine.phase.state()
    }

    /// The negotiated version, once connected.
    pub fn version(&self) -> Option<Version> {
        self.machine.peer.as_ref().map(|peer| peer.version)
    }

    /// What the server said about itself, once connected.
    pub fn server_info(&self) -> Option<&ServerInfo> {
        self.machine.peer.as_ref().map(|peer| &peer.info)
    }

    /// What the server offers, once connected.
    pub fn server_capabilities(&self) -> Option<&ServerCapabilities> {
        self.machine.peer.as_ref().map(|peer| &peer.capabilities)
    }

    /// How the server wants to be used, if it said so.
    pub fn instructions(&self) -> Option<&str> {
        self.machine.peer.as_ref().and_then(|peer| peer.instructions.as_deref())
    }

    /// The tools as they were last listed.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.machine.tools.catalog
    }

    /// Whether the catalog was never fetched, or the server said since that its list has changed.
    pub fn catalog_is_stale(&self) -> bool {
        self.machine.tools.is_stale()
    }

    /// The tool of that name, for [`Call::prepare`](crate::Call::prepare). `None` if the catalog does not have it and is stale, so that a
    /// call would fetch it anew.
    ///
    /// # Errors
    /// What [`Session::call`] would refuse the call for.
    pub fn tool(&self, name: &str) -> Result<Option<Arc<Tool>>, Refusal> {
        self.machine.tool(name)
    }

    /// What happened so far, in numbers.
    pub fn counters(&self) -> Counters {
        let machine = &self.machine;
        Counters {
            pending: machine.pending.len(),
            timers: machine.pending.timers() + machine.peer_requests.timers(),
            queued_bytes: machine.link.queued_bytes() + machine.waiting_bytes,
            reply_bytes: machine.link.replies.bytes(),
            peer_requests: machine.peer_requests.len(),
            discarded_bytes: machine.counters.discarded_bytes + self.lines.discarded(),
            stderr_bytes: machine.stderr.bytes_seen(),
            stderr_truncated: machine.stderr.truncated(),
            latency: machine.latencies.by_method(),
            ..machine.counters.clone()
        }
    }

    /// The first lines of output that were no message: bounded, escaped, without secrets (row W05).
    pub fn noise_samples(&self) -> &[Box<str>] {
        self.machine.noise.samples()
    }

    /// The newest standard error output.
    pub fn stderr(&mut self) -> Arc<Tail> {
        self.machine.stderr.snapshot()
    }

    /// The end, once there is one.
    pub fn end(&self) -> Option<&End> {
        self.machine.end.as_ref()
    }
}
