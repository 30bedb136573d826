//! A host of clients, on whichever driver: what the proofs do is written once, against this.

use std::time::Duration;

use sans_mcp::{Call, Code, Counters, End, Server, Tree};

/// Some clients in one runtime or poll. Nothing here has a deadline of its own: who waits too long is ended from outside.
pub(crate) trait Host {
    fn new() -> Self;

    /// A client of `server`, of which nothing is started yet.
    fn open(&mut self, server: Server) -> Client;

    /// Begins to connect. As with a call, `key` is one that was not used before with this client.
    fn connect(&mut self, client: Client, key: u32);

    /// Hands a call in. A refusal is an outcome, too.
    fn call(&mut self, client: Client, call: Call, key: u32);

    /// Gives an operation up; one that has ended already stays as it is.
    fn cancel(&mut self, client: Client, key: u32);

    /// Begins to close.
    fn close(&mut self, client: Client);

    fn process_id(&self, client: Client) -> Option<u32>;

    fn counters(&self, client: Client) -> Counters;

    /// Lets things happen for so long.
    fn turn(&mut self, time: Duration);

    /// Waits until an operation has ended, and gives the text of the answer or why there is none. An operation that ends
    /// twice is found here or later.
    fn outcome(&mut self, client: Client, key: u32) -> Result<String, Code>;

    /// Waits for the end of the session.
    fn end(&mut self, client: Client) -> End;

    /// Drops the client, and sees that every operation of it ends.
    fn drop_client(&mut self, client: Client);

    /// Drops the runtime or the poll under the living client, then the client, and goes on with a new one.
    fn drop_loop_then_client(&mut self, client: Client);

    /// Tasks of the runtime.
    fn tasks(&self) -> usize;

    /// Connects to a server that must be in order so far.
    fn connected(&mut self, server: Server) -> Client {
        let client = self.open(server);
        self.connect(client, CONNECT);
        self.outcome(client, CONNECT).expect("connected");
        client
    }

    /// Calls, and waits for the answer.
    fn ask(&mut self, client: Client, call: Call, key: u32) -> Result<String, Code> {
        self.call(client, call, key);
        self.outcome(client, key)
    }

    /// Closes, waits for the end, and drops the client.
    fn leave(&mut self, client: Client) -> End {
        self.close(client);
        let end = self.end(client);
        self.drop_client(client);
        end
    }
}

/// The number of a client.
pub(crate) type Client = usize;

/// The key of connecting.
pub(crate) const CONNECT: u32 = 0;

/// Sees that a session says nothing of a process that is left. What it cannot find out is none: with more to do than the
/// machine can, looking at all processes takes longer than a session has for it.
pub(crate) fn assert_over(end: &End) {
    assert!(!matches!(end.tree, Tree::Alive(_)), "{end}");
}

/// The fixture server in one of its modes.
pub(crate) fn mode(name: &str) -> Server {
    Server::new("fixture", env!("CARGO_BIN_EXE_fixture")).args(["--mode", name])
}

pub(crate) fn echo(value: &str) -> Call {
    Call::new("echo", format!(r#"{{"value":"{value}"}}"#))
}
