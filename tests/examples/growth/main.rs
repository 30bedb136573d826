//! Measures how cost grows, and keeps it as tables in `docs/speed.md` and as pictures beside it. `.ci/growth` builds what is
//! measured and runs this. Calls and bytes are counted in instructions, which valgrind does and which repeat; sessions are
//! processes, and what they hold is what the system says.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use sans_mcp_tests::loopback::Outcome;

mod curve;
mod measure;
mod picture;
mod table;

use curve::{Chart, Curve};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("growth: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let [memory, idle] = measure::sessions()?;
    let mut text = table::of(&idle)?;
    for (file, chart) in [
        ("growth-sessions.svg", memory),
        ("growth-calls.svg", measure::calls()?),
        ("growth-bytes.svg", measure::bytes()?),
        ("growth-tools.svg", measure::tools()?),
    ] {
        fs::write(docs.join(file), picture::draw(&chart)?)?;
        text.push_str(&format!("\n{}\n![{}]({file})\n", table::of(&chart)?, chart.title));
    }
    println!("{text}");
    let path = docs.join("speed.md");
    let document = fs::read_to_string(&path)?;
    Ok(fs::write(path, table::replaced(&document, &text).ok_or("speed.md has no place for it")?)?)
}
