//! The cases of `fixtures/cases` against the machine itself, in virtual time.

#[cfg(test)]
mod cases_in_memory {
    mod play;

    use std::collections::BTreeSet;

    use sans_mcp_tests::case::playable;
    use sans_mcp_tests::expect::foundation;
    use sans_mcp_tests::link::LinkOptions;

    use play::{Played, play};

    /// Plays every record and reports all that fail.
    fn all(options: impl Fn(&Played) -> Option<LinkOptions>) {
        let cases = playable().unwrap();
        let mut faults = Vec::new();
        for expectation in foundation() {
            let case = cases.iter().find(|case| case.id == expectation.case).unwrap();
            let whole = play(case, &expectation, LinkOptions::default());
            let name = format!("{} {}", expectation.case, expectation.variant);
            match options(&whole) {
                None => faults.extend(whole.faults.iter().map(|fault| format!("{name}: {fault}"))),
                Some(options) => {
                    let cut = play(case, &expectation, options);
                    faults.extend(cut.faults.iter().map(|fault| format!("{name}: {fault}")));
                    faults.extend(
                        whole
                            .trace
                            .difference(&cut.trace)
                            .map(|where_| format!("{name}: traces part at {where_}")),
                    );
                }
            }
        }
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    }

    #[test]
    fn every_case_has_a_record_and_every_record_a_case() {
        let cases: BTreeSet<String> = playable().unwrap().into_iter().map(|case| case.id).collect();
        let records: BTreeSet<String> =
            foundation().into_iter().map(|record| record.case.to_owned()).collect();
        assert_eq!(cases, records);
        assert_eq!(cases.len(), 52);
    }

    #[test]
    fn every_case_comes_to_what_its_record_says() {
        all(|_| None);
    }

    #[test]
    fn w01_cases_in_random_pieces_give_the_same_traces() {
        for seed in 1..=2 {
            all(|played| {
                (played.bytes < 1 << 20).then(|| LinkOptions { blocks: false, ..LinkOptions::rough(seed) })
            });
        }
    }

    #[test]
    fn w01_cases_byte_by_byte_give_the_same_traces() {
        all(|played| (played.bytes < 1 << 18).then(LinkOptions::bytewise));
    }
}
