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
    let handshake =
        prop_oneof![2 => Just(None), 8 => Just(Some(Answer::Result)), 2 => answer().prop_map(Some)];
    let often = || prop::bool::weighted(0.25);
    let rare = (rarely(), rarely(), rarely(), often(), often(), rarely());
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

fn step(lies: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Connect),
        48 => (0_u8..5, 0_u8..40, prop::bool::weighted(0.4), 0_u8..70)
            .prop_map(|(tool, timeout, progress, size)| Step::Call { tool, timeout: timeout / 2, progress, size }),
        9 => any::<u8>().prop_map(Step::Request),
        9 => (0_u8..20).prop_map(Step::Ping),
        9 => Just(Step::List),
        3 => Just(Step::Notify),
        18 => prop_oneof![0_u8..3, any::<u8>()].prop_map(Step::Cancel),
        12 => any::<u8>().prop_map(Step::Respond),
        1 => (0_u8..60).prop_map(Step::Shutdown),
        1 => Just(Step::Close),
        24 => (0_u16..300).prop_map(Step::Advance),
        12 => Just(Step::Tick),
        54 => (prop_oneof![0_u8..3, any::<u8>()], answer()).prop_map(|(which, how)| Step::Answer(which, how)),
        30 => saying().prop_map(Step::Say),
        3 => any::<u8>().prop_map(Step::Complain),
        24 => prop_oneof![0_u16..30, 0_u16..3_000].prop_map(Step::Feed),
        24 => prop_oneof![1 => 0_u8..200, 3 => Just(255_u8)].prop_map(Step::Take),
        1 => Just(Step::CloseInput),
        1 => Just(Step::EndOutput),
        1 => any::<bool>().prop_map(Step::Exit),
        18 => (0_u8..6).prop_map(Step::Poll),
        72 => Just(Step::Drain),
        (if lies { 60 } else { 1 }) => lie(lies),
    ]
}

/// A lie, or what stands in for one.
fn lie(lies: bool) -> impl Strategy<Value = Step> {
    let lie = prop_oneof![
        Just(Lie::Spawned),
        Just(Lie::SpawnFailed),
        Just(Lie::Exited),
        Just(Lie::Reaped),
        Just(Lie::Gone),
        Just(Lie::Left),
        Just(Lie::InputClosed),
        Just(Lie::OutputEnded),
        any::<u8>().prop_map(Lie::Written),
        Just(Lie::Writable),
        Just(Lie::NotPermitted),
        any::<u8>().prop_map(Lie::Read),
        Just(Lie::Earlier),
    ];
    lie.prop_map(move |lie| if lies { Step::Lie(lie) } else { Step::Drain })
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        12 => Just(Answer::Result),
        6 => Just(Answer::More),
        2 => Just(Answer::Error),
        1 => Just(Answer::OddError),
        2 => Just(Answer::Twice),
        1 => Just(Answer::StringId),
        1 => Just(Answer::Fraction),
        1 => Just(Answer::Both),
        1 => Just(Answer::Neither),
        1 => Just(Answer::NoVersion),
        1 => Just(Answer::Null),
        1 => Just(Answer::TooLong),
        1 => Just(Answer::NoText),
        1 => Just(Answer::Batch),
        1 => Just(Answer::Half),
    ]
}

fn saying() -> impl Strategy<Value = Saying> {
    prop_oneof![
        1 => Just(Saying::Noise),
        1 => Just(Saying::Brace),
        1 => Just(Saying::Blank),
        2 => Just(Saying::Ping),
        3 => Just(Saying::Roots),
        1 => Just(Saying::Unknown),
        1 => Just(Saying::NullId),
        2 => Just(Saying::CancelRoots),
        4 => Just(Saying::ListChanged),
        9 => any::<u8>().prop_map(Saying::Progress),
        2 => (0_u8..12).prop_map(Saying::Notifications),
        2 => any::<u8>().prop_map(Saying::Again),
        1 => Just(Saying::Stranger),
        1 => Just(Saying::Uncorrelated),
        1 => (0_u8..40).prop_map(Saying::Pings),
    ]
}
