//! Calls of tools.

use std::sync::Arc;

use super::options::{check_size, option_builders};
use super::{Options, Tool, raw};
use crate::config::Settings;
use crate::error::{Refusal, Refused};
use crate::sample::escaped;
use crate::wire::encode::OneLine;

/// What a caller asks of a tool: its name, its arguments as raw JSON, and how the call is to be carried out.
///
/// Arguments stay the text they are, so numbers keep their digits. Nothing is checked until the call is handed in, or
/// [`prepare`](Call::prepare)d.
///
/// ```
/// use sans_mcp::Call;
/// use std::time::Duration;
///
/// let call = Call::new("search", r#"{"query":"deadline"}"#)
///     .timeout(Some(Duration::from_secs(5)))
///     .meta("traceparent", r#""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#)?;
/// assert_eq!(call.tool(), "search");
/// assert!(call.meta("progressToken", "1").is_err());
/// # Ok::<(), sans_mcp::Refusal>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until it is handed in"]
pub struct Call {
    tool: Box<str>,
    arguments: Box<str>,
    options: Options,
    checked_against: Option<Arc<Tool>>,
}

option_builders!(Call);

impl Call {
    /// A call of `tool` with `arguments`, the text of a JSON object.
    pub fn new(tool: impl Into<String>, arguments: impl Into<String>) -> Call {
        Call {
            tool: tool.into().into_boxed_str(),
            arguments: arguments.into().into_boxed_str(),
            options: Options::default(),
            checked_against: None,
        }
    }

    /// A call of `tool` with an empty object for arguments, which is valid wherever leaving them out is.
    pub fn without_arguments(tool: impl Into<String>) -> Call {
        Call::new(tool, "{}")
    }

    /// Name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments as they were given.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Checks the arguments, against the tool's schema too if [`Settings::check_arguments`] is set, and keeps the tool,
    /// so that the result is checked against the schema the call was accepted with. A driver does this before it takes
    /// its lock; a call that was not prepared is prepared when it is handed in.
    ///
    /// # Errors
    ///
    /// The call comes back with the reason: `NotJson`, `NotAnObject`, `Arguments`, or `UnknownTool` if `tool` is not the
    /// one that the call names.
    #[expect(
        clippy::result_large_err,
        reason = "the call comes back as it was handed in, without an allocation"
    )]
    pub fn prepare(mut self, tool: &Arc<Tool>, settings: &Settings) -> Result<Call, Refused<Call>> {
        match self.check(tool, settings) {
            Ok(()) => {
                self.checked_against = Some(Arc::clone(tool));
                Ok(self)
            }
            Err(refusal) => Err(Refused { value: self, refusal }),
        }
    }

    fn check(&self, tool: &Tool, settings: &Settings) -> Result<(), Refusal> {
        if tool.name() != &*self.tool {
            return Err(Refusal::UnknownTool { name: escaped(&self.tool, 256), near: Vec::new() });
        }
        check_object(&self.arguments)?;
        if !settings.check_arguments {
            return Ok(());
        }
        tool.check_arguments(&self.arguments)
            .map_err(|problem| Refusal::Arguments { tool: tool.name().to_owned(), problem })
    }

    /// The tool that the arguments were checked against.
    pub(crate) fn prepared(&self) -> Option<&Arc<Tool>> {
        self.checked_against.as_ref()
    }

    /// The same, once nothing else of the call is needed.
    pub(crate) fn into_prepared(self) -> Option<Arc<Tool>> {
        self.checked_against
    }

    /// The `params` of `tools/call` on one line, in at most `limit` bytes.
    pub(crate) fn parameters(&self, progress_token: Option<u64>, limit: usize) -> Result<OneLine, Refusal> {
        check_size(self.arguments.len(), limit)?;
        if self.checked_against.is_none() {
            check_object(&self.arguments)?;
        }
        let (name, arguments) = (&*self.tool, self.arguments.trim_ascii());
        let frame = r#"{"name":"","arguments":}"#.len();
        let mut out = String::with_capacity(frame + name.len() + arguments.len());
        out.push_str("{\"name\":");
        raw::push_string(&mut out, name);
        out.push_str(",\"arguments\":");
        out.push_str(arguments);
        self.options.push_meta(&mut out, &[], progress_token);
        out.push('}');
        check_size(out.len(), limit)?;
        Ok(OneLine::new(out))
    }
}

pub(crate) fn check_object(json: &str) -> Result<(), Refusal> {
    match raw::fault(json) {
        Some(at) => Err(Refusal::NotJson { at }),
        None if !raw::is_object(json) => Err(Refusal::NotAnObject),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::definition::tests::tool;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const LIMIT: usize = 1 << 20;

    #[test]
    fn c032_l21_parameters_keep_digits_and_stay_on_one_line() {
        let call = Call::new("a\"b", "{\r\n \"n\" : 9007199254740993,\n\"f\":1.0}\n");
        assert_eq!(
            &*call.parameters(None, LIMIT).unwrap(),
            r#"{"name":"a\"b","arguments":{   "n" : 9007199254740993, "f":1.0}}"#
        );
    }

    #[test]
    fn l21_parameters_are_checked_and_measured() {
        let refusal = |arguments: &str, limit| Call::new("t", arguments).parameters(None, limit).unwrap_err();
        assert_eq!(refusal("{\"a\":1", LIMIT), Refusal::NotJson { at: 6 });
        assert_eq!(refusal("", LIMIT), Refusal::NotJson { at: 0 });
        assert_eq!(refusal("{}{}", LIMIT), Refusal::NotJson { at: 2 });
        assert_eq!(refusal("[1]", LIMIT), Refusal::NotAnObject);
        assert_eq!(refusal("null", LIMIT), Refusal::NotAnObject);
        let whole = Call::without_arguments("t").parameters(None, LIMIT).unwrap();
        assert_eq!(&*whole, r#"{"name":"t","arguments":{}}"#);
        assert!(Call::without_arguments("t").parameters(None, whole.len()).is_ok());
        let bytes = whole.len();
        assert_eq!(refusal("{}", bytes - 1), Refusal::TooLarge { bytes, limit: bytes - 1 });
    }

    #[test]
    fn l34_meta_and_progress_token_share_one_member() {
        let call = Call::without_arguments("t")
            .meta("traceparent", "\"old\"")
            .and_then(|call| call.meta("traceparent", "[\n1]"))
            .and_then(|call| call.meta("com.example/k", "null"))
            .unwrap();
        assert_eq!(
            &*call.parameters(Some(7), LIMIT).unwrap(),
            r#"{"name":"t","arguments":{},"_meta":{"traceparent":[ 1],"com.example/k":null,"progressToken":7}}"#
        );
        assert_eq!(
            &*call.parameters(None, LIMIT).unwrap(),
            r#"{"name":"t","arguments":{},"_meta":{"traceparent":[ 1],"com.example/k":null}}"#
        );
        assert_eq!(call.clone().meta("a", "{").unwrap_err(), Refusal::NotJson { at: 1 });
        assert_eq!(call.meta("mcp.dev/x", "1").unwrap_err(), Refusal::ReservedKey("mcp.dev/x".to_owned()));
    }

    #[test]
    fn l25_a_prepared_call_keeps_its_tool_and_a_refused_one_comes_back() {
        let settings = Settings::default();
        let add = Arc::new(tool(json!({"name": "add", "inputSchema": {"type": "object"}})));
        let call = Call::new("add", "{}").prepare(&add, &settings).unwrap();
        assert!(Arc::ptr_eq(call.prepared().unwrap(), &add));
        let refused = Call::new("add", "[]").prepare(&add, &settings).unwrap_err();
        assert_eq!((refused.value.arguments(), refused.refusal), ("[]", Refusal::NotAnObject));
        let refused = Call::new("sub", "{}").prepare(&add, &settings).unwrap_err();
        assert_eq!(refused.refusal.code(), crate::Code::UNKNOWN_TOOL);
    }

    proptest! {
        #[test]
        fn l21_whatever_is_accepted_is_one_line_of_the_same_value(name in ".{0,20}", text in "[{}\\[\\]\",:0-9a-z\n\r ]{0,24}") {
            if let Ok(line) = Call::new(name.clone(), text.clone()).parameters(Some(1), LIMIT) {
                prop_assert!(!line.contains(['\n', '\r']));
                let sent: Value = serde_json::from_str(&line).unwrap();
                let given: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(&sent["name"], &Value::String(name));
                prop_assert_eq!(&sent["arguments"], &given);
            }
        }
    }
}
