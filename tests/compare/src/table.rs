//! The results as a table.

use std::fmt::{self, Write as _};

use crate::columns::COLUMNS;
use crate::results::Results;
use crate::workloads::{Line, Shows, Workload};

/// The lines that are `wanted`, under a line that says when and where they were measured.
pub(crate) fn table(
    workloads: &[Workload],
    results: &Results,
    stamp: &str,
    wanted: impl Fn(&Workload, &Line) -> bool,
) -> Result<String, fmt::Error> {
    let mut table = format!("Measured {stamp}.\n\n| what |");
    for column in &COLUMNS {
        write!(table, " {} |", column.name)?;
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(COLUMNS.len()));
    for workload in workloads {
        for line in workload.lines.iter().filter(|line| wanted(workload, line)) {
            write!(table, "\n| {}: {} |", workload.name(), line.unit)?;
            for column in 0..COLUMNS.len() {
                let cell = cell(results, workload, line, column).unwrap_or_else(|why| why);
                write!(table, " {cell} |")?;
            }
        }
    }
    Ok(table + "\n")
}

fn cell(results: &Results, workload: &Workload, line: &Line, column: usize) -> Result<String, String> {
    match line.shows {
        Shows::Share(of) if of == column => {
            Ok(format!("{}/s", rounded(results.median(workload, column, "ops_per_s")?)))
        }
        Shows::Share(of) => Ok(percent(results.share(workload, column, of)?)),
        Shows::Fields(fields) => {
            let numbers: Result<Vec<String>, String> = fields
                .iter()
                .map(|(name, factor, digits)| {
                    let number = results.median(workload, column, name)? * factor;
                    Ok(format!("{number:.digits$}"))
                })
                .collect();
            Ok(numbers?.join(" / "))
        }
    }
}

fn percent(share: f64) -> String {
    let digits = if share < 0.1 { 1 } else { 0 };
    format!("{:.digits$} %", share * 100.0)
}

/// Three digits of a number, and what it counts in.
fn rounded(number: f64) -> String {
    let (number, unit) = match number {
        1e6.. => (number / 1e6, " M"),
        1e3.. => (number / 1e3, " k"),
        _ => (number, ""),
    };
    let digits = if number < 10.0 {
        2
    } else if number < 100.0 {
        1
    } else {
        0
    };
    format!("{number:.digits$}{unit}")
}
