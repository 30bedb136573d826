//! How large a regular expression becomes when it is compiled.

/// States that a class over many characters takes, such as `.` or `[^a]`.
const CLASS: u64 = 8;
/// States that a Unicode property takes.
const PROPERTY: u64 = 500;

/// The number of states that `pattern` has once its counted repetitions are written out, rounded up; `None` if it asks for
/// what the linear engine cannot do (backtracking, flags that change how the rest is read).
///
/// This reads just enough of the syntax to see groups and counts. `(a{1,1000}){1,1000}` is a million states; to find
/// that out by compiling takes longer than all else in this module.
pub(super) fn states(pattern: &str) -> Option<u64> {
    let mut groups: Vec<u64> = Vec::new();
    // States of the group so far without its last item, and those of the last item, which a count multiplies.
    let (mut before, mut last) = (0_u64, 0_u64);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or("");
        let item = match c {
            '(' => {
                if let Some(question) = rest.strip_prefix('?') {
                    rest = question.strip_prefix(':').or_else(|| named(question))?;
                }
                groups.push(before.saturating_add(last));
                (before, last) = (0, 0);
                continue;
            }
            ')' => {
                let group = before.saturating_add(last).saturating_add(1);
                before = groups.pop()?;
                last = group;
                continue;
            }
            '{' => {
                if let Some((count, after)) = count(rest) {
                    last = last.saturating_mul(count.max(1)).saturating_add(1);
                    rest = after;
                    continue;
                }
                1
            }
            '*' | '+' | '?' => {
                last = last.saturating_add(1);
                continue;
            }
            '[' => {
                let (states, after) = class(rest)?;
                rest = after;
                states
            }
            '\\' => {
                let escaped = rest.chars().next()?;
                rest = rest.get(escaped.len_utf8()..).unwrap_or("");
                match escaped {
                    '1'..='9' | 'k' => return None,
                    'p' | 'P' => {
                        rest = rest
                            .strip_prefix('{')
                            .and_then(|name| name.split_once('}'))
                            .map_or(rest, |(_, after)| after);
                        PROPERTY
                    }
                    _ => CLASS,
                }
            }
            '.' => CLASS,
            // A literal takes a state for each of its bytes.
            _ => u64::try_from(c.len_utf8()).unwrap_or(4),
        };
        before = before.saturating_add(last);
        last = item;
    }
    groups.is_empty().then(|| before.saturating_add(last).saturating_add(1))
}

/// What follows the name of a named group.
fn named(after_question: &str) -> Option<&str> {
    let name = after_question.strip_prefix('<').or_else(|| after_question.strip_prefix("P<"))?;
    if name.starts_with(['=', '!']) { None } else { Some(name) }
}

/// The largest count of `{2}`, `{2,}` or `{2,5}`, of which the brace has been read, and what follows it.
fn count(rest: &str) -> Option<(u64, &str)> {
    let (counts, after) = rest.split_once('}')?;
    let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
    let number = |text: &str| {
        let text = text.trim();
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let least = number(least)?;
    let most = if most.trim().is_empty() { least.saturating_add(1) } else { number(most)? };
    Some((least.max(most), after))
}

/// States of a class of which the bracket has been read, and what follows it. One that begins with its end is read in two
/// ways by two dialects, so it is refused.
fn class(rest: &str) -> Option<(u64, &str)> {
    if rest.starts_with(']') || rest.starts_with("^]") {
        return None;
    }
    let mut states = CLASS;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            'p' | 'P' if escaped => states = states.saturating_add(PROPERTY),
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            ']' if !escaped => return Some((states, rest.get(at + 1..).unwrap_or(""))),
            _ => states = states.saturating_add(1),
        }
        escaped = false;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l24_counted_repetitions_multiply() {
        assert_eq!(states("a{3}"), Some(5));
        assert_eq!(states("é{3}"), Some(8));
        assert!(states("(a{1,1000}){1,1000}").unwrap() > 1_000_000);
        assert!(states("((a{100}){100}){100}{100}").unwrap() > 100_000_000);
        assert_eq!(
            states(&"(".repeat(3).replace('(', "(a{99999999999999999999})")).map(|n| n > 1 << 60),
            Some(true)
        );
        assert!(states(r"\p{L}{64}").unwrap() > 30_000);
        assert!(states(r"[\p{L}_]{64}").unwrap() > 30_000);
        assert!(states("(ab|cd){2,}").unwrap() > 3 * 5);
        for class in [".", "[^a]", r"\w"] {
            assert!(states(&format!("{class}{{100}}")).unwrap() > 500, "{class}");
        }
        for repeated in ["(a{100})*{100}", "(a{100})+{100}", "(a{100})?{100}"] {
            assert!(states(repeated).unwrap() > 10_000, "{repeated}");
        }
    }

    #[test]
    fn l24_a_class_ends_at_the_first_bracket_that_is_not_escaped() {
        let one = states("[ab]{50}").unwrap();
        for class in [r"[\\]", r"[\]]", r"[\]a]", r"[\\\]]"] {
            assert!(states(&format!("{class}{{100}}")).unwrap() > one, "{class}");
        }
        assert_eq!(states(r"[\]{100}"), None);
    }

    #[test]
    fn ordinary_patterns_are_cheap() {
        for pattern in [
            "^[a-z0-9_-]{1,64}$",
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$",
            "^https?://",
            "^(?:a|b)(?<rest>.*)$",
            "a{,3}{x}",
            "[pP]{64}",
        ] {
            assert!(states(pattern).unwrap() < 2_000, "{pattern}: {:?}", states(pattern));
        }
    }

    #[test]
    fn what_needs_backtracking_or_changes_the_syntax_is_refused() {
        for pattern in [
            "(?=a)",
            "(?!a)",
            "(?<=a)b",
            "(?<!a)b",
            r"(a)\1",
            r"\k<a>",
            "(?x)a {3}",
            "(?i:a)",
            "(",
            ")",
            "\\",
            "[",
            "[]a]",
            "[^]]",
        ] {
            assert_eq!(states(pattern), None, "{pattern}");
        }
    }
}
