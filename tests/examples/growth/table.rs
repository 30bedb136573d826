//! Curves as tables, and where those are kept.

use std::fmt::{self, Write as _};

use crate::Chart;

const BEGIN: &str = "<!-- made by .ci/growth -->\n";
const END: &str = "<!-- end of growth -->\n";

pub(crate) fn of(chart: &Chart) -> Result<String, fmt::Error> {
    let places = chart.places();
    let mut table = format!("### {}\n\n| {} |", chart.title, chart.along);
    for place in &places {
        write!(table, " {} |", chart.name(*place))?;
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(places.len()));
    for curve in &chart.curves {
        write!(table, "\n| {} |", curve.name)?;
        for place in &places {
            match curve.at(*place) {
                Some(value) => write!(table, " {value:.0$} |", chart.digits)?,
                None => table.push_str(" – |"),
            }
        }
    }
    Ok(table + "\n")
}

/// The document with `text` in the place of what was made before.
pub(crate) fn replaced(document: &str, text: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{text}\n{END}{after}"))
}
