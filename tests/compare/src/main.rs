//! Runs the same workloads on this client, on another one, and on no client at all, and prints how they compare:
//!
//! ```text
//! compare [--rounds N] [--write] [WORD ...]
//! ```
//!
//! Only workloads whose name has one of the words are run, if any is given. With `--write` the tables in `README.md` and
//! `docs/speed.md` are replaced. `tests/compare/run` builds all of it first.

use std::error::Error;
use std::process::ExitCode;

mod columns;
mod documents;
mod processor;
mod results;
mod run;
mod table;
mod workloads;

use processor::Processor;
use results::Results;
use workloads::{Line, Workload};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match compare(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(mut arguments: impl Iterator<Item = String>) -> Outcome {
    let (mut rounds, mut write, mut words) = (5, false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("how many rounds?")?.parse()?,
            "--write" => write = true,
            _ => words.push(argument),
        }
    }
    let chosen = workloads::chosen(&words);
    let processor = Processor::find()?;
    let mut results = Results::default();
    for round in 0..rounds {
        for workload in &chosen {
            eprintln!("round {}: {}", round + 1, workload.name());
            processor.share(workload.pinned)?;
            for (column, program) in columns::COLUMNS.iter().enumerate() {
                results.add(workload, column, run::run(program, workload));
            }
        }
    }
    let stamp = format!(
        "{}; {rounds} {}",
        std::env::var("COMPARE_STAMP").unwrap_or_else(|_| "an unknown day and machine".to_owned()),
        if rounds == 1 { "round" } else { "rounds" }
    );
    let whole = table::table(&chosen, &results, &stamp, |_, _| true)?;
    println!("{whole}");
    if write {
        let main = |workload: &Workload, line: &Line| workload.in_readme && line.in_readme;
        documents::replace("README.md", &table::table(&chosen, &results, &stamp, main)?)?;
        documents::replace("docs/speed.md", &whole)?;
    }
    Ok(())
}
