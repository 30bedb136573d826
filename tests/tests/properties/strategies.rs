//! How histories are drawn.

use proptest::collection::vec;
use proptest::prelude::*;
use sans_mcp_tests::history::{Answer, Lie, Saying, Setup, Step, Temper};

/// Histories with a driver that says what is so.
pub(super) fn honest() -> impl Strategy<Value = (Setup, Vec<Step>)> {
    (setup(false), vec(step(false), 0..60))
}

/// Histories with one that does not.
pub(super) fn lying() -> impl Strategy<Value = (Setup, Vec<Step>)> {
    (setup(true), vec(step(true), 0..60))
}

fn setup(lies: bool) -> impl Strategy<Value = Setup> {
    let temper = prop_oneof![
        4 => Just(Temper::Meek),
        1 => Just(Temper::Slow),
        1 => Just(Temper::Stubborn),
        1 => Just(Temper::Immortal),
        1 => Just(Temper::Lingering),
    ];
    let rarely = || prop::bool::weighted(0.12);
    let handshake = prop_oneof![2 => Just(None), 8 => Just(Some(Answer::Result)), 2 => any::<u8>().prop_map(|number| Some(answer(number)))];
    let often = || prop::bool::weighted(0.25);
    let rare = (rarely(), rarely(), rarely(), often(), any::<bool>(), often());
    (temper, rare, handshake).prop_map(
        move |(temper, (strict, spawn_fails, batches, paged, tight, health), handshake)| Setup {
            temper,
            strict,
            spawn_fails,
            batches,
            paged,
            tight,
            health,
            handshake,
            lies,
        },
    )
}

/// A step is drawn as four numbers, of which smaller ones make a simpler step: a strategy for each kind would begin a
/// generator for each kind that it did not choose, which costs more than playing the history.
fn step(lies: bool) -> impl Strategy<Value = Step> {
    let kinds = 0_u16..if lies { 449 } else { 389 };
    (kinds, any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(kind, one, other, wide)| match kind {
        0..72 => Step::Drain,
        72..84 => Step::Tick,
        84..108 => Step::Advance(wide % if one < 232 { 300 } else { 20_000 }),
        108..126 => Step::Poll(one % 6),
        126..180 => Step::Answer(which(wide), answer(one)),
        180..210 => Step::Say(saying(one, other)),
        210..216 => Step::Connect,
        216..264 => Step::Call {
            tool: one % 5,
            timeout: (other % 40) / 2,
            progress: wide % 5 < 2,
            size: (wide / 5 % 70) as u8,
        },
        264..273 => Step::Request(one),
        273..282 => Step::Ping(one % 20),
        282..300 => Step::List,
        300..303 => Step::Notify,
        303..321 => Step::Cancel(which(wide)),
        321..333 => Step::Respond(one),
        333..357 => Step::Feed(wide % if one < 128 { 30 } else { 3_000 }),
        357..381 => Step::Take(if one < 64 { other % 200 } else { u8::MAX }),
        381..384 => Step::Complain(one),
        384 => Step::Shutdown(one % 60),
        385 => Step::Close,
        386 => Step::CloseInput,
        387 => Step::EndOutput,
        388 => Step::Exit(one < 128),
        _ => Step::Lie(Lie::numbered(one, || other)),
    })
}

/// One of the newest, or any.
fn which(number: u16) -> u8 {
    let [half, any] = number.to_be_bytes();
    if half < 128 { any % 3 } else { any }
}

fn answer(number: u8) -> Answer {
    match number % 33 {
        0..12 => Answer::Result,
        12..18 => Answer::More,
        18..20 => Answer::Error,
        20..22 => Answer::Twice,
        22 => Answer::OddError,
        23 => Answer::StringId,
        24 => Answer::Fraction,
        25 => Answer::Both,
        26 => Answer::Neither,
        27 => Answer::NoVersion,
        28 => Answer::Null,
        29 => Answer::TooLong,
        30 => Answer::NoText,
        31 => Answer::Batch,
        _ => Answer::Half,
    }
}

fn saying(number: u8, count: u8) -> Saying {
    match number % 36 {
        0..9 => Saying::Progress(count),
        9..13 => Saying::ListChanged,
        13..16 => Saying::Roots,
        16..18 => Saying::CancelRoots,
        18..20 => Saying::Ping,
        20..22 => Saying::Notifications(count % 12),
        22..24 => Saying::Again(count),
        24 => Saying::Noise,
        25 => Saying::Brace,
        26 => Saying::Blank,
        27 => Saying::Unknown,
        28 => Saying::NullId,
        29 => Saying::Stranger,
        30 => Saying::Uncorrelated,
        _ => Saying::Pings(count % 40),
    }
}
