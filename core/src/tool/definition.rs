//! One tool as its server defined it.

use std::ops::Range;
use std::sync::Arc;

use super::argument::{self, ArgumentType};
use super::catalog::Listed;
use super::schema::{Check, Checks, SchemaNote};
use super::{ToolResult, raw};
use crate::sample;

/// A tool as its server defined it: every word of it is the server's and not to be trusted.
///
/// The definition is kept as the text it was, and schemas are compiled at their first use.
#[derive(Debug)]
pub struct Tool {
    raw: Box<str>,
    name: Box<str>,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
    input_schema: Range<usize>,
    output_schema: Option<Range<usize>>,
    annotations: Option<Range<usize>>,
    checks: Arc<Checks>,
    input: Check,
    output: Check,
}

impl Tool {
    /// Stands at the end of a description that was cut.
    pub const CUT: &'static str = " [...]";

    pub(super) fn new(
        item: &str,
        name: String,
        input_schema: &str,
        listed: &Listed<'_>,
        description_limit: usize,
        checks: &Arc<Checks>,
    ) -> Tool {
        let present =
            |json: Option<&str>| json.filter(|json| *json != "null").map(|json| raw::span(item, json));
        Tool {
            title: title(listed).map(String::into_boxed_str),
            description: listed
                .description
                .and_then(raw::string)
                .map(|text| cut(&text, description_limit).into_boxed_str()),
            input_schema: raw::span(item, input_schema),
            output_schema: present(listed.output_schema),
            annotations: present(listed.annotations),
            raw: item.into(),
            name: name.into_boxed_str(),
            checks: Arc::clone(checks),
            input: Check::default(),
            output: Check::default(),
        }
    }

    /// The name under which it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name for people: `title`, else `annotations.title`, else `name` (spec, "Tools"); at most
    /// [`Catalog::NAME`](crate::Catalog) bytes of it.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// What it does, at most [`Limits::description`](crate::Limits) bytes, then [`Tool::CUT`].
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The schema of its arguments as raw JSON, unchanged.
    pub fn input_schema(&self) -> &str {
        self.part(&self.input_schema)
    }

    /// The schema of its structured results as raw JSON, unchanged, if it has one.
    pub fn output_schema(&self) -> Option<&str> {
        self.output_schema.as_ref().map(|span| self.part(span))
    }

    /// Its hints as raw JSON. They bind nobody: a server may claim what it likes.
    pub fn annotations(&self) -> Option<&str> {
        self.annotations.as_ref().map(|span| self.part(span))
    }

    /// The whole definition as raw JSON, unchanged.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Names of its arguments, in the order of the schema.
    pub fn argument_names(&self) -> Vec<String> {
        argument::names(self.input_schema())
    }

    /// What the schema asks of the argument `name`; `None` if the schema does not name it. For a command line that has
    /// to make a value out of a word.
    pub fn argument_type(&self, name: &str) -> Option<ArgumentType> {
        argument::type_of(self.input_schema(), name)
    }

    /// One line for listings, such as `add(a: number, b?: number) -> object`, bounded and escaped.
    pub fn signature(&self) -> String {
        argument::signature(&self.name, self.input_schema(), self.output_schema())
    }

    /// Why arguments or results are not checked, if so: the tool can still be called (row L24). Compiles the schemas if
    /// that has not been done. Always `None` without the feature `schema`.
    pub fn schema_note(&self) -> Option<SchemaNote> {
        let output = self.output_schema().map(|schema| self.output.note(schema, &self.checks));
        self.input.note(self.input_schema(), &self.checks).or(output.flatten())
    }

    /// Checks `arguments`, the text of a JSON object, against the input schema, at a bounded cost (row L25).
    ///
    /// Accepts what cannot be checked: where [`schema_note`](Tool::schema_note) says so; values too large or too deep
    /// for the price of the schema; numbers and strings that no JSON library can hold. Formats such as `date` are not
    /// checked. Without the feature `schema` everything is accepted. Takes no lock and may run on any thread.
    ///
    /// # Errors
    ///
    /// What does not fit, naming the argument by JSON pointer, in at most 512 bytes. Values are not quoted.
    pub fn check_arguments(&self, arguments: &str) -> Result<(), String> {
        self.input.check(self.input_schema(), arguments, &self.checks)
    }

    /// Checks `result`, the raw result of a call, against the output schema, under the same rules as
    /// [`check_arguments`](Tool::check_arguments).
    ///
    /// A result with `isError` is never checked. Where there is an output schema, structured content must be there.
    ///
    /// # Errors
    ///
    /// What does not fit, or that the result is no tool result.
    pub fn check_result(&self, result: &str) -> Result<(), String> {
        let Some(schema) = self.output_schema().filter(|_| cfg!(feature = "schema")) else { return Ok(()) };
        let result = ToolResult::parse(result).map_err(|error| error.to_string())?;
        match result.structured() {
            _ if result.is_error() => Ok(()),
            Some(structured) => self.output.check(schema, structured, &self.checks),
            None => Err("there is no structured content, which the schema asks for".to_owned()),
        }
    }

    fn part(&self, span: &Range<usize>) -> &str {
        self.raw.get(span.clone()).unwrap_or("")
    }
}

fn title(listed: &Listed<'_>) -> Option<String> {
    let annotated = || {
        let mut title = None;
        raw::members(listed.annotations?, |key, value| {
            if key == "title" {
                title = Some(value);
            }
        });
        title
    };
    let title = [listed.title, annotated()]
        .into_iter()
        .flatten()
        .filter_map(raw::string)
        .find(|text| !text.is_empty())?;
    Some(sample::bounded(&title, super::Catalog::NAME).0)
}

fn cut(text: &str, limit: usize) -> String {
    let (mut kept, cut) = sample::bounded(text, limit);
    if cut {
        kept.push_str(Tool::CUT);
    }
    kept
}

#[cfg(test)]
pub(super) mod tests;

/// A tool is what its definition says; all else is made from that.
#[cfg(feature = "explore")]
impl crate::digest::Digest for Arc<Tool> {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        into.text(self.raw.as_bytes());
    }

    /// It never changes.
    #[cfg(test)]
    fn alter(&mut self, _: &mut crate::digest::Place) {}
}
