//! Plays one case as a server in memory, by the same rules as `fixtures/cases/player.py`.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sans_mcp::Exit;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::notation::{Fault, Field, Part, parse};
use crate::peer::{Act, Agenda, Bytes, Peer};

/// The longest unit of a repeat that is written as a whole, in bytes.
const BLOCK: usize = 64 << 10;

const DEFAULTS: [(&str, &str); 5] = [
    ("initialize", "<INIT>"),
    (
        "tools/list",
        r#"{"jsonrpc":"2.0","id":<ID>,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n"#,
    ),
    ("tools/call", r#"{"jsonrpc":"2.0","id":<ID>,"result":{"content":[{"type":"text","text":"ok"}]}}\n"#),
    ("ping", r#"{"jsonrpc":"2.0","id":<ID>,"result":{}}\n"#),
    ("any other", r#"{"jsonrpc":"2.0","id":<ID>,"error":{"code":-32601,"message":"Method not found"}}\n"#),
];

/// A server that plays one trigger.
#[derive(Debug)]
pub struct Player {
    steps: BTreeMap<String, VecDeque<Vec<Part>>>,
    defaults: BTreeMap<&'static str, Vec<Part>>,
    /// Steps that are being played: one inside a `<WAIT_REPLY>` of the one before.
    playing: Vec<Playing>,
    inbox: VecDeque<Message>,
    /// Ids that the client has answered.
    replies: Vec<String>,
    /// Until when the current step pauses.
    asleep: bool,
    input_ended: bool,
}

/// A step, as far as it was played.
#[derive(Debug)]
struct Playing {
    parts: VecDeque<Part>,
    message: Message,
    chunk: Option<(usize, Duration)>,
    /// What came after a `<CHUNK>` and is not written yet.
    chunked: Vec<u8>,
    waits_for: Option<String>,
}

/// A message of the client: its method, and as raw JSON all that a step can refer to.
#[derive(Clone, Debug, Default)]
struct Message {
    method: Option<String>,
    id: Option<String>,
    is_reply: bool,
    token: Option<String>,
    cancelled: Option<String>,
    version: Option<String>,
}

impl Player {
    /// Plays `trigger`; `line_limit` is what `CAP` stands for.
    ///
    /// # Errors
    /// The trigger is not in the notation.
    pub fn new(trigger: &str, line_limit: usize) -> Result<Player, Fault> {
        let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for step in trigger.split(" ;; ") {
            let (when, text) = step.split_once(" => ").ok_or(Fault(0))?;
            texts.entry(when.trim_start_matches("ON ").to_owned()).or_default().push(text);
        }
        let answer = DEFAULTS.iter().find(|(method, _)| *method == "tools/call").map_or("", |(_, text)| text);
        if texts.contains_key("notifications/cancelled") && !texts.contains_key("tools/call") {
            // Leaves the first call open, so that it can be cancelled.
            texts.insert("tools/call".to_owned(), vec!["", answer]);
        }
        let init = init(texts.keys().map(String::as_str));
        let read = |text: &str| parse(&text.replace("<INIT>", &init), line_limit);
        let mut steps = BTreeMap::new();
        for (when, texts) in texts {
            steps.insert(when, texts.into_iter().map(read).collect::<Result<VecDeque<_>, _>>()?);
        }
        let mut defaults = BTreeMap::new();
        for (method, text) in DEFAULTS {
            defaults.insert(method, read(text)?);
        }
        Ok(Player {
            steps,
            defaults,
            playing: Vec::new(),
            inbox: VecDeque::new(),
            replies: Vec::new(),
            asleep: false,
            input_ended: false,
        })
    }

    /// Goes on until the step that is played pauses, waits for what has not come, or nothing is left to do.
    fn go_on(&mut self, agenda: &mut Agenda) {
        while !self.asleep {
            if let Some(playing) = self.playing.last_mut() {
                if let Some(wanted) = playing.waits_for.take() {
                    if let Some(at) = self.replies.iter().position(|reply| *reply == wanted) {
                        self.replies.remove(at);
                    } else {
                        playing.waits_for = Some(wanted);
                        if self.next_message() {
                            continue;
                        }
                        return;
                    }
                }
                let (after, goes_on) = playing.go_on(agenda);
                if !goes_on {
                    self.playing.pop();
                }
                if !after.is_zero() {
                    self.asleep = true;
                    agenda.act(after, Act::Wake);
                }
            } else if !self.next_message() {
                if self.input_ended {
                    agenda.exit(Duration::ZERO, Exit::Code(0));
                }
                return;
            }
        }
    }

    /// Looks at the next message of the client. False: there is none.
    fn next_message(&mut self) -> bool {
        let Some(message) = self.inbox.pop_front() else { return false };
        if message.is_reply {
            self.replies.extend(message.id.clone());
        }
        let Some(method) = &message.method else { return true };
        let step = match self.steps.get_mut(method) {
            Some(steps) if steps.len() > 1 => steps.pop_front(),
            Some(steps) => steps.front().cloned(),
            None if message.id.is_some() => {
                self.defaults.get(method.as_str()).or_else(|| self.defaults.get("any other")).cloned()
            }
            None => None,
        };
        if let Some(parts) = step {
            self.playing.push(Playing::new(parts, message));
        }
        true
    }
}

impl Peer for Player {
    fn start(&mut self, agenda: &mut Agenda) {
        if let Some(parts) = self.steps.get("START").and_then(VecDeque::front).cloned() {
            self.playing.push(Playing::new(parts, Message::default()));
        }
        self.go_on(agenda);
    }

    fn line(&mut self, line: &[u8], agenda: &mut Agenda) {
        self.inbox.extend(Message::read(line));
        self.go_on(agenda);
    }

    fn end_of_input(&mut self, agenda: &mut Agenda) {
        self.input_ended = true;
        // The end of stdin also ends a `<WAIT_REPLY>`, and the rest of that step is not written.
        self.playing.retain(|playing| playing.waits_for.is_none());
        self.go_on(agenda);
    }

    fn wake(&mut self, agenda: &mut Agenda) {
        self.asleep = false;
        self.go_on(agenda);
    }
}

impl Playing {
    fn new(parts: Vec<Part>, message: Message) -> Playing {
        Playing { parts: parts.into(), message, chunk: None, chunked: Vec::new(), waits_for: None }
    }

    /// Plays up to the next pause. How long that is, and whether the step goes on after it.
    fn go_on(&mut self, agenda: &mut Agenda) -> (Duration, bool) {
        while let Some(part) = self.parts.pop_front() {
            match part {
                Part::Sleep(pause) => return (self.flush(agenda) + pause, true),
                Part::Chunk(size, pause) => self.chunk = Some((size, pause)),
                Part::Exit(code) => {
                    let after = self.flush(agenda);
                    agenda.exit(after, Exit::Code(code));
                    return (after, false);
                }
                Part::WaitReply(wanted) => {
                    self.waits_for = wanted.or_else(|| self.message.id.clone());
                    return (self.flush(agenda), true);
                }
                part => {
                    for bytes in self.expand(&part) {
                        self.write(bytes, agenda);
                    }
                }
            }
        }
        (self.flush(agenda), false)
    }

    fn write(&mut self, mut bytes: Bytes, agenda: &mut Agenda) {
        if self.chunk.is_none() {
            agenda.write(Duration::ZERO, bytes);
            return;
        }
        let begin = self.chunked.len();
        self.chunked.resize(begin + bytes.len(), 0);
        bytes.read(self.chunked.get_mut(begin..).unwrap_or_default());
    }

    /// Writes what was cut into chunks; how long that takes.
    fn flush(&mut self, agenda: &mut Agenda) -> Duration {
        let (size, pause) = self.chunk.unwrap_or((1, Duration::ZERO));
        let mut after = Duration::ZERO;
        for (at, piece) in std::mem::take(&mut self.chunked).chunks(size).enumerate() {
            if at > 0 {
                after += pause;
            }
            agenda.write(after, piece.to_vec());
        }
        after
    }

    /// The bytes that a part without actions stands for.
    fn expand(&self, part: &Part) -> Vec<Bytes> {
        match part {
            Part::Bytes(bytes) => vec![Bytes::from(bytes.clone())],
            Part::Field(field) => vec![Bytes::from(self.message.field(*field).as_str())],
            Part::Repeat(count, parts) => {
                let mut unit = Vec::new();
                for mut bytes in parts.iter().flat_map(|part| self.expand(part)) {
                    let begin = unit.len();
                    unit.resize(begin + bytes.len(), 0);
                    bytes.read(unit.get_mut(begin..).unwrap_or_default());
                }
                // Many small ones at a time, so that a large repeat is read in large pieces.
                let per_block = (BLOCK / unit.len().max(1)).clamp(1, (*count).max(1));
                let block = unit.repeat(per_block);
                let rest = unit.repeat(count % per_block);
                vec![Bytes::repeated(block, count / per_block), Bytes::from(rest)]
            }
            Part::Sleep(_) | Part::Chunk(..) | Part::Exit(_) | Part::WaitReply(_) => Vec::new(),
        }
    }
}

#[derive(Deserialize)]
struct Members<'a> {
    method: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Meta<'a>,
    #[serde(borrow, default, rename = "requestId")]
    cancelled: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    version: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    token: Option<&'a RawValue>,
}

impl Message {
    /// `None`: the line is passed over.
    fn read(line: &[u8]) -> Option<Message> {
        let members: Members<'_> = serde_json::from_slice(line).ok()?;
        let params = members
            .params
            .and_then(|raw| serde_json::from_str::<Params<'_>>(raw.get()).ok())
            .unwrap_or_default();
        let text = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
        Some(Message {
            is_reply: members.method.is_none() && (members.result.is_some() || members.error.is_some()),
            method: members.method,
            id: text(members.id),
            token: text(params.meta.token),
            cancelled: text(params.cancelled),
            version: text(params.version),
        })
    }

    fn field(&self, field: Field) -> String {
        let text = match field {
            Field::Id => &self.id,
            Field::IdPlusOne => {
                let id = self.id.as_deref().and_then(|id| id.parse::<i64>().ok());
                return id.map_or_else(|| "null".to_owned(), |id| (id + 1).to_string());
            }
            Field::Token => &self.token,
            Field::CancelledId => &self.cancelled,
            Field::Version => return self.version.clone().unwrap_or_else(|| "\"2025-06-18\"".to_owned()),
        };
        text.clone().unwrap_or_else(|| "null".to_owned())
    }
}

/// A plain good reply to `initialize`, which offers what the trigger has steps for.
fn init<'a>(scripted: impl Iterator<Item = &'a str>) -> String {
    let families: Vec<&str> = scripted.filter_map(|method| method.split('/').next()).collect();
    let mut offered = vec![r#""tools":{}"#.to_owned()];
    for name in ["prompts", "resources", "logging"] {
        if families.contains(&name) {
            offered.push(format!(r#""{name}":{{}}"#));
        }
    }
    format!(
        r#"{{"jsonrpc":"2.0","id":<ID>,"result":{{"protocolVersion":<VERSION>,"capabilities":{{{}}},"serverInfo":{{"name":"player","version":"1"}}}}}}\n"#,
        offered.join(",")
    )
}
