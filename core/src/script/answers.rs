//! What a script answers the server's own requests with.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::Capabilities;
use crate::session::PeerReply;
use crate::tool::raw;

/// An answer for each method that the host is willing to answer (row L26).
///
/// ```
/// use sans_mcp::script::Answers;
///
/// let mut answers = Answers::default();
/// answers.set("roots/list", r#"{"roots":[{"uri":"file:///srv"}]}"#)?;
/// answers.set("sampling/createMessage", r#"{"error":{"code":-1,"message":"the user refused"}}"#)?;
/// assert!(answers.capabilities().roots && !answers.capabilities().elicitation);
/// assert!(answers.set("tools/call", "{}").is_err());
/// # Ok::<(), sans_mcp::script::BadAnswer>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Answers(BTreeMap<&'static str, Answer>);

/// One answer: the text it was given as, and the error that it stands for, if it does.
#[derive(Clone, Debug)]
struct Answer {
    json: Box<str>,
    error: Option<(i64, Box<str>)>,
}

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAnswer {
    /// The server cannot ask for this.
    #[error("a server cannot ask for this method: choose one of {}", METHODS.join(", "))]
    Method,
    /// The text is not JSON.
    #[error("the answer is not JSON at byte {at}")]
    NotJson {
        /// Where reading stopped, counted from 1.
        at: usize,
    },
    /// The answer is JSON, but no object.
    #[error(
        "the answer must be a JSON object: the result, or {{\"error\":{{\"code\":-1,\"message\":\"...\"}}}}"
    )]
    NotAnObject,
}

const METHODS: [&str; 3] = ["roots/list", "sampling/createMessage", "elicitation/create"];

impl Answers {
    /// Sets the answer for a method. `json` is the result, an object; an object whose only member is `error`, with a
    /// `code` and a `message` in it, is that error instead. A later answer for the same method takes the place of an
    /// earlier one.
    ///
    /// # Errors
    /// A method that no server may ask for, or text that is no JSON object.
    pub fn set(&mut self, method: &str, json: &str) -> Result<(), BadAnswer> {
        let method = METHODS.into_iter().find(|known| *known == method).ok_or(BadAnswer::Method)?;
        if let Some(at) = raw::fault(json) {
            return Err(BadAnswer::NotJson { at });
        }
        let json = json.trim_ascii();
        if !json.starts_with('{') {
            return Err(BadAnswer::NotAnObject);
        }
        let error = serde_json::from_str::<Refusing>(json).ok();
        let error = error.map(|refusing| (refusing.error.code, refusing.error.message));
        self.0.insert(method, Answer { json: json.into(), error });
        Ok(())
    }

    /// What the client has to declare so that the server may ask.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            roots: self.0.contains_key("roots/list"),
            sampling: self.0.contains_key("sampling/createMessage"),
            elicitation: self.0.contains_key("elicitation/create"),
        }
    }

    /// The answer for a method, if one was set.
    pub fn get(&self, method: &str) -> Option<PeerReply<'_>> {
        self.0.get(method).map(|answer| match &answer.error {
            Some((code, message)) => PeerReply::Error { code: *code, message },
            None => PeerReply::Result(&answer.json),
        })
    }

    /// The text that the answer for a method was set as.
    pub(super) fn text(&self, method: &str) -> Option<&str> {
        self.0.get(method).map(|answer| &*answer.json)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusing {
    error: Error,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Error {
    code: i64,
    message: Box<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l26_an_answer_is_a_result_or_an_error() {
        let mut answers = Answers::default();
        answers.set("roots/list", " {\"roots\":[1.0]} ").unwrap();
        answers.set("elicitation/create", r#"{"error":{"code":-1,"message":"no"}}"#).unwrap();
        answers.set("sampling/createMessage", r#"{"error":{"code":-1,"message":"no"},"model":"m"}"#).unwrap();
        assert_eq!(answers.get("roots/list"), Some(PeerReply::Result("{\"roots\":[1.0]}")));
        assert_eq!(answers.get("elicitation/create"), Some(PeerReply::Error { code: -1, message: "no" }));
        assert!(matches!(answers.get("sampling/createMessage"), Some(PeerReply::Result(_))));
        assert_eq!(Answers::default().get("roots/list"), None);
        assert_eq!(Answers::default().capabilities(), Capabilities::default());
    }

    #[test]
    fn an_answer_that_cannot_be_used_is_refused() {
        let refusal = |method, json| Answers::default().set(method, json).unwrap_err();
        assert_eq!(refusal("roots", "{}"), BadAnswer::Method);
        assert_eq!(refusal("roots/list", "{"), BadAnswer::NotJson { at: 1 });
        assert_eq!(refusal("roots/list", "[]"), BadAnswer::NotAnObject);
    }
}
