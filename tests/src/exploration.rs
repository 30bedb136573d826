//! Exhaustive search: everything that can happen in a small world, in every order.
//!
//! A world is a setup, a beginning, and moves of which each may be made so often. From each state every move is tried, the
//! invariants are checked at every step, and each new state is closed to see that this ends well. States with the same
//! digest go on in the same way, so each is looked at once.

mod worlds;

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::thread;

use crate::history::{Answer, Setup, Step, World};
use crate::invariants::{Rule, Violation};

pub use worlds::{large, standard};

/// A world to explore.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// What it is called.
    pub name: &'static str,
    /// What stays the same.
    pub setup: Setup,
    /// What happens before.
    pub begin: Vec<Step>,
    /// What can happen then.
    pub moves: Vec<Moves>,
    /// Everything is polled out after each move; otherwise polls are moves as well.
    pub drains: bool,
    /// Moves after which the search stops, if the world is not closed before.
    pub depth: usize,
}

impl Bounds {
    /// Whether the model has something to say of it. It is no part of a state: it says of it what the session should do.
    fn is_modelled(&self) -> bool {
        let halves = |step: &Step| matches!(step, Step::Answer(_, Answer::Half));
        let any = self.moves.iter().flat_map(|moves| &moves.steps).any(halves);
        self.drains && !any
    }
}

/// Moves that share how often one of them can be made.
#[derive(Clone, Debug)]
pub struct Moves {
    /// How often; `None`: any number of times.
    pub most: Option<u8>,
    /// Any of these.
    pub steps: Vec<Step>,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: usize,
    /// Moves made from them.
    pub transitions: usize,
    /// Moves to the farthest state.
    pub depth: usize,
    /// Whether every state that can be reached was.
    pub closed: bool,
}

/// A way to what must not be.
#[derive(Clone, Debug)]
pub struct Found {
    /// What.
    pub violation: Violation,
    /// The moves that lead there.
    pub path: Vec<Step>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nafter {:?}", self.violation, self.path)
    }
}

/// A state: how it is reached, and how often each kind of move may still be made.
struct State {
    digest: u128,
    parent: u32,
    step: Option<Step>,
    left: Box<[u8]>,
}

/// What one thread reached in one round.
#[derive(Default)]
struct Round {
    reached: Vec<State>,
    transitions: usize,
}

/// Explores a world, and stops at the first thing that must not be.
///
/// # Errors
/// That thing.
pub fn explore(bounds: &Bounds) -> Result<Explored, Box<Found>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let left: Box<[u8]> = bounds.moves.iter().map(|moves| moves.most.unwrap_or(1)).collect();
    let first = replay(bounds, &[]).map_err(|violation| Box::new(Found { violation, path: Vec::new() }))?;
    let digest = fingerprint(&first.digest(), &left);
    let mut states = vec![State { digest, parent: 0, step: None, left }];
    let mut seen = HashSet::from([digest]);
    let mut explored = Explored::default();
    let mut front = 0..1;
    while !front.is_empty() && explored.depth < bounds.depth {
        let share = front.len().div_ceil(threads).max(1);
        let (all, known) = (&states, &seen);
        let rounds: Vec<Result<Round, Box<Found>>> = thread::scope(|scope| {
            let parts = front.clone().step_by(share).map(|from| from..(from + share).min(front.end));
            let running: Vec<_> = parts
                .map(|part| {
                    scope.spawn(move || {
                        part.map(|place| (place, all))
                            .try_fold(
                                (Round::default(), HashSet::new()),
                                |(mut round, mut own), (place, all)| {
                                    moves_from(bounds, all, place, known, &mut own, &mut round)?;
                                    Ok((round, own))
                                },
                            )
                            .map(|(round, _)| round)
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let begin = states.len();
        for round in rounds {
            let round = round?;
            explored.transitions += round.transitions;
            for reached in round.reached {
                if seen.insert(reached.digest) {
                    states.push(reached);
                }
            }
        }
        front = begin..states.len();
        explored.depth += usize::from(!front.is_empty());
    }
    explored.closed = front.is_empty();
    explored.states = states.len();
    Ok(explored)
}

/// Makes every move from one state.
fn moves_from(
    bounds: &Bounds,
    states: &[State],
    place: usize,
    known: &HashSet<u128>,
    own: &mut HashSet<u128>,
    round: &mut Round,
) -> Result<(), Box<Found>> {
    let path = path_to(states, place);
    let found = |violation: Violation, last: Option<Step>| {
        Box::new(Found { violation, path: path.iter().copied().chain(last).collect() })
    };
    let world = replay(bounds, &path).map_err(|violation| found(violation, None))?;
    let Some(state) = states.get(place) else { return Ok(()) };
    let before = world.digest();
    if fingerprint(&before, &state.left) != state.digest {
        let seen = "the same moves led to another state".to_owned();
        return Err(found(Violation { rule: Rule::Repeats, seen }, None));
    }
    world.clone().finish().map_err(|violation| found(violation, None))?;
    for (group, moves) in bounds.moves.iter().enumerate() {
        if state.left.get(group) == Some(&0) {
            continue;
        }
        for step in &moves.steps {
            let mut next = world.clone();
            make(bounds, &mut next, *step).map_err(|violation| found(violation, Some(*step)))?;
            round.transitions += 1;
            let after = next.digest();
            if after == before {
                // Nothing happened.
                continue;
            }
            let mut left = state.left.clone();
            if moves.most.is_some()
                && let Some(left) = left.get_mut(group)
            {
                *left -= 1;
            }
            let digest = fingerprint(&after, &left);
            if !known.contains(&digest) && own.insert(digest) {
                let parent = u32::try_from(place).unwrap_or(u32::MAX);
                round.reached.push(State { digest, parent, step: Some(*step), left });
            }
        }
    }
    Ok(())
}

/// The same moves always lead to the same state, so a state need not be kept.
fn replay(bounds: &Bounds, path: &[Step]) -> Result<World, Violation> {
    let mut world = World::new(bounds.setup).untraced();
    if bounds.is_modelled() {
        world = world.with_model();
    }
    world.begin()?;
    for step in &bounds.begin {
        world.step(*step)?;
    }
    for step in path {
        make(bounds, &mut world, *step)?;
    }
    Ok(world)
}

fn make(bounds: &Bounds, world: &mut World, step: Step) -> Result<(), Violation> {
    world.step(step)?;
    if bounds.drains { world.step(Step::Drain) } else { Ok(()) }
}

fn path_to(states: &[State], place: usize) -> Vec<Step> {
    let mut path = Vec::new();
    let mut at = place;
    while let Some(State { parent, step: Some(step), .. }) = states.get(at) {
        path.push(*step);
        at = *parent as usize;
    }
    path.reverse();
    path
}

fn fingerprint(digest: &[u8], left: &[u8]) -> u128 {
    let half = |begin: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(begin);
        hasher.write(left);
        hasher.write(digest);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// Plays the way to a state again, with its trace.
///
/// # Errors
/// What must not be, if it leads there.
pub fn retrace(bounds: &Bounds, path: &[Step]) -> Result<Vec<String>, Violation> {
    let mut world = World::new(bounds.setup);
    world.begin()?;
    for step in bounds.begin.iter().chain(path) {
        make(bounds, &mut world, *step)?;
    }
    world.finish()
}
