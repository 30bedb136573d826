//! The parts of a schema and how they apply each other.

use std::collections::{BTreeMap, btree_map};

use serde_json::{Map, Value};

use super::{SchemaNote, pattern, resolve_local};
use crate::sample::escaped;

/// Steps for `multipleOf`: what does not fit into a machine word is divided as a fraction of many digits, which takes some ten
/// microseconds.
const DIVISION: u64 = 160;

/// Every part of a schema that can be applied to a value, the root first.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// States of all patterns together.
    pub(super) pattern_states: u64,
}

/// One part: what it costs by itself, and which parts it applies to what. Numbers are places in [`Graph::nodes`].
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Steps for one value.
    pub(super) steps: u64,
    /// Steps for each byte of a string or name.
    pub(super) scan: u64,
    /// Applied to the value itself.
    pub(super) in_place: Vec<usize>,
    /// Applied to members, at most one of them to each.
    pub(super) member_one: Vec<usize>,
    /// Applied to members, each to every one.
    pub(super) member_all: Vec<usize>,
    /// Applied to elements, at most one of them to each.
    pub(super) element_one: Vec<usize>,
    /// Applied to elements, each to every one.
    pub(super) element_all: Vec<usize>,
    /// Compares elements with each other, all that is in them included.
    pub(super) unique: bool,
}

/// Keywords that make the cost of a value depend on what other keywords made of it, or a reference on how it was reached.
const UNBOUNDED: [&str; 6] = [
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
];

impl Graph {
    /// Reads `schema`, of at most `limit` parts and states of patterns. `id_names` says whether its dialect gives
    /// documents their names by `id`, as draft 4 does.
    pub(super) fn read(schema: &Value, limit: usize, id_names: bool) -> Result<Graph, SchemaNote> {
        let mut reader = Reader::new(schema, limit, id_names)?;
        reader.place(schema)?;
        let mut next = 0;
        while let Some(&part) = reader.parts.get(next) {
            let node = reader.node(part)?;
            reader.graph.nodes.push(node);
            next += 1;
        }
        Ok(reader.graph)
    }
}

struct Reader<'s> {
    root: &'s Value,
    id: Option<&'s str>,
    /// `None`: there twice.
    anchors: BTreeMap<&'s str, Option<&'s Value>>,
    /// Parts by address, which tells them apart while the tree is borrowed.
    places: BTreeMap<usize, usize>,
    parts: Vec<&'s Value>,
    limit: usize,
    graph: Graph,
}

impl<'s> Reader<'s> {
    fn new(root: &'s Value, limit: usize, id_names: bool) -> Result<Reader<'s>, SchemaNote> {
        let id = root
            .get(if id_names { "id" } else { "$id" })
            .and_then(Value::as_str)
            .map(|id| id.strip_suffix('#').unwrap_or(id));
        if id.is_some_and(|id| id.contains("json-schema.org/")) {
            // References to it could mean the dialect's own schema.
            return Err(SchemaNote::Keyword("$id"));
        }
        let mut anchors = BTreeMap::new();
        let embedding: &[&str] = if id_names { &["$id", "$schema", "id"] } else { &["$id", "$schema"] };
        survey(root, true, embedding, &mut anchors)?;
        let graph = Graph { nodes: Vec::new(), pattern_states: 0 };
        Ok(Reader { root, id, anchors, places: BTreeMap::new(), parts: Vec::new(), limit, graph })
    }

    /// The place of a part, which is read later if it is new.
    fn place(&mut self, part: &'s Value) -> Result<usize, SchemaNote> {
        let new = self.parts.len();
        match self.places.entry(std::ptr::from_ref(part).addr()) {
            btree_map::Entry::Occupied(known) => Ok(*known.get()),
            btree_map::Entry::Vacant(_) if new >= self.limit => {
                Err(SchemaNote::TooCostly { limit: self.limit })
            }
            btree_map::Entry::Vacant(slot) => {
                self.parts.push(part);
                Ok(*slot.insert(new))
            }
        }
    }

    fn node(&mut self, part: &'s Value) -> Result<Node, SchemaNote> {
        let mut node = Node { steps: 1, ..Node::default() };
        let Value::Object(keywords) = part else { return Ok(node) };
        for (keyword, value) in keywords {
            self.keyword(&mut node, keyword, value)?;
        }
        Ok(node)
    }

    fn keyword(&mut self, node: &mut Node, keyword: &str, value: &'s Value) -> Result<(), SchemaNote> {
        match keyword {
            "$ref" => {
                if let Some(to) = value.as_str() {
                    let target = self.resolve(to)?;
                    let place = self.place(target)?;
                    node.in_place.push(place);
                }
            }
            "allOf" | "anyOf" | "oneOf" => self.parts_of_array(&mut node.in_place, value)?,
            "not" | "if" | "then" | "else" | "contentSchema" => self.part(&mut node.in_place, value)?,
            "dependentSchemas" | "dependencies" => {
                node.steps += count(value);
                self.parts_of_object(&mut node.in_place, value)?;
            }
            "properties" => self.parts_of_object(&mut node.member_one, value)?,
            "additionalProperties" => self.part(&mut node.member_one, value)?,
            "propertyNames" => self.part(&mut node.member_all, value)?,
            "patternProperties" => {
                for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                    node.scan = node.scan.saturating_add(self.pattern(pattern)?);
                }
                self.parts_of_object(&mut node.member_all, value)?;
            }
            "items" if value.is_array() => self.parts_of_array(&mut node.element_one, value)?,
            "items" | "additionalItems" => self.part(&mut node.element_one, value)?,
            "prefixItems" => self.parts_of_array(&mut node.element_one, value)?,
            "contains" => self.part(&mut node.element_all, value)?,
            "uniqueItems" => node.unique = value.as_bool() == Some(true),
            "pattern" => {
                if let Some(pattern) = value.as_str() {
                    node.scan = node.scan.saturating_add(self.pattern(pattern)?);
                }
            }
            "minLength" | "maxLength" => node.scan += 1,
            "multipleOf" => node.steps += DIVISION,
            "enum" | "const" => {
                node.scan += 1;
                node.steps += count(value);
            }
            "required" | "dependentRequired" | "type" => node.steps += count(value),
            _ => node.steps += 1,
        }
        Ok(())
    }

    fn part(&mut self, to: &mut Vec<usize>, part: &'s Value) -> Result<(), SchemaNote> {
        if part.is_object() || part.is_boolean() {
            to.push(self.place(part)?);
        }
        Ok(())
    }

    fn parts_of_array(&mut self, to: &mut Vec<usize>, parts: &'s Value) -> Result<(), SchemaNote> {
        parts.as_array().into_iter().flatten().try_for_each(|part| self.part(to, part))
    }

    fn parts_of_object(&mut self, to: &mut Vec<usize>, parts: &'s Value) -> Result<(), SchemaNote> {
        parts.as_object().into_iter().flat_map(Map::values).try_for_each(|part| self.part(to, part))
    }

    fn resolve(&self, to: &str) -> Result<&'s Value, SchemaNote> {
        let local = match self.id.and_then(|id| to.strip_prefix(id)) {
            Some("") => "#",
            Some(fragment) if fragment.starts_with('#') => fragment,
            _ => to,
        };
        let Some(fragment) = local.strip_prefix('#') else {
            return Err(SchemaNote::ExternalReference(escaped(to, 256).into()));
        };
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            resolve_local(self.root, local)
        } else {
            self.anchors.get(fragment).copied().flatten()
        };
        target.ok_or_else(|| SchemaNote::UnresolvedReference(escaped(to, 256).into()))
    }

    /// Steps for each byte that is matched: a state machine may be in all its states at once.
    fn pattern(&mut self, text: &str) -> Result<u64, SchemaNote> {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let states = pattern::states(text).filter(|_| text.len() <= self.limit);
        let total = states.map(|states| (states, self.graph.pattern_states.saturating_add(states)));
        match total {
            Some((states, total)) if total <= limit => {
                self.graph.pattern_states = total;
                Ok(states)
            }
            _ => Err(SchemaNote::BadPattern(escaped(text, 256).into())),
        }
    }
}

/// Looks over all objects of a schema, in whatever place, for what cannot be priced, and for anchors. `embedding` are the
/// keywords that would make what is below them a document of its own.
fn survey<'s>(
    value: &'s Value,
    is_root: bool,
    embedding: &[&'static str],
    anchors: &mut BTreeMap<&'s str, Option<&'s Value>>,
) -> Result<(), SchemaNote> {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                // Property names may be the same words, and then stand before a schema. Only the first two
                // keywords take one themselves.
                let named = UNBOUNDED.iter().position(|keyword| keyword == key);
                if let Some(at) = named.filter(|&at| at < 2 || !member.is_object()) {
                    return Err(SchemaNote::Keyword(UNBOUNDED.get(at).copied().unwrap_or("$ref")));
                }
                if let Some(keyword) = embedding.iter().find(|keyword| *keyword == key)
                    && !is_root
                    && member.is_string()
                {
                    return Err(SchemaNote::Keyword(keyword));
                }
                if let ("$anchor", Value::String(name)) = (&**key, member) {
                    anchors.entry(name).and_modify(|known| *known = None).or_insert(Some(value));
                }
                survey(member, false, embedding, anchors)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| survey(item, false, embedding, anchors)),
        _ => Ok(()),
    }
}

/// Values in `value`, itself included.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(count).sum::<u64>() + 1,
        Value::Object(members) => members.values().map(count).sum::<u64>() + 1,
        _ => 1,
    }
}
