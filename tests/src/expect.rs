//! What each case must come to. The words are in `cases.json`; here they are a record that a test can check, in memory
//! and through a driver alike.

mod compare;
mod foundation;

use std::time::Duration;

use sans_mcp::{Counters, IdMatching, Settings};

pub use compare::{Faults, Found};
pub use foundation::foundation;

/// What a case must come to.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The case.
    pub case: &'static str,
    /// Tells several records of one case apart.
    pub variant: &'static str,
    /// Takes the place of the trigger of the case.
    pub trigger: Option<String>,
    /// How the session is set, beside [`CALL`] as the deadline of calls.
    pub tuning: Tuning,
    /// What connecting comes to.
    pub connect: Expected,
    /// Tools that are listed then.
    pub tools: &'static [&'static str],
    /// Tools that were set aside.
    pub set_aside: &'static [&'static str],
    /// What the host asks then, one after another, and what each comes to.
    pub asked: Vec<(Asking, Expected)>,
    /// Counters at the end.
    pub counters: Vec<(Counter, u64)>,
    /// Each of these texts is in exactly so many diagnostics.
    pub diagnostics: Vec<(&'static str, usize)>,
    /// The server sees exactly so many requests or notifications of these methods.
    pub sent: Vec<(&'static str, usize)>,
    /// The server sees exactly one reply to each of these ids (raw JSON): with a result, or with this error code.
    pub replies: Vec<(&'static str, Option<i64>)>,
    /// The version that was agreed on, if it is not the newest.
    pub version: Option<&'static str>,
    /// How the session ends if nobody closes it; nothing: it lives until then.
    pub end: Option<&'static str>,
}

/// Deadline of calls in all cases.
pub const CALL: Duration = Duration::from_secs(2);

/// Deadline of connecting in all cases.
pub const CONNECT: Duration = Duration::from_secs(20);

/// What differs from the default settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// `IdMatching::Decimal`.
    pub decimal: bool,
    /// The host answers `roots/list`.
    pub roots: bool,
}

impl Tuning {
    /// The settings of a case.
    pub fn settings(self) -> Settings {
        let mut settings = Settings::default();
        settings.timeouts.call = Some(CALL);
        settings.timeouts.connect = Some(CONNECT);
        settings.capabilities.roots = self.roots;
        if self.decimal {
            settings.id_matching = IdMatching::Decimal;
        }
        settings
    }
}

/// What the host asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Calls tool `t` without arguments.
    Call,
    /// The same, and cancels it once it was sent.
    CancelledCall,
    /// Pings.
    Ping,
    /// Lists the tools anew.
    List,
    /// Another request.
    Request(&'static str),
}

/// What an operation comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Connected, or listed.
    Fine,
    /// A result whose text blocks are this text.
    Text(&'static str),
    /// A result with one text block of so many times this letter.
    Long(char, usize),
    /// This raw result.
    Raw(&'static str),
    /// A failure of this code, before or at its deadline as the code says, whose report contains all these texts.
    Fails(&'static str, &'static [&'static str]),
    /// Refused with this code.
    Refused(&'static str),
}

/// A counter, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// `noise_lines`
    Noise,
    /// `long_lines`
    LongLines,
    /// `near_misses`
    NearMisses,
    /// `uncorrelated`
    Uncorrelated,
    /// `malformed`
    Malformed,
    /// `late`
    Late,
    /// `unknown`
    Unknown,
    /// `ignored_notifications`
    IgnoredNotifications,
    /// `refused_requests`
    RefusedRequests,
    /// `pings`
    Pings,
    /// `timeouts`
    Timeouts,
    /// `remote_errors`
    RemoteErrors,
    /// `cancelled`
    Cancelled,
}

impl Counter {
    /// Its value.
    pub const fn of(self, counters: &Counters) -> u64 {
        match self {
            Counter::Noise => counters.noise_lines,
            Counter::LongLines => counters.long_lines,
            Counter::NearMisses => counters.near_misses,
            Counter::Uncorrelated => counters.uncorrelated,
            Counter::Malformed => counters.malformed,
            Counter::Late => counters.late,
            Counter::Unknown => counters.unknown,
            Counter::IgnoredNotifications => counters.ignored_notifications,
            Counter::RefusedRequests => counters.refused_requests,
            Counter::Pings => counters.pings,
            Counter::Timeouts => counters.timeouts,
            Counter::RemoteErrors => counters.remote_errors,
            Counter::Cancelled => counters.cancelled,
        }
    }

    /// All of them: those that a record does not name must be zero.
    pub const ALL: [Counter; 13] = [
        Counter::Noise,
        Counter::LongLines,
        Counter::NearMisses,
        Counter::Uncorrelated,
        Counter::Malformed,
        Counter::Late,
        Counter::Unknown,
        Counter::IgnoredNotifications,
        Counter::RefusedRequests,
        Counter::Pings,
        Counter::Timeouts,
        Counter::RemoteErrors,
        Counter::Cancelled,
    ];
}

impl Expectation {
    /// A case after which everything is as it would be without a fault: connected, tool `t` listed.
    fn new(case: &'static str) -> Expectation {
        Expectation {
            case,
            variant: "",
            trigger: None,
            tuning: Tuning::default(),
            connect: Expected::Fine,
            tools: &["t"],
            set_aside: &[],
            asked: Vec::new(),
            counters: Vec::new(),
            diagnostics: Vec::new(),
            sent: Vec::new(),
            replies: Vec::new(),
            version: None,
            end: None,
        }
    }

    fn asks(mut self, asking: Asking, expected: Expected) -> Expectation {
        self.asked.push((asking, expected));
        self
    }

    fn counts(mut self, counter: Counter, value: u64) -> Expectation {
        self.counters.push((counter, value));
        self
    }

    fn tells(mut self, text: &'static str, times: usize) -> Expectation {
        self.diagnostics.push((text, times));
        self
    }

    fn sends(mut self, method: &'static str, times: usize) -> Expectation {
        self.sent.push((method, times));
        self
    }

    fn replies(mut self, id: &'static str, error: Option<i64>) -> Expectation {
        self.replies.push((id, error));
        self
    }

    fn lists(mut self, tools: &'static [&'static str]) -> Expectation {
        self.tools = tools;
        self
    }

    fn variant(mut self, variant: &'static str) -> Expectation {
        self.variant = variant;
        self
    }

    /// Connecting fails so, and nothing can be asked.
    fn fails(mut self, code: &'static str, report: &'static [&'static str]) -> Expectation {
        self.connect = Expected::Fails(code, report);
        self.tools = &[];
        self.end = Some(code);
        self
    }
}
