//! The fault cases of `fixtures/cases`: reading them, and their notation. The README there has its rules.

mod notation;
mod player;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use notation::{Fault, Part, parse};
pub use player::Player;

/// One case, as it stands in `cases.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// Its family.
    pub kind: String,
    /// How it is played.
    pub channel: String,
    /// What happens.
    pub trigger: String,
    /// What a right client does, in words.
    pub expect: String,
    /// When it is due.
    pub stage: String,
}

/// Where the cases are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cases")
}

/// All cases.
///
/// # Errors
/// The file is missing, or not what it should be.
pub fn all() -> io::Result<Vec<Case>> {
    Ok(serde_json::from_str(&fs::read_to_string(directory().join("cases.json"))?)?)
}

/// The cases that a server in memory plays and that are due now.
///
/// # Errors
/// As [`all`].
pub fn playable() -> io::Result<Vec<Case>> {
    let due = |case: &Case| case.channel == "stdout-bytes" && case.stage == "foundation";
    Ok(all()?.into_iter().filter(due).collect())
}
