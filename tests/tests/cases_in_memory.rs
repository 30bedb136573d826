//! The cases of `fixtures/cases` against the machine itself, in virtual time.

#[cfg(test)]
mod cases_in_memory {
    mod play;

    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use sans_mcp_tests::case::{Case, playable};
    use sans_mcp_tests::expect::{Expectation, foundation};
    use sans_mcp_tests::link::LinkOptions;

    use play::{Played, play};

    /// Bytes up to which a case is also played one byte at a time; the splitting of longer lines is proved in core.
    const SINGLY: u64 = 1 << 20;

    /// What every record comes to with its bytes whole.
    static WHOLE: LazyLock<Vec<(Case, Expectation, Played)>> = LazyLock::new(|| {
        let cases = playable().unwrap();
        let played = foundation().into_iter().map(|record| {
            let case = cases.iter().find(|case| case.id == record.case).unwrap().clone();
            let played = play(&case, &record, LinkOptions::default());
            (case, record, played)
        });
        played.collect()
    });

    fn report(faults: impl Iterator<Item = String>) {
        let faults: Vec<String> = faults.collect();
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    }

    fn named<'a>(record: &'a Expectation, faults: &'a [String]) -> impl Iterator<Item = String> + 'a {
        faults.iter().map(|fault| format!("{} {}: {fault}", record.case, record.variant))
    }

    /// Plays every record with its bytes cut, and compares with what it came to whole.
    fn cut(options: impl Fn(&Played) -> Option<LinkOptions>) {
        report(WHOLE.iter().flat_map(|(case, record, whole)| {
            let Some(options) = options(whole) else { return Vec::new() };
            let mut cut = play(case, record, options);
            cut.faults.extend(whole.trace.difference(&cut.trace));
            named(record, &cut.faults).collect::<Vec<_>>()
        }));
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
        report(WHOLE.iter().flat_map(|(_, record, whole)| named(record, &whole.faults)));
    }

    #[test]
    fn w01_cases_in_random_pieces_give_the_same_traces() {
        for seed in 1..=2 {
            cut(|_| Some(LinkOptions { blocks: false, ..LinkOptions::rough(seed) }));
        }
    }

    #[test]
    fn w01_cases_byte_by_byte_give_the_same_traces() {
        cut(|whole| (whole.bytes < SINGLY).then(LinkOptions::bytewise));
    }
}
