//! A plain specification of what a session does, as far as its host and its server can see it.
//!
//! It knows no buffers, indexes or layers, and shares no code with the machine. It is told every fact and command at the moment
//! it happens, and says what is to come of it; whoever plays a history compares that with what came, whenever
//! nothing is left to be polled. It is for honest drivers that poll everything out after each step, for the limits and tools
//! of [`Setup`](crate::history::Setup), and says nothing of diagnostics or of standard error.

mod life;
mod server;
mod tools;
mod writing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sans_mcp::{Delivery, Server, Settings, Time};

use crate::Token;
use life::Life;
use server::Asked;
use tools::Walk;
use writing::Writing;

/// What comes of a command: accepted under this handle, or refused with this code.
pub(crate) type Verdict = Result<u64, &'static str>;

/// A session as it should be.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    settings: Arc<Settings>,
    batches: bool,
    now: Time,
    life: Life,
    /// When the present part of the life is over.
    until: Option<Time>,
    gone_by: Option<Time>,
    probe_at: Option<Time>,
    /// When the session asks the server whether it is alive.
    health_at: Option<Time>,
    /// The code of why it ends.
    cause: Option<&'static str>,
    exited: bool,
    output_ended: bool,
    input_lost: bool,
    connecting: bool,
    connected: bool,
    next: u64,
    open: BTreeMap<u64, Open>,
    initialize: u64,
    writing: Writing,
    tools: BTreeSet<String>,
    /// The list is known, and the server has not said that it changed.
    fresh: bool,
    walk: Option<Walk>,
    first_page: u64,
    /// Calls whose list is there. They are made one by one, each when nothing waits to be written that can be.
    to_make: VecDeque<u64>,
    asked: Vec<Asked>,
    last_asked: u64,
    window: Option<(Time, u32)>,
    /// What the server said and the session has not listened to.
    unread: Vec<u8>,
    told: Vec<String>,
}

/// What waits for its end.
#[derive(Clone, Debug)]
struct Open {
    what: What,
    token: Token,
    handle: u64,
    accepted: Time,
    deadline: Option<Time>,
    /// Progress puts the deadline this far off, but not past that time.
    extension: Option<(Duration, Time)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A caller that waits for the connection.
    Connect,
    /// A caller that waits for the list.
    List,
    /// A call whose tool may be in the next list.
    Tool(Call),
    /// A call that is or was to be written, and whether its caller is told of progress.
    Call(bool),
    Request,
    Initialize,
    Page,
    Health,
}

/// What a caller asks of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) timeout: Duration,
    pub(crate) progress: bool,
}

impl What {
    fn waits(&self) -> bool {
        matches!(self, What::Connect | What::List | What::Tool(_))
    }

    fn is_callers(&self) -> bool {
        !matches!(self, What::Initialize | What::Page | What::Health)
    }
}

impl Call {
    /// Bytes of its parameters, with the progress token if one is known.
    fn size(&self, token: Option<u64>) -> usize {
        let Call { tool, arguments, .. } = self;
        let meta = token.map_or(String::new(), |token| format!(r#","_meta":{{"progressToken":{token}}}"#));
        format!(r#"{{"name":"{tool}","arguments":{arguments}{meta}}}"#).len()
    }

    fn token(&self, id: u64) -> Option<u64> {
        self.progress.then_some(id)
    }
}

impl Model {
    pub(crate) fn new(server: &Server, batches: bool) -> Model {
        Model {
            settings: Arc::new(server.settings.clone()),
            batches,
            now: Time::ZERO,
            life: Life::New,
            until: None,
            gone_by: None,
            probe_at: None,
            health_at: None,
            cause: None,
            exited: false,
            output_ended: false,
            input_lost: false,
            connecting: false,
            connected: false,
            next: 1,
            open: BTreeMap::new(),
            initialize: 0,
            writing: Writing::default(),
            tools: BTreeSet::new(),
            fresh: false,
            walk: None,
            first_page: 0,
            to_make: VecDeque::new(),
            asked: Vec::new(),
            last_asked: 0,
            window: None,
            unread: Vec::new(),
            told: Vec::new(),
        }
    }

    /// What should have been told since this was asked last, in no order.
    pub(crate) fn take_told(&mut self) -> Vec<String> {
        let mut told = std::mem::take(&mut self.told);
        told.sort();
        told
    }

    /// When something is due next.
    pub(crate) fn wait(&self) -> Option<Time> {
        let deadlines = self.open.values().filter_map(|open| open.deadline);
        let asked = self.asked.iter().map(|asked| asked.until);
        deadlines.chain(asked).chain(self.until).chain(self.probe_at).chain(self.health_at).min()
    }

    pub(crate) fn time(&mut self, now: Time) {
        self.now = now;
        self.due();
    }

    pub(crate) fn connect(&mut self, token: Token) -> Verdict {
        if !matches!(self.life, Life::New | Life::Spawning | Life::Handshake | Life::Ready) {
            return Err(self.closing_code());
        }
        self.has_room(0)?;
        let handle = self.add(What::Connect, token, None, None);
        match self.life {
            Life::New => {
                self.connecting = true;
                self.begin();
            }
            Life::Ready if self.connecting => self.start_walk(),
            Life::Ready => self.tell_connected(),
            _ => {}
        }
        self.due();
        Ok(handle)
    }

    pub(crate) fn call(&mut self, token: Token, call: Call) -> Verdict {
        self.takes_calls()?;
        self.has_room(0)?;
        let known = self.tools.contains(&call.tool);
        if !known && self.fresh {
            return Err("MCP_UNKNOWN_TOOL");
        }
        let progress_token = if known { call.token(self.next) } else { None };
        let size = call.size(progress_token);
        if size > self.settings.limits.parameters {
            return Err("MCP_TOO_LARGE");
        }
        self.has_room(size)?;
        let mut deadline = self.now + call.timeout;
        let maximum = self.now + self.settings.timeouts.maximum.unwrap_or_default();
        let extension = call.progress.then_some((call.timeout, maximum));
        if call.progress {
            deadline = deadline.min(maximum);
        }
        let progress = call.progress;
        let what = if known { What::Call(progress) } else { What::Tool(call) };
        let handle = self.add(what, token, Some(deadline), extension);
        if known {
            self.writing.request(handle, "tools/call", size);
        } else {
            self.start_walk();
        }
        Ok(handle)
    }

    pub(crate) fn request(&mut self, token: Token, method: &'static str, timeout: Duration) -> Verdict {
        self.takes_calls()?;
        self.has_room(0)?;
        if method.starts_with("prompts/") {
            return Err("MCP_UNSUPPORTED");
        }
        let handle = self.add(What::Request, token, Some(self.now + timeout), None);
        self.writing.request(handle, method, 0);
        Ok(handle)
    }

    pub(crate) fn list(&mut self, token: Token) -> Verdict {
        self.takes_calls()?;
        self.has_room(0)?;
        let deadline = self.now + self.call_timeout();
        let handle = self.add(What::List, token, Some(deadline), None);
        self.start_walk();
        Ok(handle)
    }

    /// A notification whose line has so many bytes.
    pub(crate) fn notify(&mut self, method: &'static str, size: usize) -> Result<(), &'static str> {
        self.takes_calls()?;
        if self.queued() + size > self.settings.limits.send_queue {
            return Err("MCP_BUSY");
        }
        self.writing.notification(method, size);
        Ok(())
    }

    /// Whether something was open under this handle.
    pub(crate) fn cancel(&mut self, handle: u64) -> bool {
        let found = self.open.iter().find(|(_, open)| open.handle == handle && open.what.is_callers());
        let Some((id, waits)) = found.map(|(id, open)| (*id, open.what.waits())) else { return false };
        self.give_up(id, "MCP_ABORTED");
        if waits {
            self.drop_idle_walk();
            let connects = self.open.values().any(|open| open.what == What::Connect);
            if matches!(self.life, Life::Spawning | Life::Handshake) && !connects {
                self.close();
            }
        }
        self.due();
        true
    }

    fn call_timeout(&self) -> Duration {
        self.settings.timeouts.call.unwrap_or_default()
    }

    fn takes_calls(&self) -> Result<(), &'static str> {
        match self.life {
            Life::New | Life::Spawning | Life::Handshake => Err("MCP_NOT_READY"),
            Life::Ready if self.writing.is_closed() => Err("MCP_STDIN_CLOSED"),
            Life::Ready => Ok(()),
            _ => Err(self.closing_code()),
        }
    }

    fn closing_code(&self) -> &'static str {
        let lost = if self.life == Life::Losing { "MCP_PROCESS_EXIT" } else { "CLIENT_CLOSED" };
        self.cause.unwrap_or(lost)
    }

    /// Bytes that wait: of requests to be written, and of calls that wait for a list.
    fn queued(&self) -> usize {
        let waiting = self.open.values().map(|open| match &open.what {
            What::Tool(call) => call.tool.len() + call.arguments.len(),
            _ => 0,
        });
        self.writing.queued() + waiting.sum::<usize>()
    }

    fn has_room(&self, size: usize) -> Result<(), &'static str> {
        let limits = &self.settings.limits;
        let full = self.open.len() >= limits.pending || self.queued() + size > limits.send_queue;
        if full { Err("MCP_BUSY") } else { Ok(()) }
    }

    fn new_id(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn add(
        &mut self,
        what: What,
        token: Token,
        deadline: Option<Time>,
        extension: Option<(Duration, Time)>,
    ) -> u64 {
        let handle = self.new_id();
        self.open.insert(handle, Open { what, token, handle, accepted: self.now, deadline, extension });
        handle
    }

    /// How far it has come: what waits has come as far as the request it waits for.
    fn delivery(&self, id: u64, what: &What) -> Delivery {
        match what {
            What::Connect => self.writing.delivery(self.initialize),
            What::List => self.writing.delivery(self.first_page),
            What::Tool(_) => Delivery::NotSent,
            _ => self.writing.delivery(id),
        }
    }

    /// It ends without a result, and the server is not told.
    fn fail(&mut self, id: u64, code: &str) {
        let Some(open) = self.open.remove(&id) else { return };
        let delivery = self.delivery(id, &open.what);
        self.writing.forget(id);
        if open.what.is_callers() {
            self.told.push(format!("{} {}: {code} {}", open.token, open.handle, delivery.as_str()));
        }
    }

    /// It ends without a result, and the server is told if any of it left.
    fn give_up(&mut self, id: u64, code: &str) {
        let waits = self.open.get(&id).is_some_and(|open| open.what.waits());
        if !waits && self.writing.delivery(id) != Delivery::NotSent {
            self.writing.cancel(id);
        }
        self.fail(id, code);
    }

    fn succeed(&mut self, id: u64, with: &str) {
        if let Some(open) = self.open.remove(&id)
            && open.what.is_callers()
        {
            self.told.push(format!("{} {}: {with}", open.token, open.handle));
        }
    }

    /// Everything that is due by now.
    fn due(&mut self) {
        while let Some((_, id)) = self
            .open
            .iter()
            .filter_map(|(id, open)| Some((open.deadline?, *id)))
            .filter(|(deadline, _)| *deadline <= self.now)
            .min()
        {
            let waits = self.open.get(&id).is_some_and(|open| open.what.waits());
            let what = self.open.get(&id).map(|open| open.what.clone());
            self.give_up(id, "MCP_TIMEOUT");
            match what {
                Some(What::Page) => self.walk_failed("MCP_LIST_FAILED", true),
                Some(What::Health) => self.fault("MCP_UNHEALTHY"),
                _ if waits => self.drop_idle_walk(),
                _ => {}
            }
        }
        self.expire_asked();
        self.live();
        self.check_health();
        self.make_calls();
    }
}
