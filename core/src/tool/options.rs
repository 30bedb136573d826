//! How one call or request is to be carried out.

use std::time::Duration;

use super::meta::{PROGRESS_TOKEN, check_key};
use super::raw;
use crate::config::Timeouts;
use crate::error::Refusal;

/// What a caller set for one call or request; what is not set follows the session's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// `Some(None)`: the caller wants no deadline.
    pub(super) timeout: Option<Option<Duration>>,
    /// `Some(None)`: the caller wants no hard end.
    pub(super) maximum: Option<Option<Duration>>,
    pub(super) reset_on_progress: bool,
    pub(super) progress: bool,
    pub(super) result_limit: Option<usize>,
    meta: Vec<(Box<str>, Box<str>)>,
}

impl Options {
    /// How long after its acceptance the call may be answered.
    pub(crate) fn timeout(&self, timeouts: &Timeouts) -> Option<Duration> {
        self.timeout.unwrap_or(timeouts.call)
    }

    /// The most that progress may extend the call to, from its acceptance.
    pub(crate) fn maximum(&self, timeouts: &Timeouts) -> Option<Duration> {
        self.maximum.unwrap_or(timeouts.maximum)
    }

    /// Whether progress starts the timeout anew.
    pub(crate) const fn resets_on_progress(&self) -> bool {
        self.reset_on_progress
    }

    /// Whether progress is told to the caller.
    pub(crate) const fn tells_progress(&self) -> bool {
        self.progress
    }

    /// Whether the server is to be asked for progress.
    pub(crate) const fn asks_progress(&self) -> bool {
        self.progress || self.reset_on_progress
    }

    /// The largest result that the caller takes, in bytes.
    pub(crate) const fn result_limit(&self) -> Option<usize> {
        self.result_limit
    }

    /// Adds a member to `_meta`; a later one of the same key takes its place.
    pub(super) fn set_meta(&mut self, key: &str, json: &str) -> Result<(), Refusal> {
        check_key(key)?;
        if let Some(at) = raw::fault(json) {
            return Err(Refusal::NotJson { at });
        }
        self.meta.retain(|(present, _)| **present != *key);
        self.meta.push((key.into(), json.into()));
        Ok(())
    }

    /// Whether the caller set a member of `_meta`.
    pub(super) const fn has_meta(&self) -> bool {
        !self.meta.is_empty()
    }

    /// Appends `"_meta":{…}`, with a comma before it unless it is the first member of `out`, or nothing if there is
    /// nothing to say. `given` is what the caller's own parameters had there.
    pub(super) fn push_meta(
        &self,
        out: &mut String,
        given: &[(Box<str>, &str)],
        progress_token: Option<u64>,
    ) {
        if self.meta.is_empty() && given.is_empty() && progress_token.is_none() {
            return;
        }
        out.push_str(if out.ends_with('{') { "\"_meta\":{" } else { ",\"_meta\":{" });
        let own = self.meta.iter().map(|(key, json)| (&**key, &**json));
        let theirs = given.iter().filter(|(key, _)| self.meta.iter().all(|(present, _)| present != key));
        for (key, json) in theirs.map(|(key, json)| (&**key, *json)).chain(own) {
            push_member(out, key, json);
        }
        if let Some(token) = progress_token {
            push_member(out, PROGRESS_TOKEN, &token.to_string());
        }
        out.push('}');
    }
}

/// Appends a member, with a comma before it unless it is the first.
pub(super) fn push_member(out: &mut String, key: &str, json: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    raw::push_string(out, key);
    out.push(':');
    out.push_str(json.trim_ascii());
}

/// Refuses parameters over their limit.
pub(super) fn check_size(bytes: usize, limit: usize) -> Result<(), Refusal> {
    if bytes > limit { Err(Refusal::TooLarge { bytes, limit }) } else { Ok(()) }
}

/// Gives [`Call`](super::Call) and [`Request`](super::Request) the same builders.
macro_rules! option_builders {
    ($of:ident) => {
        impl $of {
            /// Sets how long the answer may take, from the moment of acceptance and also while waiting to be sent
            /// (row L11); `None`: for ever. Without this it is `Timeouts::call`.
            pub fn timeout(mut self, timeout: Option<std::time::Duration>) -> $of {
                self.options.timeout = Some(timeout);
                self
            }

            /// Lets progress of the server start the timeout anew, up to [`maximum`](Self::maximum).
            pub fn reset_on_progress(mut self) -> $of {
                self.options.reset_on_progress = true;
                self
            }

            /// Sets the most that progress may extend the time to, from the moment of acceptance; `None`: no end.
            /// Without this it is `Timeouts::maximum`.
            pub fn maximum(mut self, maximum: Option<std::time::Duration>) -> $of {
                self.options.maximum = Some(maximum);
                self
            }

            /// Asks the server to tell of its progress, and passes it on.
            pub fn progress(mut self) -> $of {
                self.options.progress = true;
                self
            }

            /// Sets the largest result that is taken, in bytes, below the line limit (row L21).
            pub fn result_limit(mut self, bytes: usize) -> $of {
                self.options.result_limit = Some(bytes);
                self
            }

            /// Adds a member to `_meta`, such as `traceparent` (row L34). `json` is the raw JSON value; a later member of
            /// the same key takes the place of an earlier one.
            ///
            /// # Errors
            ///
            /// `ReservedKey` for keys that the protocol keeps for itself or that are no keys; `NotJson`.
            pub fn meta(mut self, key: &str, json: &str) -> Result<$of, $crate::Refusal> {
                self.options.set_meta(key, json)?;
                Ok(self)
            }

            pub(crate) fn options(&self) -> &$crate::tool::Options {
                &self.options
            }
        }
    };
}
pub(super) use option_builders;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_follows_the_settings() {
        let timeouts = Timeouts::default();
        let mut options = Options::default();
        assert_eq!(options.timeout(&timeouts), Some(Timeouts::CALL));
        assert_eq!(options.maximum(&timeouts), Some(Timeouts::MAXIMUM));
        options.timeout = Some(None);
        options.maximum = Some(Some(Duration::from_secs(1)));
        assert_eq!(options.timeout(&timeouts), None);
        assert_eq!(options.maximum(&timeouts), Some(Duration::from_secs(1)));
    }
}
