//! The tokio driver against real processes.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod proofs;
#[cfg(test)]
mod start;
#[cfg(test)]
mod stderr;
#[cfg(test)]
mod support;
#[cfg(test)]
mod wire;
