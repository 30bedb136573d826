//! The runner of scripts on both drivers: the same script gives the same events.

#[cfg(test)]
mod both;
#[cfg(test)]
mod scenarios;
