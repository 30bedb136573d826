//! The worlds that are explored.

use super::{Bounds, Moves};
use crate::history::{Answer, Saying, Setup, Step, Temper};

const CALL: Step = Step::Call { tool: 0, timeout: 0, progress: false, size: 0 };
const SHORT: Step = Step::Call { tool: 1, timeout: 5, progress: false, size: 0 };
const EXTENDED: Step = Step::Call { tool: 0, timeout: 10, progress: true, size: 0 };
const LARGE: Step = Step::Call { tool: 0, timeout: 0, progress: false, size: 22 };
const LARGE_LATER: Step = Step::Call { tool: 2, timeout: 0, progress: false, size: 22 };
const LISTED_LATER: Step = Step::Call { tool: 2, timeout: 0, progress: false, size: 0 };
const UNKNOWN: Step = Step::Call { tool: 3, timeout: 0, progress: false, size: 0 };
/// Any number of bytes.
const ALL: u8 = u8::MAX;

fn some(most: u8, steps: impl Into<Vec<Step>>) -> Moves {
    Moves { most: Some(most), steps: steps.into() }
}

fn always(steps: impl Into<Vec<Step>>) -> Moves {
    Moves { most: None, steps: steps.into() }
}

/// The oldest or the newest request is answered in this way.
fn answers(which: u8, how: &[Answer]) -> Vec<Step> {
    how.iter().map(|how| Step::Answer(which, *how)).collect()
}

fn world(name: &'static str, setup: Setup, moves: Vec<Moves>) -> Bounds {
    Bounds { name, setup, begin: Vec::new(), moves, drains: true, depth: usize::MAX }
}

/// The standard worlds: each is closed.
pub fn standard() -> Vec<Bounds> {
    let plain = Setup::PLAIN;
    let unconnected = Setup { handshake: None, ..plain };
    vec![
        // Three calls, and what can become of them.
        world(
            "calls",
            plain,
            vec![
                some(3, [CALL, SHORT]),
                some(3, answers(0, &[Answer::Result, Answer::Error])),
                some(1, answers(1, &[Answer::Result])),
                some(2, [Step::Cancel(0), Step::Cancel(1)]),
                some(1, [Step::Say(Saying::Again(0)), Step::Close, Step::Exit(true)]),
                always([Step::Tick]),
            ],
        ),
        world(
            "answers",
            plain,
            vec![
                some(2, [CALL]),
                some(
                    2,
                    answers(
                        0,
                        &[
                            Answer::Result,
                            Answer::Twice,
                            Answer::StringId,
                            Answer::Both,
                            Answer::Neither,
                            Answer::Null,
                            Answer::NoText,
                            Answer::TooLong,
                        ],
                    ),
                ),
                some(1, [Step::Cancel(0)]),
                some(
                    1,
                    [
                        Step::Say(Saying::Again(0)),
                        Step::Say(Saying::Stranger),
                        Step::Say(Saying::Uncorrelated),
                        Step::Say(Saying::Noise),
                    ],
                ),
                some(1, [Step::EndOutput, Step::Exit(false), Step::Shutdown(10)]),
                always([Step::Tick]),
            ],
        ),
        world(
            "strict conduct",
            Setup { strict: true, ..plain },
            vec![
                some(2, [CALL]),
                some(
                    2,
                    answers(
                        0,
                        &[Answer::Result, Answer::Twice, Answer::Neither, Answer::NoText, Answer::TooLong],
                    ),
                ),
                some(
                    1,
                    [
                        Step::Say(Saying::Noise),
                        Step::Say(Saying::Blank),
                        Step::Say(Saying::Stranger),
                        Step::Say(Saying::Uncorrelated),
                    ],
                ),
                some(1, [Step::Cancel(0), Step::EndOutput, Step::Exit(false), Step::Shutdown(10)]),
                always([Step::Tick]),
            ],
        ),
        world(
            "progress",
            plain,
            vec![
                some(2, [EXTENDED, CALL]),
                some(2, [Step::Say(Saying::Progress(0)), Step::Say(Saying::Progress(1))]),
                some(1, answers(0, &[Answer::Result])),
                some(2, [Step::Advance(50), Step::Advance(120)]),
                some(1, [Step::Cancel(0), Step::Shutdown(5)]),
                always([Step::Tick]),
            ],
        ),
        // Writing stops anywhere, and is polled step by step.
        Bounds {
            drains: false,
            ..world(
                "writing",
                plain,
                vec![
                    some(2, [CALL]),
                    some(1, [Step::Cancel(0), Step::Cancel(1)]),
                    some(1, [Step::Take(0), Step::Take(20)]),
                    some(1, [Step::Take(ALL)]),
                    some(1, [Step::CloseInput, Step::Close, Step::Notify]),
                    always([Step::Poll(1)]),
                ],
            )
        },
        world(
            "writing in turns",
            plain,
            vec![
                some(2, [CALL, SHORT]),
                some(2, [Step::Cancel(0), Step::Cancel(1)]),
                some(3, [Step::Take(0), Step::Take(20), Step::Take(ALL)]),
                some(1, answers(0, &[Answer::Result])),
                some(1, [Step::CloseInput, Step::Close, Step::Notify]),
                always([Step::Tick]),
            ],
        ),
        // Reading stops anywhere.
        Bounds {
            drains: false,
            ..world(
                "reading",
                plain,
                vec![
                    some(2, [CALL]),
                    some(1, [Step::Drain]),
                    some(2, answers(0, &[Answer::Result, Answer::Half])),
                    some(1, [Step::Feed(40)]),
                    some(
                        1,
                        [Step::Cancel(0), Step::Close, Step::Exit(false), Step::Exit(true), Step::EndOutput],
                    ),
                    always([Step::Poll(1), Step::Feed(u16::MAX)]),
                ],
            )
        },
        world(
            "connecting",
            unconnected,
            vec![
                some(3, [Step::Connect]),
                some(2, answers(0, &[Answer::Result, Answer::Error])),
                some(1, [Step::Cancel(0), Step::Cancel(1)]),
                some(1, [Step::Say(Saying::Ping)]),
                some(
                    1,
                    [
                        Step::Close,
                        Step::Shutdown(10),
                        Step::Exit(true),
                        Step::EndOutput,
                        Step::CloseInput,
                        Step::Take(0),
                        Step::List,
                    ],
                ),
                always([Step::Tick]),
            ],
        ),
        world(
            "handshakes that go wrong",
            unconnected,
            vec![
                some(2, [Step::Connect]),
                some(
                    2,
                    answers(
                        0,
                        &[
                            Answer::Result,
                            Answer::Error,
                            Answer::Neither,
                            Answer::Null,
                            Answer::StringId,
                            Answer::TooLong,
                            Answer::NoText,
                        ],
                    ),
                ),
                some(1, [Step::Cancel(0), Step::Close]),
                always([Step::Tick]),
            ],
        ),
        Bounds {
            drains: false,
            ..world(
                "starting",
                unconnected,
                vec![
                    some(2, [Step::Connect]),
                    some(2, [Step::Cancel(0), Step::Close, Step::Shutdown(10)]),
                    some(1, [Step::Take(0), Step::Take(20)]),
                    some(1, answers(0, &[Answer::Result])),
                    always([Step::Poll(1), Step::Feed(u16::MAX), Step::Tick]),
                ],
            )
        },
        Bounds {
            drains: false,
            ..world(
                "failing to start",
                Setup { spawn_fails: true, ..unconnected },
                vec![
                    some(3, [Step::Connect]),
                    some(2, [Step::Cancel(0), Step::Cancel(1), Step::Close, Step::Shutdown(10)]),
                    always([Step::Poll(1), Step::Tick]),
                ],
            )
        },
        world(
            "paging",
            Setup { paged: true, ..plain },
            vec![
                some(2, [Step::List, LISTED_LATER]),
                some(4, answers(0, &[Answer::Result])),
                some(1, [Step::Say(Saying::ListChanged)]),
                some(1, [Step::Cancel(0), Step::EndOutput, Step::Answer(0, Answer::Error)]),
                always([Step::Tick]),
            ],
        ),
        world(
            "paging while full",
            Setup { tight: true, paged: true, ..plain },
            vec![
                some(3, [CALL]),
                some(1, [Step::List]),
                some(3, answers(0, &[Answer::Result])),
                some(1, [Step::Cancel(0)]),
                some(2, [Step::Tick]),
            ],
        ),
        world(
            "stale",
            plain,
            vec![
                some(2, [LISTED_LATER, UNKNOWN]),
                some(1, [Step::List, CALL]),
                some(1, [Step::Say(Saying::ListChanged)]),
                some(2, answers(0, &[Answer::Result])),
                some(1, [Step::Cancel(0), Step::Cancel(1), Step::Take(0), Step::CloseInput]),
                always([Step::Tick]),
            ],
        ),
        world(
            "limits",
            Setup { tight: true, ..plain },
            vec![
                some(4, [CALL, LARGE, LARGE_LATER]),
                some(2, [Step::Take(0), Step::Take(ALL)]),
                some(1, answers(1, &[Answer::Result])),
                some(1, [Step::Say(Saying::ListChanged)]),
                some(1, [Step::Cancel(0), Step::Cancel(1)]),
                some(1, [Step::Tick]),
            ],
        ),
        world(
            "requests of the server",
            Setup { tight: true, ..plain },
            vec![
                some(2, [Step::Say(Saying::Roots), Step::Say(Saying::Ping), Step::Say(Saying::Unknown)]),
                some(
                    1,
                    [
                        Step::Say(Saying::CancelRoots),
                        Step::Say(Saying::NullId),
                        Step::Say(Saying::Pings(27)),
                        Step::Say(Saying::Pings(28)),
                    ],
                ),
                some(2, [Step::Respond(0), Step::Respond(1)]),
                some(2, [Step::Take(0), Step::Take(20), Step::Take(ALL)]),
                some(1, [CALL, Step::Close, Step::EndOutput]),
                always([Step::Tick]),
            ],
        ),
        world(
            "floods",
            Setup { tight: true, ..plain },
            vec![
                some(4, [Step::Say(Saying::ListChanged)]),
                some(1, [EXTENDED]),
                some(2, [Step::Say(Saying::Progress(0))]),
                some(3, [Step::Advance(5_000), Step::Advance(4_999), Step::Advance(50)]),
            ],
        ),
        world(
            "health",
            Setup { health: true, ..plain },
            vec![
                some(1, [CALL, Step::List]),
                some(3, answers(0, &[Answer::Result, Answer::Error, Answer::Neither])),
                some(1, [Step::Take(0), Step::CloseInput, Step::Cancel(0)]),
                some(1, [Step::Close, Step::Shutdown(30), Step::EndOutput]),
                some(6, [Step::Tick]),
            ],
        ),
    ]
    .into_iter()
    .chain([Temper::Meek, Temper::Slow, Temper::Stubborn, Temper::Immortal, Temper::Lingering].map(closing))
    .collect()
}

/// The ladder of a close, and what gets in its way.
fn closing(temper: Temper) -> Bounds {
    let name = match temper {
        Temper::Meek => "closing a meek server",
        Temper::Slow => "closing a slow server",
        Temper::Stubborn => "closing a stubborn server",
        Temper::Immortal => "closing an immortal server",
        Temper::Lingering => "closing a server that leaves descendants",
    };
    Bounds {
        drains: false,
        ..world(
            name,
            Setup { temper, ..Setup::PLAIN },
            vec![
                some(1, [CALL]),
                some(1, [Step::Drain]),
                some(1, answers(0, &[Answer::Result])),
                some(
                    2,
                    [
                        Step::Close,
                        Step::Shutdown(10),
                        Step::Exit(true),
                        Step::Exit(false),
                        Step::EndOutput,
                        Step::CloseInput,
                    ],
                ),
                some(u8::from(temper == Temper::Meek), [Step::Cancel(0), Step::Take(0)]),
                always([Step::Poll(1), Step::Feed(u16::MAX), Step::Tick]),
            ],
        )
    }
}

/// Everything at once, as far as there is time for it.
pub fn large(depth: usize) -> Vec<Bounds> {
    let setups = [
        Setup::PLAIN,
        Setup { strict: true, ..Setup::PLAIN },
        Setup { batches: true, paged: true, temper: Temper::Stubborn, ..Setup::PLAIN },
        Setup { tight: true, health: true, temper: Temper::Slow, ..Setup::PLAIN },
    ];
    let moves = vec![
        some(
            3,
            [
                CALL,
                SHORT,
                EXTENDED,
                LISTED_LATER,
                UNKNOWN,
                Step::List,
                Step::Ping(3),
                Step::Connect,
                Step::Request(0),
            ],
        ),
        some(
            4,
            answers(
                0,
                &[
                    Answer::Result,
                    Answer::More,
                    Answer::Error,
                    Answer::Twice,
                    Answer::StringId,
                    Answer::Neither,
                    Answer::TooLong,
                    Answer::NoText,
                    Answer::Half,
                    Answer::Batch,
                ],
            ),
        ),
        some(1, answers(1, &[Answer::Result])),
        some(2, [Step::Cancel(0), Step::Cancel(1)]),
        some(
            2,
            [
                Step::Say(Saying::Noise),
                Step::Say(Saying::Ping),
                Step::Say(Saying::Roots),
                Step::Say(Saying::CancelRoots),
                Step::Say(Saying::ListChanged),
                Step::Say(Saying::Progress(0)),
                Step::Say(Saying::Again(0)),
                Step::Say(Saying::Uncorrelated),
            ],
        ),
        some(1, [Step::Respond(0)]),
        some(2, [Step::Take(0), Step::Take(20), Step::Take(ALL)]),
        some(
            2,
            [
                Step::Close,
                Step::Shutdown(10),
                Step::Exit(true),
                Step::Exit(false),
                Step::EndOutput,
                Step::CloseInput,
            ],
        ),
        some(2, [Step::Feed(40)]),
        always([Step::Poll(1), Step::Drain, Step::Feed(u16::MAX), Step::Tick]),
    ];
    let all = |setup| Bounds { depth, drains: false, ..world("everything", setup, moves.clone()) };
    setups.into_iter().map(all).collect()
}
