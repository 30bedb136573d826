//! What was measured.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::run::Report;
use crate::workloads::Workload;

/// Reports by workload and column, one a round.
#[derive(Default)]
pub(crate) struct Results {
    reports: BTreeMap<(String, usize), Vec<Option<Report>>>,
}

impl Results {
    pub(crate) fn add(&mut self, workload: &Workload, column: usize, report: Option<Report>) {
        self.reports.entry((workload.name(), column)).or_default().push(report);
    }

    /// The median over the rounds of what is reported there under that name, or why there is none.
    pub(crate) fn median(&self, workload: &Workload, column: usize, field: &str) -> Result<f64, String> {
        let values: Vec<f64> =
            self.rounds(workload, column)?.into_iter().filter_map(|report| number(report, field)).collect();
        median(values).ok_or_else(|| "–".to_owned())
    }

    /// The median over the rounds of calls a second, as a share of those in the column `of` in the same round.
    pub(crate) fn share(&self, workload: &Workload, column: usize, of: usize) -> Result<f64, String> {
        let (own, others) = (self.rounds(workload, column)?, self.rounds(workload, of)?);
        let rate = "ops_per_s";
        let shares =
            own.iter().zip(others).filter_map(|(own, other)| Some(number(own, rate)? / number(other, rate)?));
        median(shares.collect()).ok_or_else(|| "–".to_owned())
    }

    /// The reports of all rounds, unless one of them failed.
    fn rounds(&self, workload: &Workload, column: usize) -> Result<Vec<&Map<String, Value>>, String> {
        let reports = self.reports.get(&(workload.name(), column)).into_iter().flatten().flatten();
        reports.map(|report| report.as_ref().map_err(String::clone)).collect()
    }
}

fn number(report: &Map<String, Value>, field: &str) -> Option<f64> {
    report.get(field).and_then(Value::as_f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}
