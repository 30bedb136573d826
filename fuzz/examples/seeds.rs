//! Makes the seeds of the fuzz targets from the recorded conversations and the fault cases:
//! `cargo run -p sans-mcp-fuzz --example seeds`.
//!
//! A seed's name begins with `seed-`; it is written anew each time, and what a fuzzer found stays.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use sans_mcp_tests::case::{self, Part};
use sans_mcp_tests::transcript::Transcript;
use serde_json::Value;

/// Largest seed, in bytes: a fuzzer changes small inputs to better effect.
const LARGEST: usize = 4 << 10;

/// Ids that the session of the target gives to its open requests.
const OPEN: [&str; 3] = ["4", "5", "6"];

fn main() -> io::Result<()> {
    let mut seeds = Seeds::default();
    for transcript in Transcript::legacy()? {
        seeds.conversation(&transcript)?;
    }
    for case in case::playable()? {
        let stream = said(&case.trigger);
        seeds.put("lines", &case.id, &[&[0, 7][..], &stream].concat())?;
        seeds.put("lines", &format!("{}-strict", case.id), &[&[4 + 2, 3][..], &stream].concat())?;
        for (at, line) in stream.split(|byte| *byte == b'\n').enumerate().take(4) {
            seeds.put("envelope", &format!("{}-{at}", case.id), &[&[0][..], line].concat())?;
        }
        seeds.put(
            "stderr",
            &case.id,
            &[b"s3cr3t-token\xffline one of it\nline two of it\xff\x20\x07", &stream[..]].concat(),
        )?;
        let says = stream.split_inclusive(|byte| *byte == b'\n').map(|line| [&[1, 20][..], line].concat());
        let calls = [0, 0, 0, 0, 0, 2];
        seeds.put(
            "session",
            &case.id,
            &[&[8, 1, 5][..], &calls, &says.collect::<Vec<_>>().concat()].concat(),
        )?;
    }
    seeds.histories()?;
    seeds.scripts()
}

/// What a case's server writes, whatever it is asked.
fn said(trigger: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    for step in trigger.split(" ;; ") {
        let text = step.split_once("=> ").map_or(step, |(_, text)| text);
        write(&case::parse(text, 1_100).unwrap_or_default(), &mut stream);
    }
    stream
}

fn write(parts: &[Part], stream: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Bytes(bytes) => stream.extend_from_slice(bytes),
            Part::Field(_) => stream.push(b'4'),
            Part::Repeat(count, parts) => (0..*count.min(&40)).for_each(|_| write(parts, stream)),
            Part::Sleep(_) | Part::Chunk(..) | Part::Exit(_) | Part::WaitReply(_) => {}
        }
    }
}

#[derive(Default)]
struct Seeds {
    /// Shapes of lines that are there already.
    shapes: BTreeSet<String>,
}

impl Seeds {
    fn put(&self, target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        fs::create_dir_all(&directory)?;
        if bytes.is_empty() || bytes.len() > LARGEST {
            return Ok(());
        }
        fs::write(directory.join(format!("seed-{name}")), bytes)
    }

    /// Whether no line of this shape came before.
    fn is_new(&mut self, target: &str, value: &Value) -> bool {
        self.shapes.insert(format!("{target} {}", shape(value, 4)))
    }

    fn conversation(&mut self, transcript: &Transcript) -> io::Result<()> {
        let name = &transcript.name;
        let (mut lines, mut session, mut values) = (vec![0, 9], vec![32, 1, 9], Vec::new());
        for (at, turn) in transcript.turns.iter().enumerate() {
            if let Some(arguments) = turn.parameter("arguments") {
                values.push(arguments.to_string());
            }
            if let Some(said) = turn.said.as_ref().filter(|said| self.is_new("said", said)) {
                let params = said.get("params").map(Value::to_string).unwrap_or_default();
                let method = said.get("method").and_then(Value::as_str).unwrap_or_default();
                let text = format!("{params}\u{ff}com.example/key\u{ff}[1]\u{ff}t");
                let text = text.replace('\u{ff}', "\0").into_bytes();
                let text: Vec<u8> =
                    text.into_iter().map(|byte| if byte == 0 { 0xff } else { byte }).collect();
                self.put("encoding", &format!("{name}-{at}-call"), &[&[0, 6][..], &text].concat())?;
                let request = [&[1, 1][..], method.as_bytes(), &[0xff], params.as_bytes()].concat();
                self.put("encoding", &format!("{name}-{at}-request"), &request)?;
            }
            for answer in &turn.answers {
                let value: Value = serde_json::from_str(answer).unwrap_or_default();
                if answer.len() < 600 && self.is_new("answer", &value) {
                    let id = value.get("id").map(Value::to_string).unwrap_or_default();
                    let mut line = answer.clone();
                    for open in OPEN.iter().take(1) {
                        line = line.replacen(&format!("\"id\":{id}"), &format!("\"id\":{open}"), 1);
                    }
                    self.put("envelope", &format!("{name}-{at}"), &[&[0][..], line.as_bytes()].concat())?;
                    lines.extend_from_slice(line.as_bytes());
                    lines.push(b'\n');
                    session.extend_from_slice(&[1, 20]);
                    let line = line.as_bytes().to_vec();
                    let marked = replace_id(&line);
                    session.extend_from_slice(&marked);
                    session.extend_from_slice(b"\n\x01\x00\x00");
                }
                if let Some(tools) = value.pointer("/result/tools").and_then(Value::as_array) {
                    self.tools(name, tools, &values)?;
                }
            }
        }
        self.put("lines", name, &lines)?;
        self.put("session", name, &session)
    }

    /// Each tool of a new shape by itself, with the arguments that were seen.
    fn tools(&mut self, name: &str, tools: &[Value], values: &[String]) -> io::Result<()> {
        for (at, tool) in tools.iter().enumerate().filter(|(_, tool)| tool.to_string().len() < 1_500) {
            if self.is_new("tool", tool) {
                let values = if values.is_empty() { vec!["{}".to_owned()] } else { values.to_vec() };
                let text = format!("{{\"tools\":[{tool}]}}\n\n{}", values.join("\n"));
                self.put("catalog", &format!("{name}-{at}"), &[&[0][..], text.as_bytes()].concat())?;
            }
        }
        let list = tools.iter().take(3).map(Value::to_string).collect::<Vec<_>>().join(",");
        let text = format!("{{\"tools\":[{list}],\"nextCursor\":\"2\"}}\n{{\"tools\":[{list}]}}\n\n{{}}\n[]");
        self.put("catalog", &format!("{name}-pages"), &[&[1][..], text.as_bytes()].concat())
    }

    /// A few lives: calls and answers of every kind, walks, a full pipe, a shutdown, an exit.
    fn histories(&self) -> io::Result<()> {
        let answers: Vec<u8> = (0..15).flat_map(|how| [2, 0, 0, 0, 3, 0, 13, 0, how, 0]).collect();
        let sayings: Vec<u8> = (0..15).flat_map(|what| [14, what, 3, 0, 8, 0]).collect();
        let walk = [14, 8, 0, 2, 2, 0, 0, 1, 0, 13, 0, 1, 0, 13, 0, 0, 0, 13, 0, 0, 0];
        let stalled = [18, 5, 2, 0, 9, 1, 9, 0, 11, 200, 0, 18, 255, 0, 7, 0, 0];
        let ends: [&[u8]; 6] =
            [&[10, 0], &[9, 20, 0, 11, 255, 0], &[19, 0], &[20, 0], &[21, 1, 0], &[21, 0, 0]];
        for (number, middle) in [&answers[..], &sayings, &walk, &stalled].into_iter().enumerate() {
            for (at, end) in ends.iter().enumerate() {
                for bits in [0, 8, 4] {
                    let setup = [bits, u8::try_from(at).unwrap_or(0), 0];
                    let name = format!("{number}-{at}-{bits}");
                    self.put("history", &name, &[&setup[..], middle, end].concat())?;
                }
            }
        }
        self.put("history", "unconnected", &[16, 0, 1, 2, 0, 0, 0, 0, 0, 13, 0, 0, 0, 13, 0, 1, 0, 10])?;
        self.put("history", "lies", &[32, 0, 0, 2, 0, 0, 0, 0, 23, 3, 0, 23, 8, 4, 0, 23, 11, 9, 0, 10])
    }

    fn scripts(&self) -> io::Result<()> {
        let documentation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/script.md");
        let text = fs::read_to_string(documentation)?;
        let example: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"op\"")).collect();
        self.put("script", "example", format!("\x03\x00{}", example.join("\n")).as_bytes())?;
        let all = r#"{"op":"call","id":"a","tool":"t","arguments":{"n":1.0},"timeout_ms":50,"progress":true,"reset_on_progress":true,"max_total_ms":null,"meta":{"traceparent":"x"}}
{"op":"request","id":"b","method":"resources/list","params":{"cursor":"1"}}
{"op":"ping","timeout_ms":null}
{"op":"list","id":"c"}
{"op":"notify","method":"notifications/x","params":{}}
{"op":"cancel","id":"a","reason":"no"}
{"op":"wait","id":"b"}
{"op":"sleep","ms":5}
{"op":"counters"}
{"op":"wait"}
{"op":"shutdown","grace_ms":10}
{"op":"close"}"#;
        for moods in 0..8_u8 {
            let header = [9, 6, moods, moods + 1, 0, moods + 2, 0, 0];
            self.put("script", &format!("every-command-{moods}"), &[&header[..], all.as_bytes()].concat())?;
        }
        for (at, line) in all.lines().enumerate() {
            self.put("script", &format!("command-{at}"), &[&[1, 1, 0][..], line.as_bytes()].concat())?;
        }
        self.put(
            "script",
            "odd",
            b"\x01\x00{\"op\":\"call\"}\n\n{\"op\":1}\nno\n{\"op\":\"ping\",\"id\":\"all\"}\n\xff",
        )
    }
}

/// Puts the mark of the newest open request where the id stands.
fn replace_id(line: &[u8]) -> Vec<u8> {
    let wanted = b"\"id\":4";
    match line.windows(wanted.len()).position(|window| window == wanted) {
        Some(at) => {
            let (before, after) = line.split_at(at + wanted.len() - 1);
            [before, &[0xfe], after.get(1..).unwrap_or_default()].concat()
        }
        None => line.to_vec(),
    }
}

/// Names of members and kinds of values, so many levels deep.
fn shape(value: &Value, depth: usize) -> String {
    match value {
        _ if depth == 0 => "…".to_owned(),
        Value::Object(members) => {
            let parts: Vec<String> =
                members.iter().map(|(name, value)| format!("{name}:{}", shape(value, depth - 1))).collect();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(values) => {
            let parts: BTreeSet<String> = values.iter().map(|value| shape(value, depth - 1)).collect();
            format!("[{}]", parts.into_iter().collect::<Vec<_>>().join(","))
        }
        Value::String(_) => "s".to_owned(),
        Value::Number(_) => "n".to_owned(),
        Value::Bool(_) => "b".to_owned(),
        Value::Null => "0".to_owned(),
    }
}
