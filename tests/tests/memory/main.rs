//! What calls allocate and what they hold while they wait, counted in memory. Each bound is a constant in `bounds.rs`.
//! `cargo test -p sans-mcp-tests --test memory -- --nocapture` prints the counts.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod counting;
