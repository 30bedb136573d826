//! Tests that span the crates.
