//! Rows of the requirements that the machine keeps by itself: each test bears the name of its row, runs in virtual time
//! against a server in memory, and has the invariants checked at every step.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod catalog;
#[cfg(test)]
mod connecting;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod exits;
#[cfg(test)]
mod health;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod peer_requests;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod stderr;
#[cfg(test)]
mod support;
#[cfg(test)]
mod wire;
