//! Servers that people use.

#[cfg(test)]
mod visit;
