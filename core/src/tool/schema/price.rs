//! What it may cost to check a value against a schema, counted before anything is compiled.
//!
//! A step is one keyword of one part of the schema at one place in the value, and a `multipleOf` is 160. Parts apply each other: to the same value
//! (`$ref`, `allOf`, `anyOf`, …), to its members, or to its elements. A part that is reached in two ways is counted twice,
//! so doubling references show their real price. Of what an object says about one member by name (`properties`,
//! `additionalProperties`), only the dearest counts, since only one can apply; the same for elements by place; and a value
//! is an object or an array, not both. What is left is an upper bound of the steps at any one place of the value, for each
//! depth of that place. Circles through members or elements are no special case: each round goes one level deeper, and
//! the value ends somewhere. A circle that stays at one value never ends and is refused.
//!
//! So the whole check takes at most [`Level::steps`] times the number of places, plus [`Level::scan`] times the bytes of
//! its strings, and both products are bounded before a value is looked at (see `check`).

use super::SchemaNote;
use super::graph::Graph;

/// Deepest place that is priced: serde_json reads no deeper tree.
const DEEPEST: usize = 128;

/// Values at least this deep must be affordable, or the check is set aside as a whole: arguments in use stay below.
const SHALLOW: usize = 8;

/// Parts applied inside each other, since checking recurses: half of what fits into a stack of 2 MiB without optimization.
const CHAIN: u64 = 128;

/// Comparisons of one element, and of all that is in it, with others (uniqueItems).
const UNIQUE: u64 = 16;

/// The price of a value of some depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Level {
    /// Steps at any one place.
    pub(super) steps: u64,
    /// Steps for each byte of a string.
    pub(super) scan: u64,
    /// Parts applied inside each other.
    chain: u64,
}

impl Level {
    fn plus(self, other: Level) -> Level {
        Level {
            steps: self.steps.saturating_add(other.steps),
            scan: self.scan.saturating_add(other.scan),
            chain: self.chain.max(other.chain),
        }
    }

    fn max(self, other: Level) -> Level {
        Level {
            steps: self.steps.max(other.steps),
            scan: self.scan.max(other.scan),
            chain: self.chain.max(other.chain),
        }
    }
}

/// The prices of values by their depth, as far as they are affordable.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prices {
    levels: Vec<Level>,
    /// Whether nothing is applied below the last level, so that deeper values cost no more.
    complete: bool,
}

impl Prices {
    /// Prices `graph`. Values deeper than what `limit` steps can pay are not checked; a schema that is too dear for
    /// shallow values is refused.
    pub(super) fn of(graph: &Graph, limit: usize) -> Result<Prices, SchemaNote> {
        let order = order(graph)?;
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let mut below = vec![Level::default(); graph.nodes.len()];
        let mut levels: Vec<Level> = Vec::new();
        let mut complete = false;
        for depth in 0..=DEEPEST {
            let here = at_depth(graph, &order, &below, depth);
            let root = here.first().copied().unwrap_or_default();
            let total = levels.last().map_or(root, |last| last.max(root));
            if total.steps > most || total.chain > CHAIN {
                if depth <= SHALLOW {
                    return Err(SchemaNote::TooCostly { limit });
                }
                break;
            }
            levels.push(total);
            below = here;
            if below.iter().all(|level| level.steps == 0 && level.scan == 0) {
                complete = true;
                break;
            }
        }
        Ok(Prices { levels, complete })
    }

    /// The price of a value whose deepest place is `depth` levels down, if it is affordable.
    pub(super) fn at(&self, depth: usize) -> Option<Level> {
        self.levels.get(depth).or(self.levels.last().filter(|_| self.complete)).copied()
    }
}

/// What each part costs at a place `depth` levels below the value it is applied to, given the same for one level less.
fn at_depth(graph: &Graph, order: &[usize], below: &[Level], depth: usize) -> Vec<Level> {
    let level = |of: &[Level], at: usize| of.get(at).copied().unwrap_or_default();
    let sum = |of: &[Level], parts: &[usize]| {
        parts.iter().fold(Level::default(), |sum, &at| sum.plus(level(of, at)))
    };
    let dearest = |of: &[Level], parts: &[usize]| {
        parts.iter().fold(Level::default(), |max, &at| max.max(level(of, at)))
    };
    // Prices where the way to the place begins with a member, and with an element.
    let mut members = vec![Level::default(); graph.nodes.len()];
    let mut elements = members.clone();
    let mut all = members.clone();
    for &at in order {
        let Some(node) = graph.nodes.get(at) else { continue };
        let (mut member, mut element) = (sum(&members, &node.in_place), sum(&elements, &node.in_place));
        if depth == 0 {
            let own = Level { steps: node.steps, scan: node.scan, chain: 0 };
            (member, element) = (member.plus(own), element.plus(own));
        } else {
            member = member.plus(dearest(below, &node.member_one)).plus(sum(below, &node.member_all));
            element = element.plus(dearest(below, &node.element_one)).plus(sum(below, &node.element_all));
            if node.unique {
                element = element.plus(Level { steps: UNIQUE, scan: UNIQUE, chain: 0 });
            }
        }
        let mut price = member.max(element);
        price.chain += 1;
        (member.chain, element.chain) = (price.chain, price.chain);
        for (prices, price) in [(&mut members, member), (&mut elements, element), (&mut all, price)] {
            if let Some(slot) = prices.get_mut(at) {
                *slot = price;
            }
        }
    }
    all
}

/// The parts, each after those that it applies to the same value.
fn order(graph: &Graph) -> Result<Vec<usize>, SchemaNote> {
    let mut waiting: Vec<usize> = vec![0; graph.nodes.len()];
    for at in graph.nodes.iter().flat_map(|node| &node.in_place) {
        if let Some(count) = waiting.get_mut(*at) {
            *count += 1;
        }
    }
    let mut order: Vec<usize> =
        waiting.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
    let mut next = 0;
    while let Some(node) = order.get(next).and_then(|&at| graph.nodes.get(at)) {
        for &at in &node.in_place {
            if let Some(count) = waiting.get_mut(at) {
                *count -= 1;
                if *count == 0 {
                    order.push(at);
                }
            }
        }
        next += 1;
    }
    order.reverse();
    if order.len() == graph.nodes.len() { Ok(order) } else { Err(SchemaNote::Endless) }
}

#[cfg(test)]
mod tests;
