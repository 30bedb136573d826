//! Text of others made fit to be shown on one line.

use std::fmt::Write;
use std::time::Duration;

/// Characters of a word that is quoted in a message.
pub(super) const WORD: usize = 64;
/// Characters of a line that is not to be broken by a terminal more than once.
pub(super) const LINE: usize = 160;

/// `text` with every run of white space as one space, at most `limit` characters and then `…`, and with nothing in it
/// that acts on a terminal.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (at, word) in text.split_whitespace().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        push_visible(&mut line, word);
        if line.chars().nth(limit).is_some() {
            line = line.chars().take(limit).collect();
            line.push('…');
            break;
        }
    }
    line
}

/// `text` with its lines and tabs, and with every other character that acts on a terminal escaped.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push_visible(&mut shown, text);
    shown
}

fn push_visible(out: &mut String, text: &str) {
    for c in text.chars() {
        if is_hidden(c) && !matches!(c, '\n' | '\t') {
            // Writing into memory cannot fail.
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
}

/// Whether a character acts on a terminal or on the text around it instead of being seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Milliseconds with their microseconds.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1_000.0
}

/// Whether somebody who wrote `given` may have meant `known`: the same but for case, one the start of the other, or one
/// letter in three wrong.
pub(super) fn looks_like(known: &str, given: &str) -> bool {
    let (known, given) = (known.to_lowercase(), given.to_lowercase());
    let begins =
        !known.is_empty() && !given.is_empty() && (known.starts_with(&given) || given.starts_with(&known));
    begins || distance(&known, &given) <= known.chars().count().max(3) / 3
}

/// How many letters must be put in, left out or changed to turn one into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(WORD).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(WORD).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (to, above) in b.iter().zip(row.iter().skip(1)) {
            let cost = (diagonal + usize::from(from != *to)).min(left + 1).min(above + 1);
            diagonal = *above;
            left = cost;
            next.push(cost);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_and_bounded() {
        assert_eq!(one_line(" a\n\tb  c ", 10), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("\u{1b}[2J\u{202e}x", 99), "\\u{1b}[2J\\u{202e}x");
        assert_eq!(one_line("", 3), "");
    }

    #[test]
    fn visible_text_keeps_its_lines() {
        assert_eq!(visible("a\n\tb\u{1b}[31m\r"), "a\n\tb\\u{1b}[31m\\r");
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert!(looks_like("delay", "Delay") && looks_like("delay", "dely") && looks_like("path", "pth"));
        assert!(looks_like("interval_ms", "interval"));
        assert!(!looks_like("path", "value") && !looks_like("a", "xyz"));
    }
}
