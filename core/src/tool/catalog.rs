//! The tools of a server, walked page by page (row L24).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::definition::Tool;
use super::raw;
use super::schema::Checks;
use crate::config::Limits;
use crate::error::WalkFault;
use crate::sample::{escaped, is_hidden};
use crate::wire::json;

mod near;

/// What a server offered when its list was last walked. It never changes: a refresh makes a new one (row L33).
///
/// Tools that could not be admitted are set aside with a reason, and the rest of the list survives.
#[derive(Debug, Default)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub struct Catalog {
    tools: Vec<Arc<Tool>>,
    by_name: BTreeMap<Box<str>, usize>,
    set_aside: Vec<SetAside>,
    set_aside_count: usize,
    incomplete: Option<WalkFault>,
}

impl Catalog {
    /// 1 MiB: the largest definition of one tool, ten times the largest whole list seen.
    pub const TOOL: usize = 1 << 20;
    /// 256 bytes: the longest name of a tool; the specification recommends 128 characters.
    pub const NAME: usize = 256;
    /// 256: tools set aside that are described; the others are only counted.
    pub const SET_ASIDE: usize = 256;

    /// The tools in the server's order.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).and_then(|&at| self.tools.get(at))
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What was set aside and why, in the server's order: the first [`SET_ASIDE`](Catalog::SET_ASIDE) of them.
    pub fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    /// How many were set aside, those not described included.
    pub fn set_aside_count(&self) -> usize {
        self.set_aside_count
    }

    /// Why the walk ended early, if it did; the tools up to there are kept.
    pub fn incomplete(&self) -> Option<WalkFault> {
        self.incomplete
    }

    /// At most three names that look like `name`, best first: the same but for case, a few letters apart, or one the
    /// start of the other. For a hint to a person or a model; a look-alike is never called by itself.
    pub fn near(&self, name: &str) -> Vec<String> {
        near::nearest(name, self.tools.iter().map(|tool| tool.name()))
    }

    /// The admitted tools as one `{"tools":[…]}`, each as the server sent it.
    pub fn to_json(&self) -> String {
        let bytes: usize = self.tools.iter().map(|tool| tool.raw().len() + 1).sum();
        let mut json = String::with_capacity(bytes + 12);
        json.push_str("{\"tools\":[");
        for (at, tool) in self.tools.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            json.push_str(tool.raw());
        }
        json.push_str("]}");
        json
    }
}

/// A listed tool that was not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetAside {
    /// Its name, bounded and escaped; empty if it has none.
    pub name: Box<str>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool `{}` set aside: {}", self.name, self.reason)
    }
}

/// Why a listed tool was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// It is no JSON object.
    #[error("it is no object")]
    NotAnObject,
    /// It has no `name`, or one that is no string.
    #[error("it has no name")]
    NoName,
    /// The name is empty, over [`Catalog::NAME`] bytes, or has control, format or bidirectional characters.
    #[error("its name is empty, too long, or has characters that cannot be seen")]
    BadName,
    /// A tool of this name came before it.
    #[error("a tool of this name came before it")]
    Duplicate,
    /// It has no `inputSchema`.
    #[error("it has no input schema")]
    NoInputSchema,
    /// Its `inputSchema` is no JSON object.
    #[error("its input schema is no object")]
    InputSchemaNotAnObject,
    /// Its definition is over [`Catalog::TOOL`] bytes.
    #[error("its definition is over {} bytes", Catalog::TOOL)]
    TooLarge,
    /// A schema is nested deeper than [`Limits::schema_depth`].
    #[error("a schema of it is nested too deep")]
    SchemaTooDeep,
    /// [`Limits::tools`] or [`Limits::catalog`] is reached.
    #[error("the catalog is full")]
    CatalogFull,
}

/// A catalog in the making.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(crate) struct Draft {
    catalog: Catalog,
    checks: Arc<Checks>,
    cursors: BTreeSet<Box<str>>,
    pages: usize,
    bytes: usize,
    tools_limit: usize,
    pages_limit: usize,
    bytes_limit: usize,
    depth_limit: usize,
    description_limit: usize,
}

impl Draft {
    pub(crate) fn new(limits: &Limits) -> Draft {
        Draft {
            catalog: Catalog::default(),
            checks: Arc::new(Checks::new(limits)),
            cursors: BTreeSet::new(),
            pages: 0,
            bytes: 0,
            tools_limit: limits.tools,
            pages_limit: limits.pages,
            bytes_limit: limits.catalog,
            depth_limit: limits.schema_depth,
            description_limit: limits.description,
        }
    }

    /// Takes the raw `result` of one `tools/list`, and gives the cursor of the next page as raw JSON, to be sent back
    /// byte by byte as it came; none after the last page.
    ///
    /// Cursors that were seen are kept raw, so at most [`Limits::pages`] of them, within [`Limits::catalog`] bytes.
    pub(crate) fn page(&mut self, result: &str) -> Result<Option<String>, WalkFault> {
        self.pages += 1;
        let (mut list, mut cursor) = (None, None);
        let is_object = raw::members(result, |key, value| match &*key {
            "tools" => list = Some(value),
            "nextCursor" => cursor = (value != "null").then_some(value),
            _ => {}
        });
        let Some(list) = list.filter(|list| is_object && json::is_array(list, 0)) else {
            return Err(WalkFault::NoList(self.pages));
        };
        for item in raw::elements(list) {
            self.item(item);
        }
        let Some(cursor) = cursor else { return Ok(None) };
        if self.cursors.contains(cursor) {
            return Err(WalkFault::RepeatedCursor(self.pages));
        }
        if self.pages >= self.pages_limit || self.bytes + cursor.len() > self.bytes_limit {
            return Err(WalkFault::TooManyPages(self.pages));
        }
        self.bytes += cursor.len();
        self.cursors.insert(cursor.into());
        Ok(Some(cursor.to_owned()))
    }

    /// The catalog, with why the walk ended if not by its last page.
    pub(crate) fn finish(self, fault: Option<WalkFault>) -> Catalog {
        let mut catalog = self.catalog;
        catalog.tools.shrink_to_fit();
        catalog.incomplete = fault;
        catalog
    }

    fn item(&mut self, item: &str) {
        let listed = Listed::read(item);
        match self.admit(item, &listed) {
            Ok(tool) => {
                self.bytes += item.len();
                self.catalog.by_name.insert(tool.name().into(), self.catalog.tools.len());
                self.catalog.tools.push(Arc::new(tool));
            }
            Err(reason) => {
                self.catalog.set_aside_count += 1;
                if self.catalog.set_aside.len() < Catalog::SET_ASIDE {
                    let name = listed.and_then(|listed| raw::string(listed.name?)).unwrap_or_default();
                    let name = escaped(&name, Catalog::NAME).into_boxed_str();
                    self.catalog.set_aside.push(SetAside { name, reason });
                }
            }
        }
    }

    fn admit(&self, item: &str, listed: &Option<Listed<'_>>) -> Result<Tool, Reason> {
        let listed = listed.as_ref().ok_or(Reason::NotAnObject)?;
        let name = listed.name.and_then(raw::string).ok_or(Reason::NoName)?;
        if name.is_empty() || name.len() > Catalog::NAME || name.contains(is_unsafe) {
            return Err(Reason::BadName);
        }
        if self.catalog.by_name.contains_key(&*name) {
            return Err(Reason::Duplicate);
        }
        let input = listed.input_schema.filter(|schema| *schema != "null").ok_or(Reason::NoInputSchema)?;
        if !raw::is_object(input) {
            return Err(Reason::InputSchemaNotAnObject);
        }
        if item.len() > Catalog::TOOL {
            return Err(Reason::TooLarge);
        }
        let schemas = [Some(input), listed.output_schema];
        if schemas.into_iter().flatten().any(|schema| raw::extent(schema).depth > self.depth_limit) {
            return Err(Reason::SchemaTooDeep);
        }
        if self.catalog.len() >= self.tools_limit || self.bytes + item.len() > self.bytes_limit {
            return Err(Reason::CatalogFull);
        }
        Ok(Tool::new(item, name.into_owned(), input, listed, self.description_limit, &self.checks))
    }
}

/// What a name must not have: what cannot be seen, and what stands for a character that could not be decoded.
fn is_unsafe(c: char) -> bool {
    is_hidden(c) || c == '\u{fffd}'
}

/// The raw members of a listed tool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listed<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) title: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) input_schema: Option<&'a str>,
    pub(super) output_schema: Option<&'a str>,
    pub(super) annotations: Option<&'a str>,
}

impl<'a> Listed<'a> {
    pub(super) fn read(item: &'a str) -> Option<Listed<'a>> {
        let mut listed = Listed::default();
        raw::members(item, |key, value| {
            let member = match &*key {
                "name" => &mut listed.name,
                "title" => &mut listed.title,
                "description" => &mut listed.description,
                "inputSchema" => &mut listed.input_schema,
                "outputSchema" => &mut listed.output_schema,
                "annotations" => &mut listed.annotations,
                _ => return,
            };
            *member = Some(value);
        })
        .then_some(listed)
    }
}

#[cfg(feature = "explore")]
impl crate::digest::Digest for Arc<Catalog> {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        (**self).digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        Arc::make_mut(self).alter(place);
    }
}

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Catalog { tools, by_name, set_aside, set_aside_count, incomplete } leaves out {});

#[cfg(feature = "explore")]
crate::digest::digest_fields!(Draft { catalog, cursors, pages, bytes } leaves out {
    checks, tools_limit, pages_limit, bytes_limit, depth_limit, description_limit,
});

#[cfg(feature = "explore")]
crate::digest::digest_debug!(SetAside: SetAside { name: "".into(), reason: Reason::NoName }, SetAside { name: "".into(), reason: Reason::BadName });

#[cfg(test)]
mod tests;
