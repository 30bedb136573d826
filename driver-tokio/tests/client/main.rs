//! The client with a real process, on every kind of runtime. What spans drivers is tested in the crate `tests`.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod connection;
#[cfg(test)]
mod events;
#[cfg(test)]
mod life;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod support;
#[cfg(test)]
mod writes;
