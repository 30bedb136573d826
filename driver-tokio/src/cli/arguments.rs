//! Arguments of a tool: from words to JSON.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use sans_mcp::ArgumentType;
use sans_mcp::{Limits, Tool};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::text;

/// What was given for the arguments, read and looked through before anything is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// The text of a JSON object.
    Json(String),
    /// Names and values, to be typed by the tool's schema; none of them twice.
    Pairs(Vec<(String, String)>),
}

/// Why arguments cannot be used. Each message names what to change.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadArguments {
    #[error("cannot read the arguments from {from}: {error}")]
    Unreadable { from: String, error: io::Error },
    #[error("the arguments from {from} are over the limit of {} bytes: send less", Limits::PARAMETERS)]
    TooLarge { from: String },
    #[error("the arguments are not JSON at byte {at}: {problem}")]
    NotJson { at: usize, problem: String },
    #[error("the arguments must be a JSON object, such as {{\"path\":\"a.txt\"}}")]
    NotAnObject,
    #[error(
        "`{0}` is no argument: write NAME=VALUE, or one JSON object; the server's command comes after `--`"
    )]
    NotAPair(String),
    #[error("argument `{0}` is given twice: for an array write {0}='[1,2]'")]
    Twice(String),
    #[error("tool `{tool}` has no argument `{name}`{}", suggestion(.near, .known))]
    Unknown { tool: String, name: String, near: Vec<String>, known: Vec<String> },
    #[error("argument `{name}` must be {wanted}, not `{value}`")]
    Type { name: String, wanted: String, value: String },
}

impl Given {
    /// Reads the words after the tool's name: pairs, a JSON object, `@FILE`, or `-` for stdin.
    pub(super) fn read(words: &[String]) -> Result<Given, BadArguments> {
        let json = match words {
            [word] if word == "-" => bounded("stdin", io::stdin().lock())?,
            [word] if word.trim_ascii_start().starts_with(['{', '[']) => word.clone(),
            [word] => match word.strip_prefix('@') {
                Some(path) => read_file(path)?,
                None => return Given::pairs(words),
            },
            words => return Given::pairs(words),
        };
        serde_json::from_str::<IgnoredAny>(&json).map_err(|error| not_json(&json, &error))?;
        if !json.trim_ascii_start().starts_with('{') {
            return Err(BadArguments::NotAnObject);
        }
        Ok(Given::Json(json))
    }

    fn pairs(words: &[String]) -> Result<Given, BadArguments> {
        let mut names = BTreeSet::new();
        let mut pairs = Vec::new();
        for word in words {
            let not_a_pair = || BadArguments::NotAPair(text::one_line(word, text::WORD));
            let (name, value) = super::value::pair(word).ok_or_else(not_a_pair)?;
            if name.starts_with(['{', '[', '@']) {
                return Err(not_a_pair());
            }
            if !names.insert(name.clone()) {
                return Err(BadArguments::Twice(text::one_line(&name, text::WORD)));
            }
            pairs.push((name, value));
        }
        Ok(Given::Pairs(pairs))
    }

    /// The arguments as the text of a JSON object. With `validate` a name that the tool does not have, or a value that
    /// does not fit, is refused; without it such a value is taken as JSON if it is JSON, else as a string.
    pub(super) fn for_tool(self, tool: &Tool, validate: bool) -> Result<String, BadArguments> {
        let pairs = match self {
            Given::Json(json) => return Ok(json),
            Given::Pairs(pairs) => pairs,
        };
        let schema: Value = serde_json::from_str(tool.input_schema()).unwrap_or(Value::Null);
        let takes_any_name = !matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false)));
        let mut members: Vec<String> = Vec::new();
        for (name, value) in &pairs {
            let wanted = match tool.argument_type(name) {
                Some(wanted) => wanted,
                None if takes_any_name || !validate => ArgumentType::Any,
                None => return Err(unknown(tool, name)),
            };
            let json = match typed(&wanted, value) {
                Some(json) => json,
                None if !validate => any(value),
                None => {
                    return Err(BadArguments::Type {
                        name: text::one_line(name, text::WORD),
                        wanted: described(&wanted),
                        value: text::one_line(value, text::WORD),
                    });
                }
            };
            members.push(format!("{}:{json}", string(name)));
        }
        Ok(format!("{{{}}}", members.join(",")))
    }
}

fn read_file(path: &str) -> Result<String, BadArguments> {
    let from = format!("`{path}`");
    match File::open(PathBuf::from(path)) {
        Ok(file) => bounded(&from, file),
        Err(error) => Err(BadArguments::Unreadable { from, error }),
    }
}

fn bounded(from: &str, source: impl Read) -> Result<String, BadArguments> {
    let mut text = String::new();
    let limit = Limits::PARAMETERS;
    source
        .take(limit as u64 + 1)
        .read_to_string(&mut text)
        .map_err(|error| BadArguments::Unreadable { from: from.to_owned(), error })?;
    if text.len() > limit { Err(BadArguments::TooLarge { from: from.to_owned() }) } else { Ok(text) }
}

/// The value as JSON of the type that is wanted, if it can be read so. Numbers keep their digits.
fn typed(wanted: &ArgumentType, value: &str) -> Option<String> {
    let json = |fits: bool| (fits && is_json(value)).then(|| value.trim_ascii().to_owned());
    let first = value.trim_ascii_start().bytes().next();
    let is_number = first.is_some_and(|byte| byte == b'-' || byte.is_ascii_digit());
    match wanted {
        ArgumentType::String => Some(string(value)),
        ArgumentType::Integer => json(is_number && !value.contains(['.', 'e', 'E'])),
        ArgumentType::Number => json(is_number),
        ArgumentType::Boolean => json(matches!(value, "true" | "false")),
        ArgumentType::Null => json(value == "null"),
        ArgumentType::Array => json(first == Some(b'[')),
        ArgumentType::Object => json(first == Some(b'{')),
        // Whatever is a string too is one only if it is nothing else.
        ArgumentType::Union(parts) => {
            let narrow = parts.iter().filter(|part| **part != ArgumentType::String);
            let strings = parts.iter().filter(|part| **part == ArgumentType::String);
            narrow.chain(strings).find_map(|part| typed(part, value))
        }
        _ => Some(any(value)),
    }
}

fn any(value: &str) -> String {
    if is_json(value) { value.trim_ascii().to_owned() } else { string(value) }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn string(text: &str) -> String {
    Value::from(text).to_string()
}

fn described(wanted: &ArgumentType) -> String {
    match wanted {
        ArgumentType::Integer => "an integer, such as 3".to_owned(),
        ArgumentType::Number => "a number, such as 3 or 0.5".to_owned(),
        ArgumentType::Boolean => "true or false".to_owned(),
        ArgumentType::Null => "null".to_owned(),
        ArgumentType::Array => "a JSON array, such as '[1,2]'".to_owned(),
        ArgumentType::Object => "a JSON object, such as '{\"a\":1}'".to_owned(),
        ArgumentType::Union(parts) => parts.iter().map(described).collect::<Vec<_>>().join(", or "),
        other => format!("a {other}"),
    }
}

fn unknown(tool: &Tool, name: &str) -> BadArguments {
    let known: Vec<String> =
        tool.argument_names().iter().map(|name| text::one_line(name, text::WORD)).collect();
    let near = known.iter().filter(|known| text::looks_like(known, name)).take(3).cloned().collect();
    let (tool, name) = (text::one_line(tool.name(), text::WORD), text::one_line(name, text::WORD));
    BadArguments::Unknown { tool, name, near, known }
}

fn suggestion(near: &[String], known: &[String]) -> String {
    /// More names than this are not read.
    const SHOWN: usize = 12;
    match (near, known) {
        ([], []) => "; it takes none".to_owned(),
        ([], known) if known.len() <= SHOWN => format!("; it has `{}`", known.join("`, `")),
        ([], _) => "; `list` shows what it has".to_owned(),
        (near, _) => format!("; did you mean `{}`?", near.join("`, `")),
    }
}

fn not_json(json: &str, error: &serde_json::Error) -> BadArguments {
    let lines = json.split_inclusive('\n').take(error.line().saturating_sub(1));
    let at = lines.map(str::len).sum::<usize>() + error.column();
    let problem = error.to_string();
    let problem = problem.rfind(" at line ").and_then(|end| problem.get(..end)).unwrap_or(&problem);
    BadArguments::NotJson { at, problem: text::one_line(problem, text::LINE) }
}

#[cfg(test)]
mod tests;
