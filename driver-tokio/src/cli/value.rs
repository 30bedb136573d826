//! Values of options: times, sizes, variables, answers.

use std::env;
use std::time::Duration;

use sans_mcp::Timeouts;
use sans_mcp::script::{Answers, BadAnswer};

use super::text;

/// Why a value cannot be used. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadValue {
    #[error("it has no unit: write {0}ms, {0}s or {0}m")]
    NoTimeUnit(String),
    #[error("write a whole number and a unit, such as 500ms, 30s or 2m")]
    NotATime,
    #[error("write at least 1ms")]
    NoTime,
    #[error("write at most {} days", Timeouts::LONGEST.as_secs() / 86_400)]
    LongTime,
    #[error("it has no unit: write {0}k or {0}m")]
    NoSizeUnit(String),
    #[error("write a whole number and a unit, such as 64k or 10m")]
    NotASize,
    #[error("write NAME=VALUE, or the NAME of a variable of yours")]
    NotAVariable,
    #[error("you have no variable `{0}` to pass on: set it, or write NAME=VALUE")]
    NoVariable(String),
    #[error("write METHOD=JSON, such as 'roots/list={{\"roots\":[]}}'")]
    NotAnAnswer,
    #[error("{0}")]
    Answer(BadAnswer),
}

/// A time such as `500ms`, `30s` or `2m`. A plain number is refused: everybody has another unit in mind.
pub(super) fn time(text: &str) -> Result<Duration, BadValue> {
    let (number, unit) = split(text).ok_or(BadValue::NotATime)?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "" => return Err(BadValue::NoTimeUnit(text.to_owned())),
        _ => return Err(BadValue::NotATime),
    };
    match millis.map(Duration::from_millis) {
        Some(Duration::ZERO) => Err(BadValue::NoTime),
        Some(time) if time <= Timeouts::LONGEST => Ok(time),
        _ => Err(BadValue::LongTime),
    }
}

/// A size such as `64k` or `10m`, in bytes; `k` is 1024 of them. What is allowed, the configuration says.
pub(super) fn size(text: &str) -> Result<usize, BadValue> {
    let (number, unit) = split(text).ok_or(BadValue::NotASize)?;
    let unit = match unit {
        "k" => 1 << 10,
        "m" => 1 << 20,
        "" => return Err(BadValue::NoSizeUnit(text.to_owned())),
        _ => return Err(BadValue::NotASize),
    };
    Ok(usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(unit))
}

/// A variable for the server's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// With the value that the caller's own one has.
    Inherited(String),
    Set(String, String),
}

impl Variable {
    pub(super) fn name(&self) -> &str {
        match self {
            Variable::Inherited(name) | Variable::Set(name, _) => name,
        }
    }
}

/// `NAME=VALUE`, or the name of a variable that there is.
pub(super) fn variable(text: &str) -> Result<Variable, BadValue> {
    match pair(text) {
        Some((name, value)) => Ok(Variable::Set(name, value)),
        None if text.is_empty() || text.contains(['=', '\0']) => Err(BadValue::NotAVariable),
        None if env::var_os(text).is_none() => Err(BadValue::NoVariable(text::one_line(text, text::WORD))),
        None => Ok(Variable::Inherited(text.to_owned())),
    }
}

/// The answer to a request of the server, checked so that a wrong one is told before anything starts.
pub(super) fn answer(text: &str) -> Result<(String, String), BadValue> {
    let (method, json) = pair(text).ok_or(BadValue::NotAnAnswer)?;
    Answers::default().set(&method, &json).map_err(BadValue::Answer)?;
    Ok((method, json))
}

/// A name that is not empty, `=`, and whatever stands after it.
pub(super) fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(time("5").unwrap_err().to_string(), "it has no unit: write 5ms, 5s or 5m");
        for text in ["", "s", "1.5s", "-1s", "1h", "1 s", "99999999999999999999s"] {
            assert_eq!(time(text), Err(BadValue::NotATime), "{text}");
        }
        assert_eq!(time("0s"), Err(BadValue::NoTime));
        assert_eq!(time("999999999m"), Err(BadValue::LongTime));
        assert_eq!(time("18446744073709551615m"), Err(BadValue::LongTime));
    }

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("10m"), Ok(10 << 20));
        assert_eq!(size("64"), Err(BadValue::NoSizeUnit("64".to_owned())));
        assert_eq!(size("1g"), Err(BadValue::NotASize));
        assert_eq!(size("18446744073709551615m"), Ok(usize::MAX));
    }

    #[test]
    fn variables_and_answers_are_pairs() {
        assert_eq!(variable("A=b=c"), Ok(Variable::Set("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(Variable::Set("A".to_owned(), String::new())));
        assert_eq!(variable("PATH"), Ok(Variable::Inherited("PATH".to_owned())));
        assert_eq!(variable("NO SUCH"), Err(BadValue::NoVariable("NO SUCH".to_owned())));
        assert_eq!(variable("=b"), Err(BadValue::NotAVariable));
        assert!(answer(r#"roots/list={"roots":[]}"#).is_ok());
        assert_eq!(answer("roots/list"), Err(BadValue::NotAnAnswer));
        assert_eq!(answer("roots={}"), Err(BadValue::Answer(BadAnswer::Method)));
        assert_eq!(answer("roots/list=[]"), Err(BadValue::Answer(BadAnswer::NotAnObject)));
    }
}
