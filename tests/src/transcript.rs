//! Recorded conversations with real servers, and a server that says the same again.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::peer::{Agenda, Peer};

/// One recorded line.
#[derive(Clone, Debug, Deserialize)]
pub struct Recorded {
    /// `c2s` or `s2c`.
    pub dir: String,
    /// The line.
    pub line: String,
}

/// A conversation, cut where the client asked.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Name of the file, without its ending.
    pub name: String,
    /// What the client asked, and what the server said before the client asked again.
    pub turns: Vec<Turn>,
}

/// What the client asked, and what came then.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The client's request.
    pub said: Option<Value>,
    /// The server's lines.
    pub answers: Vec<String>,
}

impl Turn {
    /// Method of what the client said, if it was a request with an integer id.
    pub fn request(&self) -> Option<(&str, u64)> {
        let said = self.said.as_ref()?;
        Some((said.get("method")?.as_str()?, said.get("id")?.as_u64()?))
    }

    /// A member of its parameters.
    pub fn parameter(&self, name: &str) -> Option<&Value> {
        self.said.as_ref()?.get("params")?.get(name)
    }
}

impl Transcript {
    /// All transcripts that begin with the `initialize` handshake.
    ///
    /// # Errors
    /// A file cannot be read, or is no transcript.
    pub fn legacy() -> io::Result<Vec<Transcript>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/transcripts");
        let mut all = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let name =
                    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                all.push(Transcript::read(name, &fs::read_to_string(path)?)?);
            }
        }
        all.retain(|transcript| {
            transcript.answer_to("initialize").is_some_and(|answer| answer.get("result").is_some())
        });
        all.sort_by(|one, two| one.name.cmp(&two.name));
        Ok(all)
    }

    fn read(name: String, text: &str) -> io::Result<Transcript> {
        let mut turns: Vec<Turn> = Vec::new();
        for line in text.lines() {
            let recorded: Recorded = serde_json::from_str(line)?;
            if recorded.dir == "c2s" {
                let turn = Turn { said: serde_json::from_str(&recorded.line).ok(), answers: Vec::new() };
                // What comes after anything else belongs to the request before: a server that asks back answers then.
                if turn.request().is_some() {
                    turns.push(turn);
                }
            } else if let Some(turn) = turns.last_mut() {
                turn.answers.push(recorded.line);
            }
        }
        Ok(Transcript { name, turns })
    }

    /// The answer to the first request of a method.
    pub fn answer_to(&self, method: &str) -> Option<Value> {
        let (_, id) = self.turns.iter().filter_map(Turn::request).find(|(asked, _)| *asked == method)?;
        self.answer(id)
    }

    /// The answer to a request.
    pub fn answer(&self, id: u64) -> Option<Value> {
        let lines = self.turns.iter().flat_map(|turn| &turn.answers);
        let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.find(|message| {
            message.get("method").is_none() && message.get("id").and_then(Value::as_u64) == Some(id)
        })
    }

    /// The requests of the recording that a session can make again, each with its answer: everything after the handshake that
    /// was answered and whose id is an integer of the recording's own counter.
    pub fn requests(&self) -> Vec<&Turn> {
        let repeatable = |turn: &&Turn| match turn.request() {
            Some(("initialize" | "server/discover", _)) | None => false,
            Some((_, id)) => id < 1_000 && self.answer(id).is_some(),
        };
        self.turns.iter().filter(repeatable).collect()
    }
}

/// Answers as the recording did, with the ids of the session that asks now.
#[derive(Debug)]
pub struct Replay {
    initialize: Vec<String>,
    /// What is asked for, and the recorded id and lines that answer it, in the order of the recording.
    turns: VecDeque<(Key, u64, Vec<String>)>,
    /// Answers to `tools/list` of the session's own.
    list: Option<(u64, Vec<String>)>,
    listed: bool,
}

/// What tells requests apart: the method, and the tool or the cursor.
type Key = (String, Option<Value>, Option<Value>);

fn key(message: &Value) -> Option<Key> {
    let parameter = |name: &str| message.get("params").and_then(|params| params.get(name)).cloned();
    Some((message.get("method")?.as_str()?.to_owned(), parameter("name"), parameter("cursor")))
}

impl Replay {
    /// Plays the answers of `transcript` to the handshake and to its first list, and then those of `turns`, each once.
    pub fn new(transcript: &Transcript, turns: &[&Turn]) -> Replay {
        let lines = |turn: &Turn| turn.request().map(|(_, id)| (id, turn.answers.clone()));
        let first = |method: &str| {
            transcript.turns.iter().find(|turn| turn.request().is_some_and(|(asked, _)| asked == method))
        };
        let keyed = |turn: &&Turn| {
            let (id, answers) = lines(turn)?;
            Some((turn.said.as_ref().and_then(key)?, id, answers))
        };
        Replay {
            initialize: first("initialize").map(|turn| turn.answers.clone()).unwrap_or_default(),
            turns: turns.iter().filter_map(keyed).collect(),
            list: first("tools/list").and_then(lines),
            listed: false,
        }
    }

    /// The recorded id and the lines that answer a request.
    fn lines(&mut self, asked: &Key) -> (Option<u64>, Vec<String>) {
        let next = self.turns.iter().position(|(recorded, ..)| recorded == asked);
        let own_list = asked.0 == "tools/list" && (!self.listed || next.is_none());
        let lines = if asked.0 == "initialize" {
            return (None, std::mem::take(&mut self.initialize));
        } else if own_list {
            self.listed = true;
            self.list.clone()
        } else {
            next.and_then(|next| self.turns.drain(..=next).next_back()).map(|(_, id, lines)| (id, lines))
        };
        lines.map_or((None, Vec::new()), |(id, lines)| (Some(id), lines))
    }
}

impl Peer for Replay {
    fn line(&mut self, line: &[u8], agenda: &mut Agenda) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let (Some(asked), Some(id)) = (key(&message), message.get("id").and_then(Value::as_u64)) else {
            return;
        };
        let (recorded, lines) = self.lines(&asked);
        for line in lines {
            agenda.say(&renamed(&line, recorded, id));
        }
    }
}

/// The same line for another request. Without a `recorded` id, whatever answers.
fn renamed(line: &str, recorded: Option<u64>, id: u64) -> String {
    let Ok(message) = serde_json::from_str::<Value>(line) else { return line.to_owned() };
    let answers = message.get("method").is_none() && message.get("id").is_some();
    let old = message.get("id").and_then(Value::as_u64);
    match old.filter(|old| answers && recorded.is_none_or(|recorded| recorded == *old)) {
        // The text of the recording stays as it is but for the id, which is a member of its own.
        Some(old) => replace_id(line, old, id),
        None => line.to_owned(),
    }
}

/// Replaces the id of the top level, which stands first or last in all recordings.
fn replace_id(line: &str, old: u64, new: u64) -> String {
    let (before, after) = (format!("\"id\":{old}"), format!("\"id\":{new}"));
    let spaced = format!("\"id\": {old}");
    let found =
        [line.find(&before).map(|at| (at, before.len())), line.find(&spaced).map(|at| (at, spaced.len()))];
    let last =
        [line.rfind(&before).map(|at| (at, before.len())), line.rfind(&spaced).map(|at| (at, spaced.len()))];
    let early = found.into_iter().flatten().find(|(at, _)| *at < 40);
    let Some((at, length)) = early.or_else(|| last.into_iter().flatten().max()) else {
        return line.to_owned();
    };
    let (head, tail) = (line.get(..at).unwrap_or_default(), line.get(at + length..).unwrap_or_default());
    format!("{head}{after}{tail}")
}
