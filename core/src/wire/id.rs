//! Which ids are ours (row L07).

use super::decode::string;

/// Largest id that every peer can read exactly: JSON numbers are doubles for many of them.
pub(crate) const MAX: u64 = (1 << 53) - 1;

/// The longest spelling that is worth a look as a near miss, in bytes.
const LONGEST_SPELLING: usize = 64;

/// Reads a raw JSON value as one of our ids: a decimal integer up to [`MAX`] without sign, fraction, exponent or
/// leading zero.
pub(crate) fn number(raw: &str) -> Option<u64> {
    let digits = raw.as_bytes();
    let is_canonical = match digits {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 16 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_canonical {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    (value <= MAX).then_some(value)
}

/// Reads a raw JSON string whose content is such an integer, as `IdMatching::Decimal` accepts it.
pub(crate) fn decimal_string(raw: &str) -> Option<u64> {
    number(raw.strip_prefix('"')?.strip_suffix('"')?)
}

/// Reads a raw JSON value that means one of our ids but does not spell it as we do, such as `3.0`, `3e0`, `"3"` or
/// `" 05 "`: no match, yet worth telling.
pub(crate) fn near_miss(raw: &str) -> Option<u64> {
    if raw.len() > LONGEST_SPELLING || number(raw).is_some() {
        return None;
    }
    let decoded = string(raw);
    let spelling = decoded.as_deref().unwrap_or(raw).trim();
    if !spelling.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let value: f64 = spelling.parse().ok()?;
    (value.fract() == 0.0 && value <= MAX as f64).then_some(value as u64)
}

#[cfg(test)]
mod tests;
