//! What a host asks of a server.
//!
//! Each is the command of the same name of the session, after which the connection wants to be pumped.

use std::time::Duration;

use sans_mcp::{Call, Handle, PeerHandle, PeerReply, Refusal, Refused, Request, Session, Time};

use crate::Connection;

/// Commands. They only decide and queue: [`pump`](Connection::pump) then moves bytes, and the key comes out of it with
/// the outcome, exactly once (row L10).
impl<K, P> Connection<K, P> {
    /// Starts the server, shakes hands and, unless that is turned off, lists the tools. It ends with
    /// [`Reply::Connected`](sans_mcp::Reply::Connected), or with why not; see [`Session::connect`].
    ///
    /// # Errors
    ///
    /// Refused once the connection is closing, and when too many wait already.
    pub fn connect(&mut self, now: Time, key: K) -> Result<Handle, Refused<K>> {
        self.session_mut().connect(now, key)
    }

    /// Calls a tool; see [`Session::call`]. It does not wait for the connection: until
    /// [`connect`](Connection::connect) has completed it is refused.
    ///
    /// # Errors
    ///
    /// Refused without any effect; see [`Refusal`].
    pub fn call(&mut self, now: Time, call: Call, key: K) -> Result<Handle, Refused<K>> {
        self.session_mut().call(now, call, key)
    }

    /// Sends any other request of the protocol; see [`Session::request`].
    ///
    /// # Errors
    ///
    /// Refused without any effect; see [`Refusal`].
    pub fn request(&mut self, now: Time, request: Request, key: K) -> Result<Handle, Refused<K>> {
        self.session_mut().request(now, request, key)
    }

    /// Fetches the list of tools anew; see [`Session::list_tools`].
    ///
    /// # Errors
    ///
    /// Refused without any effect; see [`Refusal`].
    pub fn list_tools(&mut self, now: Time, key: K) -> Result<Handle, Refused<K>> {
        self.session_mut().list_tools(now, key)
    }

    /// Asks whether the server answers at all, within `timeout` or, if that is `None`, the usual one; see
    /// [`Session::ping`].
    ///
    /// # Errors
    ///
    /// Refused without any effect; see [`Refusal`].
    pub fn ping(&mut self, now: Time, timeout: Option<Duration>, key: K) -> Result<Handle, Refused<K>> {
        self.session_mut().ping(now, timeout, key)
    }

    /// Sends a notification, whose `params` are a JSON object; see [`Session::notify`].
    ///
    /// # Errors
    ///
    /// Refused without any effect; see [`Refusal`].
    pub fn notify(&mut self, now: Time, method: &str, params: Option<&str>) -> Result<(), Refusal> {
        self.session_mut().notify(now, method, params)
    }

    /// Answers a request of the server; see [`Session::respond`].
    ///
    /// # Errors
    ///
    /// Refused, with the handle given back, if the reply is not valid or the request not open any more.
    pub fn respond(
        &mut self,
        now: Time,
        handle: PeerHandle,
        reply: PeerReply<'_>,
    ) -> Result<(), Refused<PeerHandle>> {
        self.session_mut().respond(now, handle, reply)
    }

    /// Cancels an operation, whose key comes out of the next pump; see [`Session::cancel`]. False: nothing is open
    /// under this handle.
    pub fn cancel(&mut self, now: Time, handle: Handle, reason: &str) -> bool {
        self.session_mut().cancel(now, handle, reason)
    }

    /// Lets accepted calls finish for at most `grace`, then closes; see [`Session::shutdown`].
    pub fn shutdown(&mut self, now: Time, grace: Duration) {
        self.session_mut().shutdown(now, grace);
    }

    /// Fails what is open as closed, and ends the server: its input is closed, then it gets SIGTERM, then SIGKILL
    /// (row L17). [`Output::Closed`](sans_mcp::Output::Closed) comes within a bound; see [`Session::close`].
    pub fn close(&mut self, now: Time) {
        self.session_mut().close(now);
    }

    /// The session, for whoever gives commands to a machine whatever its driver is. Do not poll it: what follows from
    /// commands is carried out by the next [`pump`](Connection::pump), which this makes due.
    pub fn session_mut(&mut self) -> &mut Session<K> {
        self.stirred = true;
        &mut self.session
    }
}
