//! What a caller may add to `_meta` (row L34; spec, "Base protocol", `_meta`).

use crate::error::Refusal;
use crate::sample::escaped;

/// Labels that the protocol keeps for itself.
const RESERVED_LABELS: [&str; 2] = ["modelcontextprotocol", "mcp"];

/// Member that the session sets by itself when progress is asked for.
pub(super) const PROGRESS_TOKEN: &str = "progressToken";

/// Accepts a key that fits the grammar and is not reserved in any revision.
///
/// A key is a name, or a prefix of labels joined by dots, a slash, and a name. A prefix is reserved if one of its labels
/// is `modelcontextprotocol` or `mcp` and is the second one (2025-11-25 and later) or is followed by another
/// (2025-06-18).
pub(super) fn check_key(key: &str) -> Result<(), Refusal> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let fits = match prefix {
        Some(prefix) => prefix.split('.').all(is_label) && (name.is_empty() || is_name(name)),
        None => is_name(name),
    };
    if fits && key != PROGRESS_TOKEN && !prefix.is_some_and(is_reserved) {
        Ok(())
    } else {
        Err(Refusal::ReservedKey(escaped(key, 256)))
    }
}

fn is_label(label: &str) -> bool {
    is_framed(label, |c| c.is_ascii_alphabetic(), |c| c.is_ascii_alphanumeric() || c == '-')
}

fn is_name(name: &str) -> bool {
    is_framed(name, |c| c.is_ascii_alphanumeric(), |c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Whether `text` begins with what `first` allows, ends with a letter or digit, and has only what `inner` allows.
fn is_framed(text: &str, first: impl Fn(char) -> bool, inner: impl Fn(char) -> bool) -> bool {
    text.starts_with(first) && text.ends_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(inner)
}

fn is_reserved(prefix: &str) -> bool {
    let last = prefix.split('.').count() - 1;
    prefix.split('.').enumerate().any(|(at, label)| {
        (at == 1 || at < last) && RESERVED_LABELS.iter().any(|reserved| reserved.eq_ignore_ascii_case(label))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l34_trace_context_and_own_keys_are_accepted() {
        for key in [
            "traceparent",
            "tracestate",
            "baggage",
            "com.example/a_b.c-d",
            "my-company.example/x",
            "com.example/",
        ] {
            assert_eq!(check_key(key), Ok(()), "{key}");
        }
        // The last of three labels is nobody's but the owner of the domain.
        assert_eq!(check_key("com.example.mcp/x"), Ok(()));
    }

    #[test]
    fn l34_reserved_and_malformed_keys_are_refused() {
        for key in [
            "progressToken",
            "io.modelcontextprotocol/related-task",
            "modelcontextprotocol.io/x",
            "mcp.dev/x",
            "tools.mcp.com/x",
            "com.MCP/x",
            "",
            "/x",
            "a..b/x",
            "1a.b/x",
            "a-.b/x",
            "a_b.c/x",
            "a.b/-x",
            "a.b/x/y",
            "-x",
            "x y",
            "é",
            "a\nb",
        ] {
            let refusal = check_key(key).unwrap_err();
            assert_eq!(refusal.code(), crate::Code::RESERVED, "{key}");
        }
        assert_eq!(check_key("a\nb"), Err(Refusal::ReservedKey("a\\nb".to_owned())));
    }
}
