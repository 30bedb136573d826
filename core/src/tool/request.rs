//! Requests of methods that have no call of their own.

use super::options::{check_size, option_builders, push_member};
use super::{Options, call, meta, raw};
use crate::error::Refusal;
use crate::sample::is_hidden;
use crate::wire::encode::on_one_line;

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

    /// The `params` on one line, in at most `limit` bytes; `None` if there are none to send.
    ///
    /// A `_meta` in the caller's parameters is held to the same rules as [`Request::meta`], which goes before it.
    pub(crate) fn parameters(
        &self,
        progress_token: Option<u64>,
        limit: usize,
    ) -> Result<Option<String>, Refusal> {
        check_method(&self.method)?;
        let Some(params) = &self.params else {
            let mut out = String::from("{");
            self.options.push_meta(&mut out, &[], progress_token);
            out.push('}');
            check_size(out.len(), limit)?;
            return Ok((out.len() > 2).then(|| on_one_line(out)));
        };
        check_size(params.len(), limit)?;
        call::check_object(params)?;
        let mut out = String::with_capacity(params.len() + 64);
        out.push('{');
        let mut given = None;
        raw::members(params, |key, json| match &*key {
            "_meta" => given = Some(json),
            _ => push_member(&mut out, &key, json),
        });
        self.options.push_meta(&mut out, &given_meta(given)?, progress_token);
        out.push('}');
        check_size(out.len(), limit)?;
        Ok(Some(on_one_line(out)))
    }
}

/// Refuses what is no method name.
pub(crate) fn check_method(method: &str) -> Result<(), Refusal> {
    let fits = !method.is_empty() && method.len() <= Request::METHOD;
    if fits && !method.contains(is_hidden) { Ok(()) } else { Err(Refusal::BadMethod) }
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

    fn parameters(json: &str, token: Option<u64>) -> Result<Option<String>, Refusal> {
        Request::new("m").params(json).parameters(token, LIMIT)
    }

    #[test]
    fn l21_parameters_are_optional_but_an_object() {
        assert_eq!(Request::new("ping").parameters(None, LIMIT), Ok(None));
        let token = Request::new("ping").parameters(Some(3), LIMIT).unwrap().unwrap();
        assert_eq!(token, r#"{"_meta":{"progressToken":3}}"#);
        assert_eq!(parameters("{\n\"a\": 1.0,\"b\":[\r1]}", None).unwrap().unwrap(), r#"{"a":1.0,"b":[ 1]}"#);
        assert_eq!(parameters("[]", None), Err(Refusal::NotAnObject));
        assert_eq!(parameters("{", None), Err(Refusal::NotJson { at: 1 }));
        let request = Request::new("m").params("{\"a\":1}");
        assert_eq!(request.parameters(None, 6), Err(Refusal::TooLarge { bytes: 7, limit: 6 }));
    }

    #[test]
    fn l34_meta_of_the_parameters_is_merged_and_held_to_the_same_rules() {
        let request = Request::new("m").params(r#"{"_meta":{"a":1,"b":2},"x":0}"#).meta("b", "3").unwrap();
        let merged = request.parameters(Some(9), LIMIT).unwrap().unwrap();
        assert_eq!(merged, r#"{"x":0,"_meta":{"a":1,"b":3,"progressToken":9}}"#);
        let reserved = parameters(r#"{"_meta":{"progressToken":1}}"#, None).unwrap_err();
        assert_eq!(reserved, Refusal::ReservedKey("progressToken".to_owned()));
        assert_eq!(parameters(r#"{"_meta":null}"#, None), Err(Refusal::NotAnObject));
    }

    #[test]
    fn a_method_is_short_and_plain() {
        for method in ["", "a\nb", "a\u{202e}b", &"m".repeat(257)] {
            assert_eq!(Request::new(method).parameters(None, LIMIT), Err(Refusal::BadMethod));
        }
        assert!(Request::new("m".repeat(256)).parameters(None, LIMIT).is_ok());
    }
}
