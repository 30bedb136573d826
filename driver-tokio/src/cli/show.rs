//! Results for people.

use sans_mcp::ResourceContents;
use sans_mcp::{Content, Tool, ToolResult};

use super::text;
use crate::Client;

/// What a server that is connected says it is: its name, its version if it has one, and the protocol's.
pub(super) fn server(client: &Client) -> String {
    let (name, version) = client.server_info().map(|info| (info.name, info.version)).unwrap_or_default();
    let mut shown = String::new();
    for word in [name, version].map(|word| text::one_line(&word, text::WORD)) {
        // Either may be empty.
        if !shown.is_empty() && !word.is_empty() {
            shown.push(' ');
        }
        shown += &word;
    }
    let protocol = client.version().map(|version| version.as_str()).unwrap_or_default();
    let comma = if shown.is_empty() { "" } else { ", " };
    shown + comma + "protocol " + protocol
}

/// A tool as one line: how it is called, and the first words of what it says it does.
pub(super) fn tool(tool: &Tool) -> String {
    match tool.description().map(|description| text::one_line(description, text::LINE)) {
        Some(description) if !description.is_empty() => format!("{}  {description}", tool.signature()),
        _ => tool.signature(),
    }
}

/// A result as text that ends with a line end, unless it is empty: what its blocks say; if none of them is text, its
/// structured content.
pub(super) fn result(result: &ToolResult<'_>) -> String {
    let mut shown = String::new();
    let mut has_text = false;
    for content in result.content() {
        has_text |= matches!(content, Content::Text { .. });
        push_block(&mut shown, &content);
    }
    if let Some(structured) = result.structured().filter(|_| !has_text) {
        shown.push_str(&pretty(structured));
        shown.push('\n');
    }
    shown
}

fn push_block(shown: &mut String, content: &Content<'_>) {
    match content {
        Content::Text { text, .. } => shown.push_str(text),
        other => shown.push_str(&note(other)),
    }
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
}

/// What stands for a block that is not text.
fn note(content: &Content<'_>) -> String {
    let word = |text: &str| text::one_line(text, text::WORD);
    let address = |text: &str| text::one_line(text, text::LINE);
    match content {
        Content::Image { data, mime_type, .. } => {
            format!("[image {}, {} bytes]", word(mime_type), decoded(data))
        }
        Content::Audio { data, mime_type, .. } => {
            format!("[audio {}, {} bytes]", word(mime_type), decoded(data))
        }
        Content::Resource { uri, contents, .. } => {
            let bytes = match contents {
                ResourceContents::Text(text) => text.len(),
                ResourceContents::Blob(data) => decoded(data),
            };
            format!("[resource {}, {bytes} bytes]", address(uri))
        }
        Content::ResourceLink { uri, name, .. } => format!("[link to {}: {}]", word(name), address(uri)),
        _ => "[a block of a type that is not known here: --json shows it]".to_owned(),
    }
}

/// How many bytes base64 text stands for.
fn decoded(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}

/// JSON with line ends and indentation, and with every word of it as it was.
pub(super) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let (mut inside, mut escaped, mut opened) = (false, false, false);
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        // Deeper than this is not seen any more, and would make the text grow with its square.
        out.extend(std::iter::repeat_n("  ", depth.min(32)));
    };
    for c in json.chars() {
        if inside {
            out.push(c);
            inside = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(c, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        if opened != closes && (opened || closes) {
            new_line(&mut out, depth);
        }
        opened = matches!(c, '{' | '[');
        depth += usize::from(opened);
        inside = c == '"';
        out.push(c);
        match c {
            ',' => new_line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        result(&ToolResult::parse(json).expect("a result"))
    }

    #[test]
    fn text_is_shown_as_it_is_and_the_rest_as_notes() {
        assert_eq!(
            shown(r#"{"content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c\n"}]}"#),
            "a\nb\nc\n"
        );
        assert_eq!(
            shown(
                r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"file:///a","text":"abc"}},{"type":"resource_link","uri":"demo://x","name":"x"},{"type":"hologram"}]}"#
            ),
            "[image image/png, 3 bytes]\n[audio audio/wav, 1 bytes]\n[resource file:///a, 3 bytes]\n[link to x: demo://x]\n[a block of a type that is not known here: --json shows it]\n"
        );
        assert_eq!(shown(r#"{"content":[]}"#), "");
        assert_eq!(shown(r#"{"content":[{"type":"text","text":""}]}"#), "");
    }

    #[test]
    fn structured_content_is_shown_where_there_is_no_text() {
        assert_eq!(
            shown(r#"{"structuredContent":{"n":9007199254740993,"f":1.0}}"#),
            "{\n  \"n\": 9007199254740993,\n  \"f\": 1.0\n}\n"
        );
        assert_eq!(shown(r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{"n":1}}"#), "t\n");
    }

    #[test]
    fn pretty_json_keeps_every_word() {
        assert_eq!(pretty("{}"), "{}");
        assert_eq!(pretty("[ ]"), "[]");
        assert_eq!(
            pretty(r#"{"a":[1,{"b":[]}],"c,{":"\"}"}"#),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c,{\": \"\\\"}\"\n}"
        );
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(pretty(&deep).len() < 20_000 * 70);
    }
}
