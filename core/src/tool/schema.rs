//! Checks values against the schemas of a server at a bounded cost (rows L24 and L25).
//!
//! A schema of four kilobytes can ask for hours of work. So its price is counted before anything is compiled (`price`
//! says how), and what it costs for one value is known before the value is checked. Where the price is too high, or the
//! schema asks for what is not done here, the check is set aside with a [`SchemaNote`] and the tool stays callable.

use serde_json::Value;

#[cfg(feature = "schema")]
mod check;
#[cfg(feature = "schema")]
mod graph;
#[cfg(feature = "schema")]
mod pattern;
#[cfg(feature = "schema")]
mod plain;
#[cfg(feature = "schema")]
mod price;

#[cfg(feature = "schema")]
pub(super) use check::{Check, Checks};
#[cfg(not(feature = "schema"))]
pub(super) use without::{Check, Checks};

/// Why values are not checked against a schema. The tool can be called all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaNote {
    /// Checking one value may take more steps than [`Limits::schema_cost`](crate::Limits), or the schema has more parts
    /// than that.
    #[error("checking against it is over the limit of {limit} steps")]
    TooCostly {
        /// The limit.
        limit: usize,
    },
    /// Its parts refer to each other in a circle that never gets to a value.
    #[error("its references go round in a circle")]
    Endless,
    /// It names a dialect that is not known; bounded and escaped.
    #[error("its dialect `{0}` is not supported")]
    UnknownDialect(Box<str>),
    /// It refers to another document, which is never fetched; bounded and escaped.
    #[error("it refers to `{0}`, and only references within it are followed")]
    ExternalReference(Box<str>),
    /// It refers to a part that it does not have, or has twice; bounded and escaped.
    #[error("it refers to `{0}`, which it does not have")]
    UnresolvedReference(Box<str>),
    /// It uses a keyword whose cost cannot be told beforehand.
    #[error("it uses `{0}`, whose cost cannot be told beforehand")]
    Keyword(&'static str),
    /// A pattern is no regular expression, too large, or needs backtracking; bounded and escaped.
    #[error("its pattern `{0}` is no regular expression of bounded cost")]
    BadPattern(Box<str>),
    /// It is no JSON Schema, or has numbers or strings that no JSON library can hold; bounded and escaped.
    #[error("it is no valid schema: {0}")]
    Invalid(Box<str>),
}

/// What the local reference `to` (`#`, `#/a/b`) refers to in `root`. Anchors are not looked for.
pub(super) fn resolve_local<'s>(root: &'s Value, to: &str) -> Option<&'s Value> {
    let pointer = percent_decoded(to.strip_prefix('#')?)?;
    root.pointer(&pointer)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return String::from_utf8(bytes).ok(),
            [b'%', high, low, rest @ ..] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest
            }
            [b'%', ..] => return None,
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}

/// Stands in where nothing is checked.
#[cfg(not(feature = "schema"))]
mod without {
    use super::SchemaNote;
    use crate::config::Limits;

    #[derive(Debug)]
    pub(in crate::tool) struct Checks;

    impl Checks {
        pub(in crate::tool) fn new(_: &Limits) -> Checks {
            Checks
        }
    }

    #[derive(Debug, Default)]
    pub(in crate::tool) struct Check(());

    impl Check {
        pub(in crate::tool) fn note(&self, _: &str, _: &Checks) -> Option<SchemaNote> {
            None
        }

        pub(in crate::tool) fn check(&self, _: &str, _: &str, _: &Checks) -> Result<(), String> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn local_references_are_pointers_with_both_kinds_of_escapes() {
        let root = json!({"$defs": {"a/b": 1, "c d": 2, "é": 3}});
        assert_eq!(resolve_local(&root, "#"), Some(&root));
        assert_eq!(resolve_local(&root, "#/$defs/a~1b"), Some(&json!(1)));
        assert_eq!(resolve_local(&root, "#/$defs/c%20d"), Some(&json!(2)));
        assert_eq!(resolve_local(&root, "#/$defs/%C3%a9"), Some(&json!(3)));
        for to in ["", "x", "#/$defs/no", "#/%zz", "#/%f", "#/%ff", "https://example.com/#/$defs"] {
            assert_eq!(resolve_local(&root, to), None, "{to}");
        }
    }
}
