//! Steps of a history: the invariants hold, and it is the same when it is played again.
//!
//! The first bytes are the setup, and then each step is a byte for its kind and as many more as it takes.

use sans_mcp_tests::history::{Answer, Lie, Saying, Setup, Step, Temper, play};

use crate::source::Source;

/// Longest history: what comes after is not played.
const STEPS: usize = 300;

/// Runs the target.
pub fn run(data: &[u8]) {
    let (setup, steps) = decode(data);
    let played = play(setup, &steps);
    assert!(played.is_ok(), "{played:?}\n{setup:?}\n{steps:?}");
    assert_eq!(play(setup, &steps), played, "played again\n{setup:?}\n{steps:?}");
}

/// The history that bytes stand for.
pub fn decode(data: &[u8]) -> (Setup, Vec<Step>) {
    let mut source = Source::new(data);
    let setup = setup(&mut source);
    let mut steps = Vec::new();
    while !source.is_empty() && steps.len() < STEPS {
        steps.push(step(&mut source));
    }
    (setup, steps)
}

fn setup(source: &mut Source<'_>) -> Setup {
    let bits = source.byte();
    let tempers = [Temper::Meek, Temper::Slow, Temper::Stubborn, Temper::Immortal];
    Setup {
        temper: source.one_of(&tempers, Temper::Meek),
        strict: bits & 1 != 0,
        spawn_fails: bits & 2 != 0,
        batches: bits & 4 != 0,
        paged: bits & 8 != 0,
        tight: bits & 64 != 0,
        health: bits & 128 != 0,
        handshake: if bits & 16 == 0 { Some(answer(source)) } else { None },
        lies: bits & 32 != 0,
    }
}

fn step(source: &mut Source<'_>) -> Step {
    match source.byte() % 24 {
        0 => Step::Drain,
        1 => Step::Connect,
        2 => Step::Call {
            tool: source.byte(),
            timeout: source.byte(),
            progress: source.flag(),
            size: source.byte() % 80,
        },
        3 => Step::Request(source.byte()),
        4 => Step::Ping(source.byte()),
        5 => Step::List,
        6 => Step::Notify,
        7 => Step::Cancel(source.byte()),
        8 => Step::Respond(source.byte()),
        9 => Step::Shutdown(source.byte()),
        10 => Step::Close,
        11 => Step::Advance(u16::from(source.byte())),
        12 => Step::Advance(u16::from(source.byte()) << 8),
        13 => Step::Answer(source.byte(), answer(source)),
        14 => Step::Say(saying(source)),
        15 => Step::Complain(source.byte()),
        16 => Step::Feed(u16::from(source.byte())),
        17 => Step::Feed(u16::from(source.byte()) << 4),
        18 => Step::Take(source.byte()),
        19 => Step::CloseInput,
        20 => Step::EndOutput,
        21 => Step::Exit(source.flag()),
        22 => Step::Poll(source.byte()),
        _ => Step::Lie(Lie::numbered(source.byte(), || source.byte())),
    }
}

fn answer(source: &mut Source<'_>) -> Answer {
    let answers = [
        Answer::Result,
        Answer::More,
        Answer::Error,
        Answer::OddError,
        Answer::Twice,
        Answer::StringId,
        Answer::Fraction,
        Answer::Both,
        Answer::Neither,
        Answer::NoVersion,
        Answer::Null,
        Answer::TooLong,
        Answer::NoText,
        Answer::Batch,
        Answer::Half,
    ];
    source.one_of(&answers, Answer::Result)
}

fn saying(source: &mut Source<'_>) -> Saying {
    match source.byte() % 15 {
        0 => Saying::Noise,
        1 => Saying::Brace,
        2 => Saying::Blank,
        3 => Saying::Ping,
        4 => Saying::Roots,
        5 => Saying::Unknown,
        6 => Saying::NullId,
        7 => Saying::CancelRoots,
        8 => Saying::ListChanged,
        9 => Saying::Progress(source.byte()),
        10 => Saying::Notifications(source.byte() % 40),
        11 => Saying::Again(source.byte()),
        12 => Saying::Stranger,
        13 => Saying::Uncorrelated,
        _ => Saying::Pings(source.byte()),
    }
}
