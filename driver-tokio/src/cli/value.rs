//! Values of options: times, sizes, variables, answers.

use std::env;
use std::ops::RangeInclusive;
use std::time::Duration;

use sans_mcp::Timeouts;
use sans_mcp::script::{Answers, BadAnswer};

use super::text;

/// Why a value cannot be used. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadValue {
    #[error("it has no unit: write {0}")]
    NoUnit(String),
    #[error(
        "write a whole number and ms, s or m after it, such as 500ms, 30s or 2m; there are no other units"
    )]
    NotATime,
    #[error("choose from 1ms to {}m", Timeouts::LONGEST.as_secs() / 60)]
    TimeRange,
    #[error("write a whole number and k or m after it, such as 64k or 10m; there are no other units")]
    NotASize,
    #[error("choose from {}k to {}m", SIZES.start() >> 10, SIZES.end() >> 20)]
    SizeRange,
    #[error("write NAME=VALUE, or the NAME of a variable of yours")]
    NotAVariable,
    #[error("you have no variable `{0}` to pass on: set it, or write NAME=VALUE")]
    NoVariable(String),
    #[error("write METHOD=JSON, such as 'roots/list={{\"roots\":[]}}'")]
    NotAnAnswer,
    #[error("{0}")]
    Answer(BadAnswer),
}

/// 1 KiB to 1 GiB: what the configuration takes for the longest line.
const SIZES: RangeInclusive<usize> = 1 << 10..=1 << 30;

/// A time such as `500ms`, `30s` or `2m`. A plain number is refused: everybody has another unit in mind.
pub(super) fn time(text: &str) -> Result<Duration, BadValue> {
    let (number, unit) = split(text).ok_or(BadValue::NotATime)?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "" => return Err(no_unit(text, &["ms", "s", "m"], BadValue::TimeRange, |text| time(text).is_ok())),
        _ => return Err(BadValue::NotATime),
    };
    let time = millis.map(Duration::from_millis);
    time.filter(|time| !time.is_zero() && *time <= Timeouts::LONGEST).ok_or(BadValue::TimeRange)
}

/// A size such as `64k` or `10m`, in bytes; `k` is 1024 of them.
pub(super) fn size(text: &str) -> Result<usize, BadValue> {
    let (number, unit) = split(text).ok_or(BadValue::NotASize)?;
    let unit = match unit {
        "k" => 1 << 10,
        "m" => 1 << 20,
        "" => return Err(no_unit(text, &["k", "m"], BadValue::SizeRange, |text| size(text).is_ok())),
        _ => return Err(BadValue::NotASize),
    };
    let size = usize::try_from(number).ok().and_then(|number| number.checked_mul(unit));
    size.filter(|size| SIZES.contains(size)).ok_or(BadValue::SizeRange)
}

/// What to write instead of a plain number: it with each unit that makes a value which is taken.
fn no_unit(number: &str, units: &[&str], range: BadValue, is_taken: impl Fn(&str) -> bool) -> BadValue {
    let taken = units.iter().map(|unit| format!("{number}{unit}")).filter(|text| is_taken(text));
    let taken: Vec<String> = taken.collect();
    match taken.split_last() {
        None => range,
        Some((only, [])) => BadValue::NoUnit(only.clone()),
        Some((last, others)) => BadValue::NoUnit(format!("{} or {last}", others.join(", "))),
    }
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
    use sans_mcp::{Limits, Server};

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(time("5").unwrap_err().to_string(), "it has no unit: write 5ms, 5s or 5m");
        for text in ["", "s", "1.5s", "-1s", "1h", "1 s", "99999999999999999999s"] {
            assert_eq!(time(text), Err(BadValue::NotATime), "{text}");
        }
        for text in ["0s", "999999999m", "18446744073709551615m"] {
            assert_eq!(time(text), Err(BadValue::TimeRange), "{text}");
        }
    }

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("10m"), Ok(10 << 20));
        assert_eq!(size("64").unwrap_err().to_string(), "it has no unit: write 64k or 64m");
        assert_eq!(size("1g"), Err(BadValue::NotASize));
        for text in ["0k", "1025m", "18446744073709551615m"] {
            assert_eq!(size(text), Err(BadValue::SizeRange), "{text}");
        }
    }

    #[test]
    fn what_is_suggested_is_taken() {
        let said = |fault: BadValue| fault.to_string();
        assert_eq!(said(time("0").unwrap_err()), "choose from 1ms to 527040m");
        assert_eq!((time("1ms").is_ok(), time("527040m")), (true, Ok(Timeouts::LONGEST)));
        assert_eq!(said(time("99999999").unwrap_err()), "it has no unit: write 99999999ms");
        assert_eq!(said(size("0").unwrap_err()), "choose from 1k to 1024m");
        assert_eq!(said(size("2000").unwrap_err()), "it has no unit: write 2000k");
        let takes = |line: usize| {
            let mut server = Server::new("s", "s");
            (server.settings.limits.line, server.settings.limits.discard) = (line, line.max(Limits::DISCARD));
            server.check().is_ok()
        };
        let (least, most) = (*SIZES.start(), *SIZES.end());
        assert_eq!([least - 1, least, most, most + 1].map(takes), [false, true, true, false]);
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
