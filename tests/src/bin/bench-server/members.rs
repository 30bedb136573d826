//! Finds the members of JSON objects, without checking that they are JSON.

/// The members of the object that `json` is: keys without their quotes and values, both as they are written.
pub(crate) fn members(json: &[u8]) -> Members<'_> {
    Members { rest: json.get(1..).unwrap_or_default() }
}

pub(crate) struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let key = from(self.rest, |byte| byte == b'"')?.get(1..)?;
        let (key, after) = key.split_at_checked(string(key)?)?;
        let value = from(after.get(1..)?, |byte| byte != b':' && !byte.is_ascii_whitespace())?;
        let (value, rest) = value.split_at_checked(value_length(value)?)?;
        self.rest = rest;
        Some((key, value))
    }
}

fn from(bytes: &[u8], first: impl Fn(u8) -> bool) -> Option<&[u8]> {
    bytes.get(bytes.iter().position(|byte| first(*byte))?..)
}

/// How many bytes of a string stand before its closing quote.
fn string(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

fn value_length(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'"' => Some(string(bytes.get(1..)?)? + 2),
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0_usize);
            loop {
                match bytes.get(at)? {
                    b'"' => at += string(bytes.get(at + 1..)?)? + 1,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(json: &str) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        members(json.as_bytes()).map(|(key, value)| (text(key), text(value))).collect()
    }

    #[test]
    fn members_are_found_whatever_their_values_are() {
        let found = pairs(r#"{"id":7, "a" : {"b":"}\"","c":[1,{}]},"t":"x\\","n":null}"#);
        let wanted = [("id", "7"), ("a", r#"{"b":"}\"","c":[1,{}]}"#), ("t", r#""x\\""#), ("n", "null")];
        assert_eq!(found, wanted.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(pairs("{}"), []);
        assert_eq!(pairs(r#"{"a":"unfinished"#), []);
    }
}
