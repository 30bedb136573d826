//! Requests of methods that have no call of their own.

use super::options::{check_size, option_builders, push_member};
use super::{Options, call, meta, raw};
use crate::error::Refusal;
use crate::sample::is_hidden;
use crate::wire::encode::OneLine;

/// A request by method name, with raw parameters: for what the client has no call of its own for.
///
/// ```
/// use sans_mcp::Request;
///
/// let request = Request::new("resources/read").params(r#"{"uri":"file:///a"}"#);
/// assert_eq!(request.method(), "resources/read");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until it is handed in"]
pub struct Request {
    method: Box<str>,
    params: Option<Box<str>>,
    options: Options,
}

option_builders!(Request);

impl Request {
    /// Longest name of a method, in bytes.
    pub const METHOD: usize = 256;

    /// A request of `method` without parameters.
    pub fn new(method: impl Into<String>) -> Request {
        Request { method: method.into().into_boxed_str(), params: None, options: Options::default() }
    }

    /// Sets the parameters, the text of a JSON object.
    pub fn params(mut self, json: impl Into<String>) -> Request {
        self.params = Some(json.into().into_boxed_str());
        self
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The method, and the `params` on one line, in at most `limit` bytes; `None` if there are none to send.
    ///
    /// Parameters to which nothing is added stay the text they are. A `_meta` in the caller's parameters is held to the same
    /// rules as [`Request::meta`], which goes before it.
    pub(crate) fn into_parts(
        self,
        progress_token: Option<u64>,
        limit: usize,
    ) -> Result<(Box<str>, Option<OneLine>), Refusal> {
        let Request { method, params, options } = self;
        let Some(params) = params else {
            let mut out = String::from("{");
            options.push_meta(&mut out, &[], progress_token);
            out.push('}');
            check_size(out.len(), limit)?;
            return Ok((method, (out.len() > 2).then(|| OneLine::new(out))));
        };
        check_size(params.len(), limit)?;
        let mut given = None;
        let is_object = raw::members(&params, |key, json| {
            if key == "_meta" {
                given = Some(json);
            }
        });
        if !is_object {
            call::check_object(&params)?;
            return Err(Refusal::NotAnObject);
        }
        if given.is_none() && !options.has_meta() && progress_token.is_none() {
            return Ok((method, Some(OneLine::new(trimmed(params).into()))));
        }
        let mut out = String::with_capacity(params.len() + 64);
        out.push('{');
        raw::members(&params, |key, json| {
            if key != "_meta" {
                push_member(&mut out, &key, json);
            }
        });
        options.push_meta(&mut out, &given_meta(given)?, progress_token);
        out.push('}');
        check_size(out.len(), limit)?;
        Ok((method, Some(OneLine::new(out))))
    }
}

fn trimmed(text: Box<str>) -> Box<str> {
    let inner = text.trim_ascii();
    if inner.len() == text.len() { text } else { inner.into() }
}

/// Refuses what is no method name.
pub(crate) fn check_method(method: &str) -> Result<(), Refusal> {
    let fits = !method.is_empty() && method.len() <= Request::METHOD;
    let is_plain = method.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if fits && (is_plain || !method.contains(is_hidden)) { Ok(()) } else { Err(Refusal::BadMethod) }
}

fn given_meta(json: Option<&str>) -> Result<Vec<(Box<str>, &str)>, Refusal> {
    let mut given: Vec<(Box<str>, &str)> = Vec::new();
    let Some(json) = json else { return Ok(given) };
    if !raw::members(json, |key, json| given.push((key.into(), json))) {
        return Err(Refusal::NotAnObject);
    }
    given.iter().try_for_each(|(key, _)| meta::check_key(key))?;
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    fn sent(request: Request, token: Option<u64>, limit: usize) -> Result<Option<String>, Refusal> {
        request.into_parts(token, limit).map(|(_, params)| params.map(|params| params.to_string()))
    }

    fn parameters(json: &str, token: Option<u64>) -> Result<Option<String>, Refusal> {
        sent(Request::new("m").params(json), token, LIMIT)
    }

    #[test]
    fn l21_parameters_are_optional_but_an_object() {
        assert_eq!(sent(Request::new("ping"), None, LIMIT), Ok(None));
        let token = sent(Request::new("ping"), Some(3), LIMIT).unwrap().unwrap();
        assert_eq!(token, r#"{"_meta":{"progressToken":3}}"#);
        assert_eq!(
            parameters("\n{\n\"a\": 1.0,\"\\ud800\":[\r1]} ", None).unwrap().unwrap(),
            r#"{ "a": 1.0,"\ud800":[ 1]}"#
        );
        assert_eq!(
            parameters("{\n\"a\": 1.0,\"b\":[\r1]}", Some(3)).unwrap().unwrap(),
            r#"{"a":1.0,"b":[ 1],"_meta":{"progressToken":3}}"#
        );
        assert_eq!(parameters("[]", None), Err(Refusal::NotAnObject));
        assert_eq!(parameters("{", None), Err(Refusal::NotJson { at: 1 }));
        let request = Request::new("m").params("{\"a\":1}");
        assert_eq!(sent(request, None, 6), Err(Refusal::TooLarge { bytes: 7, limit: 6 }));
    }

    #[test]
    fn l34_meta_of_the_parameters_is_merged_and_held_to_the_same_rules() {
        let request = Request::new("m").params(r#"{"_meta":{"a":1,"b":2},"x":0}"#).meta("b", "3").unwrap();
        let merged = sent(request, Some(9), LIMIT).unwrap().unwrap();
        assert_eq!(merged, r#"{"x":0,"_meta":{"a":1,"b":3,"progressToken":9}}"#);
        let own = Request::new("m").params(r#"{"x":0}"#).meta("a", "1").unwrap();
        assert_eq!(sent(own, None, LIMIT).unwrap().unwrap(), r#"{"x":0,"_meta":{"a":1}}"#);
        let reserved = parameters(r#"{"_meta":{"progressToken":1}}"#, None).unwrap_err();
        assert_eq!(reserved, Refusal::ReservedKey("progressToken".to_owned()));
        assert_eq!(parameters(r#"{"_meta":null}"#, None), Err(Refusal::NotAnObject));
    }

    #[test]
    fn a_method_is_short_and_plain() {
        for method in ["", "a\nb", "a\u{202e}b", &"m".repeat(257)] {
            assert_eq!(check_method(method), Err(Refusal::BadMethod));
        }
        for method in [&*"m".repeat(256), "tools/call", "r\u{e9}sum\u{e9}"] {
            assert_eq!(check_method(method), Ok(()));
        }
    }
}
