//! How a session behaves towards its server.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::Limits;
use crate::protocol::Version;

/// How a session behaves. The defaults suit a server that is not trusted.
///
/// ```
/// use sans_mcp::{Conduct, Settings};
/// use std::time::Duration;
///
/// let mut settings = Settings::default();
/// settings.conduct = Conduct::Strict;
/// settings.timeouts.call = Some(Duration::from_secs(5));
/// assert!(settings.list_on_connect);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// What a line that is no message means (row W05).
    pub conduct: Conduct,
    /// What invalid UTF-8 in an answer means (row W07).
    pub utf8: Utf8,
    /// Which ids of answers match (row L07).
    pub id_matching: IdMatching,
    /// Deadlines.
    pub timeouts: Timeouts,
    /// Bounds on memory and counts.
    pub limits: Limits,
    /// Whether connecting ends with the tools listed (row L33).
    pub list_on_connect: bool,
    /// Whether arguments are checked against the tool's input schema (row L25; needs feature `schema`).
    pub check_arguments: bool,
    /// Whether structured results are checked against the tool's output schema (row L25; needs feature `schema`).
    pub check_results: bool,
    /// What the host offers the server.
    pub capabilities: Capabilities,
    /// Name and version under which the client presents itself; nothing else is told (row L23).
    pub client: ClientInfo,
    /// Versions that are accepted; the newest is asked for.
    pub versions: Vec<Version>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            conduct: Conduct::Tolerant,
            utf8: Utf8::Reject,
            id_matching: IdMatching::Exact,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            list_on_connect: true,
            check_arguments: true,
            check_results: true,
            capabilities: Capabilities::default(),
            client: ClientInfo::default(),
            versions: Version::LEGACY.to_vec(),
        }
    }
}

/// What a line of the server's output that is no message means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Conduct {
    /// It is sampled and counted, and the session goes on: real servers print banners and log lines.
    #[default]
    Tolerant,
    /// It ends the session and settles every call: the stream is no longer trusted.
    Strict,
}

/// What invalid UTF-8 in an answer means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Utf8 {
    /// The call fails at once.
    #[default]
    Reject,
    /// Each invalid sequence is replaced by U+FFFD.
    Replace,
}

/// Which ids of answers match a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IdMatching {
    /// The same integer.
    #[default]
    Exact,
    /// Also the exact decimal string of it, for servers known to answer so.
    Decimal,
}

/// Deadlines. `None` means no deadline, which the steps of a close cannot have; in JSON they are whole milliseconds, or
/// null.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the start of the process to the accepted answer of `initialize`.
    #[serde(deserialize_with = "milliseconds")]
    pub connect: Option<Duration>,
    /// For one call or request, from the moment it is accepted; also for a walk over all pages of a list.
    #[serde(deserialize_with = "milliseconds")]
    pub call: Option<Duration>,
    /// The most that progress may extend a call to.
    #[serde(deserialize_with = "milliseconds")]
    pub maximum: Option<Duration>,
    /// For the host to answer a request of the server.
    #[serde(deserialize_with = "milliseconds")]
    pub peer_request: Option<Duration>,
    /// Between health checks; `None`: no health checks.
    #[serde(deserialize_with = "milliseconds")]
    pub health_interval: Option<Duration>,
    /// For the answer of one health check.
    #[serde(deserialize_with = "milliseconds")]
    pub health: Option<Duration>,
    /// From closing the server's input to SIGTERM.
    #[serde(deserialize_with = "bounded_milliseconds")]
    pub end_of_input: Duration,
    /// From SIGTERM to SIGKILL.
    #[serde(deserialize_with = "bounded_milliseconds")]
    pub terminate: Duration,
}

impl Timeouts {
    /// 60 s: package runners download before they start.
    pub const CONNECT: Duration = Duration::from_secs(60);
    /// 30 s: what users of other clients expect.
    pub const CALL: Duration = Duration::from_secs(30);
    /// 10 min: a hard end where progress keeps extending a call.
    pub const MAXIMUM: Duration = Duration::from_secs(600);
    /// 5 min: a person may be asked.
    pub const PEER_REQUEST: Duration = Duration::from_secs(300);
    /// 10 s for a health check.
    pub const HEALTH: Duration = Duration::from_secs(10);
    /// 2 s from closed input to SIGTERM.
    pub const END_OF_INPUT: Duration = Duration::from_secs(2);
    /// 2 s from SIGTERM to SIGKILL.
    pub const TERMINATE: Duration = Duration::from_secs(2);
    /// At most 1 s after SIGKILL to reap and to prove the group gone. Not adjustable.
    pub const REAP: Duration = Duration::from_secs(1);
    /// 366 days: a longer deadline is none, and `None` says so. Not adjustable.
    pub const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    /// How long an exit waits for end of output, and the other way round (L15). Not adjustable.
    pub const LOSS: Duration = Duration::from_millis(100);

    /// The longest that a close takes, whatever the server does (row L17): 5.1 s with the defaults. A close that comes while
    /// an exit or an end of output waits for the other of the two first waits with it ([`Timeouts::LOSS`]).
    pub fn close_bound(&self) -> Duration {
        Timeouts::LOSS + self.end_of_input + self.terminate + Timeouts::REAP
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Some(Timeouts::CONNECT),
            call: Some(Timeouts::CALL),
            maximum: Some(Timeouts::MAXIMUM),
            peer_request: Some(Timeouts::PEER_REQUEST),
            health_interval: None,
            health: Some(Timeouts::HEALTH),
            end_of_input: Timeouts::END_OF_INPUT,
            terminate: Timeouts::TERMINATE,
        }
    }
}

/// What the host offers the server: declared in `initialize`, and the only requests that reach the host (L26).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Capabilities {
    /// The host answers `roots/list`.
    pub roots: bool,
    /// The host answers `sampling/createMessage`.
    pub sampling: bool,
    /// The host answers `elicitation/create` in form mode.
    pub elicitation: bool,
}

/// Name and version of the host product.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientInfo {
    /// Product name.
    pub name: String,
    /// Product version.
    pub version: String,
}

impl Default for ClientInfo {
    fn default() -> ClientInfo {
        ClientInfo { name: "sans-mcp".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

fn milliseconds<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(input)?.map(Duration::from_millis))
}

fn bounded_milliseconds<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    u64::deserialize(input).map(Duration::from_millis)
}
