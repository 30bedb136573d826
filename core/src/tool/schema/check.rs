//! Compiles schemas at their first use and checks values against them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::SchemaNote;
use super::graph::Graph;
use super::plain::Plain;
use super::price::{Level, Prices};
use crate::config::Limits;
use crate::sample::escaped;
use crate::tool::raw::{self, Extent};

/// Steps for one value over all its places: about a second at the very worst, and a thousand values of ten thousand
/// steps, or a million of sixteen.
const STEPS: u64 = 16 << 20;

/// Steps over all bytes of its strings. They are some twenty times cheaper.
const SCAN: u64 = 256 << 20;

/// Steps up to which the fault is looked for once more to be named: the search keeps every alternative that failed.
const EXPLAINED: u64 = 1 << 16;

/// Bytes of a problem.
const PROBLEM: usize = 512;

/// Parts and states of patterns that stay compiled in one catalog, some hundred bytes each. A schema that no longer fits
/// is compiled at each use.
const COMPILED: usize = 200_000;

/// Size of one compiled pattern, in bytes.
const PATTERN: usize = 1 << 20;

/// What all checks of a catalog share.
#[derive(Debug)]
pub(in crate::tool) struct Checks {
    cost_limit: usize,
    room: AtomicUsize,
}

impl Checks {
    pub(in crate::tool) fn new(limits: &Limits) -> Checks {
        Checks { cost_limit: limits.schema_cost, room: AtomicUsize::new(COMPILED) }
    }

    fn reserve(&self, size: usize) -> bool {
        let take = |room: usize| room.checked_sub(size);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// The check of one schema. No lock is held while it is compiled or used: two threads that come first at the same time
/// both compile, and one result is kept.
#[derive(Debug, Default)]
pub(in crate::tool) struct Check(OnceLock<State>);

#[derive(Debug)]
enum State {
    Kept(Box<Compiled>),
    /// No room: compiled at each use.
    NotKept,
    SetAside(SchemaNote),
}

impl Check {
    /// Why values are not checked, if so.
    pub(in crate::tool) fn note(&self, schema: &str, checks: &Checks) -> Option<SchemaNote> {
        self.with(schema, checks, |compiled| compiled.err().cloned())
    }

    /// Checks `value`, accepting what cannot be checked.
    pub(in crate::tool) fn check(&self, schema: &str, value: &str, checks: &Checks) -> Result<(), String> {
        self.with(schema, checks, |compiled| compiled.map_or(Ok(()), |compiled| compiled.check(value)))
    }

    fn with<R>(
        &self,
        schema: &str,
        checks: &Checks,
        then: impl FnOnce(Result<&Compiled, &SchemaNote>) -> R,
    ) -> R {
        match self.0.get() {
            Some(State::Kept(compiled)) => then(Ok(compiled)),
            Some(State::SetAside(note)) => then(Err(note)),
            seen => match Compiled::new(schema, checks.cost_limit) {
                Ok(compiled) => {
                    let result = then(Ok(&compiled));
                    if seen.is_none() {
                        let kept = checks.reserve(compiled.size);
                        let state = if kept { State::Kept(Box::new(compiled)) } else { State::NotKept };
                        // Another thread was first: its state serves as well.
                        let _ = self.0.set(state);
                    }
                    result
                }
                Err(note) => {
                    let result = then(Err(&note));
                    let _ = self.0.set(State::SetAside(note));
                    result
                }
            },
        }
    }
}

#[derive(Debug)]
struct Compiled {
    /// If the schema is so plain that most values need not be checked.
    plain: Option<Plain>,
    validator: Validator,
    prices: Prices,
    size: usize,
}

impl Compiled {
    fn new(schema: &str, limit: usize) -> Result<Compiled, SchemaNote> {
        let schema: Value = serde_json::from_str(schema).map_err(|error| invalid(&error))?;
        let draft = draft(&schema)?;
        let graph = Graph::read(&schema, limit, draft == Draft::Draft4)?;
        let prices = Prices::of(&graph, limit)?;
        let states = usize::try_from(graph.pattern_states).unwrap_or(usize::MAX);
        let size = graph.nodes.len().saturating_add(states);
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            .should_validate_formats(false)
            .without_content_media_type_support("application/json")
            .without_content_encoding_support("base64")
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN))
            .build(&schema)
            .map_err(|error| set_aside(&error))?;
        Ok(Compiled { plain: Plain::read(&schema), validator, prices, size })
    }

    fn check(&self, value: &str) -> Result<(), String> {
        if self.plain.as_ref().is_some_and(|plain| plain.surely_accepts(value)) {
            return Ok(());
        }
        let extent = raw::extent(value);
        let Some(steps) = self.prices.at(extent.depth).and_then(|level| affordable(level, extent)) else {
            return Ok(());
        };
        // A number or a string that cannot be held is accepted: it reaches the caller raw.
        let Ok(value) = serde_json::from_str::<Value>(value) else { return Ok(()) };
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        if steps > EXPLAINED {
            return Err("it does not fit the schema, and is too large to say where".to_owned());
        }
        self.validator.validate(&value).or_else(|error| match error.kind() {
            ValidationErrorKind::RegexEngineFailure { .. } => Ok(()),
            _ => Err(problem(&error)),
        })
    }
}

/// The steps for a value, if they are within their bounds.
fn affordable(level: Level, extent: Extent) -> Option<u64> {
    let steps = level.steps.checked_mul(extent.values).filter(|&steps| steps <= STEPS)?;
    level.scan.checked_mul(extent.string_bytes).filter(|&scan| scan <= SCAN)?;
    Some(steps)
}

/// The dialect: 2020-12 unless the schema says otherwise (spec, "JSON Schema usage").
fn draft(schema: &Value) -> Result<Draft, SchemaNote> {
    let Some(dialect) = schema.get("$schema") else { return Ok(Draft::Draft202012) };
    let name = dialect.as_str().unwrap_or("");
    let plain = name.strip_suffix('#').unwrap_or(name);
    match plain.strip_prefix("http://").or_else(|| plain.strip_prefix("https://")).unwrap_or("") {
        "json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "json-schema.org/draft/2019-09/schema" => Ok(Draft::Draft201909),
        "json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        "json-schema.org/draft-06/schema" => Ok(Draft::Draft6),
        "json-schema.org/draft-04/schema" => Ok(Draft::Draft4),
        _ => Err(SchemaNote::UnknownDialect(escaped(&dialect.to_string(), 256).into())),
    }
}

fn set_aside(error: &ValidationError<'_>) -> SchemaNote {
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => {
            SchemaNote::BadPattern(escaped(error.instance().as_str().unwrap_or(""), 256).into())
        }
        _ => SchemaNote::Invalid(problem(error).into()),
    }
}

fn invalid(error: &serde_json::Error) -> SchemaNote {
    SchemaNote::Invalid(escaped(&error.to_string(), 256).into())
}

/// What does not fit and where, without the value itself.
fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let colon = if path.is_empty() { "" } else { ": " };
    escaped(&format!("{path}{colon}{}", error.masked()), PROBLEM)
}

#[cfg(test)]
mod tests;
