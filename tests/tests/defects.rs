//! The defects of `tests/defects` can still be planted; `tests/defects/run` does it and says who finds them.

#[cfg(test)]
mod defects {
    use std::fs;
    use std::path::Path;

    /// The lines that one change of a patch takes the place of.
    fn before(change: &str) -> String {
        let lines = change.lines().skip(1).filter(|line| line.starts_with([' ', '-']));
        lines.map(|line| line[1..].to_owned() + "\n").collect()
    }

    #[test]
    fn every_defect_can_still_be_planted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut planted = 0;
        for entry in fs::read_dir(root.join("tests/defects")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "patch") {
                continue;
            }
            planted += 1;
            let patch = fs::read_to_string(&path).unwrap();
            for part in patch.split("+++ b/").skip(1) {
                let (file, changes) = part.split_once('\n').unwrap();
                let source = fs::read_to_string(root.join(file)).unwrap();
                // What follows the changes of one file is the head of the next.
                let changes = changes.split("diff --git").next().unwrap();
                for change in changes.split("\n@@ ").map(|change| change.trim_start_matches("@@ ")) {
                    assert!(
                        source.contains(&before(change)),
                        "{}: {file} is not what it was:\n{change}",
                        path.display()
                    );
                }
            }
        }
        assert!(planted >= 15, "only {planted} defects");
    }
}
