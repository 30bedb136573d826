//! Messages to bytes: each frame is one whole line (row W04).

use std::ops::Deref;

use memchr::memchr2;
use serde::Serialize;

/// Raw JSON on one line: line ends between its tokens are spaces, and inside strings there are none. So it has the size
/// that it will have in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneLine(Box<str>);

impl OneLine {
    /// Copies `json` only if it must.
    pub(crate) fn new(json: String) -> OneLine {
        match memchr2(b'\n', b'\r', json.as_bytes()) {
            Some(_) => OneLine(json.replace(['\n', '\r'], " ").into()),
            None => OneLine(json.into()),
        }
    }
}

impl Deref for OneLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Appends a request.
pub(crate) fn push_request(out: &mut Vec<u8>, id: u64, method: &str, params: Option<&OneLine>) {
    push(out, r#"{"jsonrpc":"2.0","id":"#);
    push_value(out, &id);
    push_call(out, method, params);
}

/// Appends a notification.
pub(crate) fn push_notification(out: &mut Vec<u8>, method: &str, params: Option<&OneLine>) {
    push(out, r#"{"jsonrpc":"2.0""#);
    push_call(out, method, params);
}

/// Appends an answer to a request of the server. `raw_id` and `result` are raw JSON.
pub(crate) fn push_result(out: &mut Vec<u8>, raw_id: &str, result: &str) {
    push(out, r#"{"jsonrpc":"2.0","id":"#);
    push_raw(out, raw_id);
    push(out, r#","result":"#);
    push_raw(out, result);
    push(out, "}\n");
}

/// Appends a refusal of a request of the server. `raw_id` and `data` are raw JSON.
pub(crate) fn push_error(out: &mut Vec<u8>, raw_id: &str, code: i64, message: &str, data: Option<&str>) {
    push(out, r#"{"jsonrpc":"2.0","id":"#);
    push_raw(out, raw_id);
    push(out, r#","error":{"code":"#);
    push_value(out, &code);
    push(out, r#","message":"#);
    push_value(out, message);
    if let Some(data) = data {
        push(out, r#","data":"#);
        push_raw(out, data);
    }
    push(out, "}}\n");
}

fn push_call(out: &mut Vec<u8>, method: &str, params: Option<&OneLine>) {
    push(out, r#","method":"#);
    push_value(out, method);
    if let Some(params) = params {
        push(out, r#","params":"#);
        push(out, params);
    }
    push(out, "}\n");
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Raw JSON keeps the line ends that stood between its tokens, and one of them would tear the frame.
fn push_raw(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    push(out, json);
    for byte in out.get_mut(start..).unwrap_or_default() {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

fn push_value<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Neither a string nor an integer can fail to be written, and nor can a vector be written to.
    serde_json::to_writer(out, value).ok();
}

#[cfg(feature = "explore")]
impl crate::digest::Digest for OneLine {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        self.0.digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        self.0.alter(place);
    }
}

#[cfg(test)]
mod tests;
