//! Everything that can happen in small worlds, in every order, checked at every step.
//!
//! `cargo test -p sans-mcp-tests --test exploration -- --nocapture` prints how many states and transitions there were.
//! `SANS_MCP_WORLD` names the only one to explore, and `SANS_MCP_DEPTH` also explores a world in which everything can happen, up to so many moves.

#[cfg(test)]
mod exploration {
    use std::env;
    use std::time::Instant;

    use sans_mcp_tests::exploration::{Bounds, Explored, explore, large, retrace, standard};

    fn explored(bounds: &Bounds) -> Explored {
        let begin = Instant::now();
        let explored = explore(bounds).unwrap_or_else(|found| {
            let trace = retrace(bounds, &found.path).map_or_else(|_| String::new(), |trace| trace.join("\n"));
            panic!("{}: {found}\n{trace}", bounds.name)
        });
        println!(
            "{:<42} {:>9} states {:>10} transitions, {:>2} moves deep, {} in {:.1} s",
            bounds.name,
            explored.states,
            explored.transitions,
            explored.depth,
            if explored.closed { "closed" } else { "cut off" },
            begin.elapsed().as_secs_f32()
        );
        explored
    }

    fn sum(all: impl Iterator<Item = Explored>) {
        let (states, transitions) =
            all.fold((0, 0), |sum, one| (sum.0 + one.states, sum.1 + one.transitions));
        println!("{states} states and {transitions} transitions in all");
    }

    #[test]
    fn nothing_that_can_happen_in_the_standard_worlds_breaks_an_invariant() {
        let only = env::var("SANS_MCP_WORLD").ok();
        let mut worlds = standard();
        worlds.retain(|bounds| only.as_ref().is_none_or(|only| bounds.name == only));
        sum(worlds.iter().map(|bounds| {
            let explored = explored(bounds);
            assert!(explored.closed, "{}", bounds.name);
            explored
        }));
    }

    #[test]
    fn nor_does_it_where_everything_can_happen() {
        let depth = env::var("SANS_MCP_DEPTH").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
        sum(large(depth).iter().map(explored));
    }
}
