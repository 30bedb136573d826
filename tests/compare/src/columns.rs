//! What is compared.

/// A program that does the workloads.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
    pub(crate) options: &'static [&'static str],
    /// How many times as many calls as others it makes in as long.
    pub(crate) calls: usize,
    /// Whether it has callers, who can be many or wait.
    pub(crate) is_client: bool,
}

/// The place of the column that others are a share of: where requests are small, and where results are large.
pub(crate) const PUMP: usize = 0;
pub(crate) const FLOOR: usize = 1;

pub(crate) const COLUMNS: [Column; 5] = [
    Column { name: "pump", program: "compare-pump", options: &[], calls: 5, is_client: false },
    Column { name: "pump floor", program: "compare-pump", options: &["--floor"], calls: 5, is_client: false },
    Column { name: "tokio", program: "compare-tokio", options: &[], calls: 1, is_client: true },
    Column { name: "mio", program: "compare-mio", options: &[], calls: 1, is_client: true },
    Column { name: "rmcp 3.11", program: "compare-rmcp", options: &[], calls: 1, is_client: true },
];
