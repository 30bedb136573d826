//! Replays what the fuzz targets keep in `corpus`.

#[cfg(test)]
mod replay {
    use std::path::Path;

    fn replay(target: &str) {
        let (_, run) = sans_mcp_fuzz::TARGETS.into_iter().find(|(name, _)| *name == target).unwrap();
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let count = sans_mcp_fuzz::replay(run, &directory).unwrap();
        assert!(count > 10, "only {count} inputs of {target}");
    }

    #[test]
    fn w01_lines_come_to_the_same_however_they_are_cut() {
        replay("lines");
    }

    #[test]
    fn w07_a_line_means_what_a_naive_reader_takes_it_for() {
        replay("envelope");
    }

    #[test]
    fn every_invariant_holds_for_raw_output() {
        replay("session");
    }

    #[test]
    fn every_invariant_holds_for_kept_histories() {
        replay("history");
    }

    #[test]
    fn w04_what_is_written_is_one_message_that_means_what_was_handed_in() {
        replay("encoding");
    }

    #[test]
    fn l24_the_catalog_is_that_of_a_naive_reader() {
        replay("catalog");
    }

    #[test]
    fn l22_nothing_of_a_secret_is_shown() {
        replay("stderr");
    }

    #[test]
    fn every_command_of_a_script_completes_once() {
        replay("script");
    }

    #[test]
    fn any_short_input_is_survived() {
        for (_, run) in sans_mcp_fuzz::TARGETS {
            run(&[]);
            (0..=255).for_each(|byte| run(&[byte]));
        }
    }
}
