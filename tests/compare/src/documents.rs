//! Where the tables are kept.

use std::fs;
use std::path::Path;

use crate::Outcome;

const BEGIN: &str = "<!-- made by tests/compare/run --write -->\n";
const END: &str = "<!-- end -->\n";

/// Puts a table in the place of the one that a document of this repository has.
pub(crate) fn replace(document: &str, table: &str) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = fs::read_to_string(&path)?;
    let missing = || format!("{document} has no place for a table");
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(fs::write(path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?)
}
