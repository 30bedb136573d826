//! What the protocol fixes: its revisions and error codes.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A revision of the protocol.
///
/// Revisions are names: the wire defines no order between them (spec, "Versioning"). The order here is by date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// 2024-11-05.
    V2024_11_05,
    /// 2025-03-26, the only one with batches.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25.
    V2025_11_25,
}

impl Version {
    /// The revisions that begin with the `initialize` handshake, oldest first.
    pub const LEGACY: [Version; 4] =
        [Version::V2024_11_05, Version::V2025_03_26, Version::V2025_06_18, Version::V2025_11_25];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
        }
    }

    /// The revision of that name, if it is known here.
    pub fn from_name(name: &str) -> Option<Version> {
        Version::LEGACY.into_iter().find(|version| version.as_str() == name)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Version, D::Error> {
        let name = String::deserialize(input)?;
        Version::from_name(&name).ok_or_else(|| de::Error::custom("unknown protocol version"))
    }
}

/// JSON-RPC error codes that this client sends or gives a meaning to.
pub mod code {
    /// The method does not exist here.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed; also stands in for a server's error that carries no code of its own.
    pub const INTERNAL_ERROR: i64 = -32603;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_shown_by_the_name_that_it_is_found_by() {
        for version in Version::LEGACY {
            assert_eq!(Version::from_name(&version.to_string()), Some(version));
        }
    }
}
