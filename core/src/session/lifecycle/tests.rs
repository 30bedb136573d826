use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Action, Event, Phase, transition};
use crate::process::Signal;

fn actions(phase: Phase, event: Event) -> &'static [Action] {
    transition(phase, event).map_or(&[], |(_, actions)| actions)
}

fn product() -> impl Iterator<Item = (Phase, Event, Option<(Phase, &'static [Action])>)> {
    Phase::ALL
        .into_iter()
        .flat_map(|phase| Event::ALL.into_iter().map(move |event| (phase, event, transition(phase, event))))
}

#[test]
fn a_closed_session_stays_closed() {
    for event in Event::ALL {
        assert_eq!(transition(Phase::Closed, event), None, "{event:?}");
    }
}

#[test]
fn life_only_goes_forward() {
    for (phase, event, next) in product() {
        if let Some((next, _)) = next {
            assert!(next >= phase, "{phase:?} on {event:?} goes back to {next:?}");
        }
    }
}

#[test]
fn every_phase_is_reached_and_every_one_but_the_last_is_left() {
    let mut reached = BTreeSet::from([Phase::New]);
    while let Some(next) = product()
        .filter(|(phase, ..)| reached.contains(phase))
        .filter_map(|(_, _, next)| next.map(|(next, _)| next))
        .find(|next| !reached.contains(next))
    {
        reached.insert(next);
    }
    assert_eq!(reached, BTreeSet::from(Phase::ALL));
    for phase in Phase::ALL {
        let leaves =
            Event::ALL.iter().any(|event| transition(phase, *event).is_some_and(|(next, _)| next != phase));
        assert_eq!(leaves, phase != Phase::Closed, "{phase:?}");
    }
}

/// L17: after close is asked for, deadlines alone end every phase in which a process may live.
#[test]
fn l17_deadlines_alone_end_the_ladder() {
    for start in [Phase::Leaving, Phase::Terminating, Phase::Killing, Phase::Reaping, Phase::Probing] {
        let mut phase = start;
        let mut steps = 0;
        while phase != Phase::Closed {
            phase = transition(phase, Event::Deadline).expect("a deadline moves it on").0;
            steps += 1;
            assert!(steps <= 3, "{start:?} takes more than three deadlines");
        }
    }
}

/// L17: a close in any phase of a life settles what is open, unless it was settled before.
#[test]
fn l17_close_settles_in_every_phase_with_open_calls() {
    for phase in [Phase::New, Phase::Spawning, Phase::Initializing, Phase::Ready, Phase::Draining] {
        assert!(actions(phase, Event::Close).contains(&Action::Settle), "{phase:?}");
    }
    // What noticed a loss settles with the loss as its cause.
    assert_eq!(transition(Phase::Losing, Event::Close), None);
    for event in [Event::Lost, Event::Silenced] {
        assert!(actions(Phase::Losing, event).contains(&Action::Settle), "{event:?}");
    }
}

/// L17: a leader that was seen to have exited gets its group killed before it is reaped, and after that no signal is sent.
#[test]
fn l17_the_group_is_killed_before_the_leader_is_reaped_and_never_after() {
    for (phase, event, next) in product() {
        let Some((next, actions)) = next else { continue };
        if let Some(reap) = actions.iter().position(|action| *action == Action::Reap) {
            let kill = actions.iter().position(|action| *action == Action::Signal(Signal::Kill));
            assert!(kill.is_some_and(|kill| kill < reap), "{phase:?} on {event:?}");
            assert_eq!(next, Phase::Reaping);
        }
        if phase >= Phase::Reaping {
            assert!(
                !actions.iter().any(|action| matches!(action, Action::Signal(_))),
                "{phase:?} on {event:?}"
            );
        }
    }
}

/// L05: a handshake that fails, in whatever way, leaves no process.
#[test]
fn l05_a_failed_handshake_is_killed() {
    for event in [Event::Fault, Event::Deadline] {
        let (next, actions) = transition(Phase::Initializing, event).expect("it ends");
        assert_eq!(next, Phase::Killing, "{event:?}");
        assert!(actions.contains(&Action::Signal(Signal::Kill)));
    }
}

/// A close while the process is being started kills what the start brings.
#[test]
fn closing_while_spawning_kills_what_comes() {
    let (next, _) = transition(Phase::Spawning, Event::Close).expect("it closes");
    assert_eq!(next, Phase::Aborting);
    assert!(actions(Phase::Aborting, Event::Spawned).contains(&Action::Signal(Signal::Kill)));
    assert_eq!(transition(Phase::Aborting, Event::SpawnFailed).expect("it ends").0, Phase::Closed);
}

/// The input is closed exactly once on every way from a running process to the end.
#[test]
fn the_input_is_closed_on_entering_the_ladder() {
    for (phase, event, next) in product() {
        let Some((next, actions)) = next else { continue };
        let ladder = |phase: Phase| (Phase::Leaving..Phase::Closed).contains(&phase);
        let closes = actions.contains(&Action::CloseStdin);
        assert_eq!(closes, ladder(next) && !ladder(phase), "{phase:?} on {event:?}");
    }
}

/// The table in the documentation is made from the one in the code.
#[test]
fn the_documented_table_is_the_one_in_the_code() {
    let documented = include_str!("../../../../docs/lifecycle.md");
    let start = documented.find("```mermaid").expect("the diagram begins");
    let generated = diagram() + "\n" + &table();
    assert_eq!(
        documented[start..].trim_end(),
        generated.trim_end(),
        "docs/lifecycle.md is stale: put this in place of what follows its text:\n\n{generated}\n"
    );
}

fn diagram() -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> New\n");
    for phase in Phase::ALL {
        for next in Phase::ALL {
            let events: Vec<String> = Event::ALL
                .iter()
                .filter(|event| transition(phase, **event).is_some_and(|(to, _)| to == next))
                .map(|event| format!("{event:?}"))
                .collect();
            if !events.is_empty() {
                writeln!(text, "    {phase:?} --> {next:?}: {}", events.join(", "))
                    .expect("strings take all");
            }
        }
    }
    text + "    Closed --> [*]\n```\n"
}

fn table() -> String {
    let mut text = String::from("| phase | event | next | what is done |\n|---|---|---|---|\n");
    for (phase, event, next) in product() {
        if let Some((next, actions)) = next {
            let actions: Vec<String> = actions.iter().map(|action| format!("{action:?}")).collect();
            writeln!(text, "| {phase:?} | {event:?} | {next:?} | {} |", actions.join(", "))
                .expect("strings take all");
        }
    }
    text
}
