//! The interpreter of scripts: commands in, events out, one JSON object a line.
//!
//! `docs/script.md` describes the format. A [`Script`] has no I/O and no clock: it stands beside a [`Session`], feeds
//! it commands and turns its outputs into events, so that one scenario runs the same on every driver and in a fuzzer.

mod answers;
mod backlog;
mod command;
mod ended;
mod event;
mod input;

use std::collections::BTreeMap;

use backlog::{Backlog, Event};
use command::{BadLine, Command};
use ended::Ended;
use input::Input;

use crate::error::Refused;
use crate::handle::{Handle, PeerHandle};
use crate::output::{Completion, Output, PeerRequest, Reply, State};
use crate::protocol::code;
use crate::session::{PeerReply, Session};
use crate::time::Time;
use crate::tool::{Call, Request};

pub use answers::{Answers, BadAnswer};

/// Runs the commands of a script on a session.
///
/// A driver makes a `Session<Operation>`, and then, again and again:
///
/// 1. pumps the session, and hands every output that is for the host to [`handle_output`](Script::handle_output);
/// 2. reads more of the script while [`wants_input`](Script::wants_input) says so, and hands it to
///    [`handle_input`](Script::handle_input), or tells its end with [`handle_end`](Script::handle_end);
/// 3. calls [`advance`](Script::advance), which carries out the commands whose turn it is;
/// 4. prints what [`poll_event`](Script::poll_event) gives; if that was anything, more commands may have got their
///    turn, so it goes back to 3;
///
/// until [`is_over`](Script::is_over). It begins again at the latest at [`next_timeout`](Script::next_timeout). Nothing
/// of it fails: a line that cannot be carried out becomes an event.
///
/// ```
/// use sans_mcp::script::{Answers, Operation, Script};
/// use sans_mcp::{Output, Server, Session, StartFailure, Time};
///
/// let mut session = Session::<Operation>::new(Server::new("docs", "docs-server"))?;
/// let mut script = Script::new(Answers::default());
/// script.handle_input(b"{\"op\":\"ping\",\"id\":\"p\"}\n");
/// script.handle_end();
/// while !script.is_over() {
///     script.advance(&mut session, Time::ZERO);
///     match session.poll_output() {
///         Output::Spawn => {
///             session.handle_spawn_failed(Time::ZERO, StartFailure::NotFound { searched_path: true });
///         }
///         output => script.handle_output(output),
///     }
///     while let Some(event) = script.poll_event() {
///         println!("{event}");
///     }
/// }
/// # Ok::<(), sans_mcp::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Script {
    input: Input,
    run: Run,
}

/// What a script hands to its session with every command: which operation ended.
#[derive(Debug)]
pub struct Operation(Kind);

#[derive(Debug)]
enum Kind {
    Connect,
    /// Of a command, with the id that it gave.
    Command(Option<Box<str>>),
}

impl Operation {
    fn id(&self) -> Option<&str> {
        match &self.0 {
            Kind::Connect => None,
            Kind::Command(id) => id.as_deref(),
        }
    }
}

/// Everything but the lines that wait.
#[derive(Debug)]
struct Run {
    answers: Answers,
    connection: Connection,
    blocked: Option<Blocked>,
    /// Open operations that have an id.
    named: BTreeMap<Box<str>, Handle>,
    ended: Ended,
    /// Open operations, those without an id included.
    open: usize,
    /// Requests of the server that were not answered yet.
    requests: Vec<Asked>,
    events: Backlog,
    bad_lines: u64,
    /// The last event, once the session is over.
    last: Option<String>,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    New,
    UnderWay,
    /// Connected, or not to be.
    Settled,
}

/// What the next command waits for.
#[derive(Debug)]
enum Blocked {
    Operation(Box<str>),
    AllOperations,
    Until(Time),
}

#[derive(Debug)]
struct Asked {
    handle: PeerHandle,
    method: &'static str,
    params: Option<String>,
}

impl Script {
    /// 16 MiB: the longest line of a script, in bytes.
    pub const LINE: usize = Input::LINE;
    /// 16 MiB of events that nobody fetches: past it no command is carried out, and what the server tells without being
    /// asked is dropped and counted.
    pub const BACKLOG: usize = 16 << 20;

    /// A script that answers the server's requests with `answers`, whose [`capabilities`](Answers::capabilities) the
    /// session must declare.
    pub fn new(answers: Answers) -> Script {
        let run = Run {
            answers,
            connection: Connection::New,
            blocked: None,
            named: BTreeMap::new(),
            ended: Ended::default(),
            open: 0,
            requests: Vec::new(),
            events: Backlog::default(),
            bad_lines: 0,
            last: None,
            over: false,
        };
        Script { input: Input::default(), run }
    }

    /// Takes more of the script, in pieces of any size.
    pub fn handle_input(&mut self, bytes: &[u8]) {
        self.input.push(bytes);
    }

    /// The script has no more lines: once all were carried out, the session is closed, whatever is still open. A
    /// shutdown that is under way closes it when its time has come.
    pub fn handle_end(&mut self) {
        self.input.end();
    }

    /// Whether the next command cannot be told before more of the script is read. While it is false a driver reads
    /// nothing, so that a long script does not collect in memory.
    pub fn wants_input(&self) -> bool {
        !self.run.over && self.run.last.is_none() && self.input.is_hungry()
    }

    /// Takes an output of the session. Those that are for the driver are of no interest here and do no harm.
    pub fn handle_output(&mut self, output: Output<'_, Operation>) {
        let run = &mut self.run;
        match output {
            Output::Complete(completion) => run.complete(completion),
            Output::Request(PeerRequest { handle, method, params }) => {
                run.requests.push(Asked { handle, method, params: params.map(str::to_owned) });
            }
            Output::Progress(progress) => {
                run.events.offer(|| event::progress(progress.token.id(), progress.params))
            }
            Output::Notification(told) => run.events.offer(|| event::notification(told.method, told.params)),
            Output::Diagnostic(diagnostic) => run.events.offer(|| event::diagnostic(&diagnostic)),
            Output::Closed(end) if run.last.is_none() => run.last = Some(event::closed(end)),
            // A request that the server has taken back is found out when it is answered.
            Output::RequestCancelled(_) | Output::Closed(_) | Output::State(_) | Output::Stderr(_) => {}
            Output::Spawn
            | Output::Write(_)
            | Output::CloseStdin
            | Output::Signal(_)
            | Output::Reap
            | Output::ProbeTree
            | Output::Wait { .. } => {}
        }
    }

    /// Carries out the commands whose turn it is. The first call connects; no command is carried out before that has
    /// ended.
    pub fn advance(&mut self, session: &mut Session<Operation>, now: Time) {
        let Script { input, run } = self;
        run.connect(session, now);
        run.answer(session, now);
        run.events.write(session);
        while run.may_go_on(session, now) {
            let Some(line) = input.next() else {
                run.at_end_of_lines(session, now, input.is_exhausted());
                break;
            };
            let done = line.text.and_then(|text| match text.trim_ascii() {
                "" => Ok(()),
                _ => Command::parse(text).and_then(|command| run.carry_out(session, now, command)),
            });
            if let Err(problem) = done {
                run.bad_lines += 1;
                run.events.push(event::bad_line(line.number, &problem));
            }
        }
    }

    /// When to call [`advance`](Script::advance) at the latest; the session has deadlines of its own.
    pub fn next_timeout(&self) -> Option<Time> {
        match self.run.blocked {
            Some(Blocked::Until(time)) => Some(time),
            _ => None,
        }
    }

    /// The next event: a JSON object without a line end.
    pub fn poll_event(&mut self) -> Option<String> {
        self.run.events.poll()
    }

    /// Whether the session is over and every event was fetched. The last one is `closed`.
    pub fn is_over(&self) -> bool {
        self.run.over && self.run.events.is_empty()
    }

    /// How many lines could not be carried out.
    pub fn bad_lines(&self) -> u64 {
        self.run.bad_lines
    }
}

impl Run {
    fn connect(&mut self, session: &mut Session<Operation>, now: Time) {
        if self.connection == Connection::New {
            self.connection = Connection::UnderWay;
            if session.connect(now, Operation(Kind::Connect)).is_err() {
                self.connection = Connection::Settled;
            }
        }
    }

    /// Answers what the server asked since.
    fn answer(&mut self, session: &mut Session<Operation>, now: Time) {
        for Asked { handle, method, params } in self.requests.drain(..) {
            let none = PeerReply::Error { code: code::INTERNAL_ERROR, message: "the script has no answer" };
            let reply = self.answers.get(method).unwrap_or(none);
            let sent = session.respond(now, handle, reply).map_err(|refused| refused.refusal);
            let text = self.answers.text(method).unwrap_or("null");
            self.events.offer(|| event::request(method, params.as_deref(), text, sent.as_ref().err()));
        }
    }

    /// Whether the next command may be carried out.
    fn may_go_on(&mut self, session: &Session<Operation>, now: Time) -> bool {
        let leaving = self.last.is_some() || matches!(session.state(), State::Closing | State::Closed);
        let blocked = match &self.blocked {
            None => false,
            Some(Blocked::Operation(id)) => self.named.contains_key(id),
            Some(Blocked::AllOperations) => self.open > 0,
            Some(Blocked::Until(time)) => now < *time && !leaving,
        };
        if !blocked {
            self.blocked = None;
        }
        !blocked && !self.over && self.connection == Connection::Settled && !self.events.is_full()
    }

    fn carry_out(
        &mut self,
        session: &mut Session<Operation>,
        now: Time,
        command: Command<'_>,
    ) -> Result<(), BadLine> {
        match command {
            Command::Call { id, tool, arguments, options } => {
                let call = options.for_call(Call::new(tool, arguments));
                self.begin(id, |token| match call {
                    Ok(call) => session.call(now, call, token),
                    Err(refusal) => Err(Refused { value: token, refusal }),
                })?;
            }
            Command::Request { id, method, params, options } => {
                let request = Request::new(method);
                let request = match params {
                    Some(params) => request.params(params),
                    None => request,
                };
                let request = options.for_request(request);
                self.begin(id, |token| match request {
                    Ok(request) => session.request(now, request, token),
                    Err(refusal) => Err(Refused { value: token, refusal }),
                })?;
            }
            Command::List { id } => self.begin(id, |token| session.list_tools(now, token))?,
            Command::Notify { method, params } => {
                session.notify(now, &method, params).map_err(BadLine::Refused)?;
            }
            Command::Cancel { id, reason } => match self.named.get(&id) {
                // False if it has just completed: whoever writes the script could not know.
                Some(handle) => {
                    session.cancel(now, *handle, &reason);
                }
                None if self.ended.contains(&id) => {}
                None => return Err(BadLine::NotUsed(id)),
            },
            Command::Wait { id: Some(id) } => self.blocked = Some(Blocked::Operation(id)),
            Command::Wait { id: None } => self.blocked = Some(Blocked::AllOperations),
            Command::Sleep(duration) => self.blocked = Some(Blocked::Until(now + duration)),
            Command::Counters => self.events.push(event::counters(&session.counters())),
            Command::Shutdown { grace } => session.shutdown(now, grace),
            Command::Close => session.close(now),
        }
        Ok(())
    }

    /// Hands an operation in. One that is refused has completed.
    fn begin(
        &mut self,
        id: Option<Box<str>>,
        hand_in: impl FnOnce(Operation) -> Result<Handle, Refused<Operation>>,
    ) -> Result<(), BadLine> {
        if let Some(id) = id.as_ref().filter(|id| self.named.contains_key(*id)) {
            return Err(BadLine::IdInUse(id.clone()));
        }
        match hand_in(Operation(Kind::Command(id.clone()))) {
            Ok(handle) => {
                self.open += 1;
                self.named.extend(id.map(|id| (id, handle)));
            }
            Err(Refused { value, refusal }) => {
                self.events.push(event::refused(value.id(), &refusal));
                if let Some(id) = id {
                    self.ended.push(id);
                }
            }
        }
        Ok(())
    }

    fn complete(&mut self, completion: Completion<'_, Operation>) {
        let Completion { token, outcome, elapsed, .. } = completion;
        let Kind::Command(id) = token.0 else {
            self.connection = Connection::Settled;
            // Why it failed is told when the session has ended.
            if outcome.is_ok() {
                self.events.push_unwritten(Event::Ready(elapsed));
            }
            return;
        };
        self.open = self.open.saturating_sub(1);
        if let Some(id) = &id {
            self.named.remove(id);
            self.ended.push(id.clone());
        }
        let id = id.as_deref();
        match outcome {
            Ok(Reply::Answer(mut answer)) => self.events.push(match answer.check() {
                Ok(()) => event::answered(id, answer.as_str(), elapsed),
                Err(failure) => event::failed(id, &failure),
            }),
            Ok(Reply::Listed | Reply::Connected) => {
                self.events.push_unwritten(Event::Listed(id.map(Box::from), elapsed));
            }
            Err(failure) => self.events.push(event::failed(id, &failure)),
        }
    }

    /// Every line so far was carried out.
    fn at_end_of_lines(&mut self, session: &mut Session<Operation>, now: Time, ended: bool) {
        if let Some(last) = self.last.take() {
            self.events.push(last);
            self.over = true;
        } else if ended && session.state() != State::Draining {
            session.close(now);
        }
    }
}

#[cfg(test)]
mod tests;
