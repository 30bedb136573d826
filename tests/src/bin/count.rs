//! Does a number of equal things in memory and nothing else, so that the difference of two runs under an instrument that
//! counts instructions is what so many of them cost. `.ci/instructions` and `.ci/growth` are its callers.

use std::process::ExitCode;

use sans_mcp_tests::loopback::{Kind, Loopback, Outcome, answer, around, listing};

const USAGE: &str = "\
count (generic|tool) TIMES OPEN WAITING (newest|oldest)
    so many calls, so many of which are open at a time, beside others that wait;
    answered first are the newest calls, so that the others wait on, or the oldest
count result BYTES PIECE TIMES
    calls that are answered with so long a text, which is read in such pieces (0: in the largest there are)
count catalog TOOLS TIMES
    connects to a server of so many tools";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("count: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    match *arguments {
        ["generic", ref rest @ ..] => calls(Kind::Generic, rest),
        ["tool", ref rest @ ..] => calls(Kind::Tool, rest),
        ["result", bytes, piece, times] => result(bytes.parse()?, piece.parse()?, times.parse()?),
        ["catalog", tools, times] => catalog(tools.parse()?, times.parse()?),
        _ => Err(USAGE.into()),
    }
}

/// Answers are made beforehand and as many whatever `TIMES` is, so that they do not count.
const ANSWERS: usize = 16_384;

fn calls(kind: Kind, arguments: &[&str]) -> Outcome {
    let &[times, open, waiting, order] = arguments else { return Err(USAGE.into()) };
    let (times, open, waiting): (usize, usize, u64) = (times.parse()?, open.parse()?, waiting.parse()?);
    if open == 0 || times % open != 0 || times > ANSWERS {
        return Err(format!("a multiple of {open} calls, and {ANSWERS} at most").into());
    }
    let mut loopback = Loopback::connect()?;
    for _ in 0..waiting {
        loopback.call([kind.prepare()])?;
        loopback.write();
    }
    let first = match order {
        "newest" => Loopback::FIRST_CALL + waiting,
        "oldest" => Loopback::FIRST_CALL,
        _ => return Err(USAGE.into()),
    };
    let numbers: Vec<u64> = (first..).take(ANSWERS).collect();
    let bursts: Vec<String> =
        numbers.chunks(open).map(|burst| burst.iter().map(|number| answer(*number)).collect()).collect();
    let before = loopback.answered()?;
    for burst in bursts.iter().take(times / open) {
        loopback.call((0..open).map(|_| kind.prepare()))?;
        loopback.write();
        loopback.read(burst.as_bytes(), usize::MAX)?;
    }
    expect(times, loopback.answered()? - before)
}

fn result(bytes: usize, piece: usize, times: u64) -> Outcome {
    let text = "x".repeat(bytes);
    let piece = if piece == 0 { usize::MAX } else { piece };
    let mut loopback = Loopback::connect()?;
    let before = loopback.answered()?;
    for _ in 0..times {
        let number = loopback.call([Kind::Tool.prepare()])?;
        loopback.write();
        let [head, tail] = around(number);
        for part in [&head, &text, &tail] {
            loopback.read(part.as_bytes(), piece)?;
        }
    }
    expect(times as usize, loopback.answered()? - before)
}

fn catalog(tools: usize, times: usize) -> Outcome {
    let listing = listing(tools);
    for _ in 0..times {
        Loopback::connect_to(&listing)?;
    }
    Ok(())
}

fn expect(times: usize, answered: usize) -> Outcome {
    if answered == times { Ok(()) } else { Err(format!("{answered} of {times} calls were answered").into()) }
}
