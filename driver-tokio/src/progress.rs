//! Progress of one call.

use std::borrow::Cow;

use serde::Deserialize;

/// What the server said about the progress of one call.
///
/// What it says binds nobody: numbers may go backwards, and texts are whatever the server likes.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    progress: Option<f64>,
    total: Option<f64>,
    message: Option<Box<str>>,
    raw: Box<str>,
}

impl Progress {
    pub(crate) fn new(raw: Box<str>) -> Progress {
        let params = serde_json::from_str::<Params<'_>>(&raw).ok();
        let params = params.map(|params| (params.progress, params.total, params.message.map(Into::into)));
        let (progress, total, message) = params.unwrap_or_default();
        Progress { progress, total, message, raw }
    }

    /// How far it is, if that is a number.
    pub fn progress(&self) -> Option<f64> {
        self.progress
    }

    /// How far it goes, if the server knows.
    pub fn total(&self) -> Option<f64> {
        self.total
    }

    /// What it is doing, if the server says so.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The parameters of the notification as raw JSON.
    pub fn raw(&self) -> &str {
        &self.raw
    }
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(default)]
    progress: Option<f64>,
    #[serde(default)]
    total: Option<f64>,
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_stays_raw() {
        let progress = |raw: &str| Progress::new(raw.into());
        let half = progress(r#"{"progressToken":1,"progress":5,"total":10,"message":"h\u00e4lf"}"#);
        assert_eq!((half.progress(), half.total(), half.message()), (Some(5.0), Some(10.0), Some("hälf")));
        let odd = progress(r#"{"progress":"x"}"#);
        assert_eq!((odd.progress(), odd.total(), odd.message()), (None, None, None));
        assert_eq!(odd.raw(), r#"{"progress":"x"}"#);
    }
}
