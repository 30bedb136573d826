//! Names that look alike.

/// At most three of `names` that look like `wanted`, best first; among equals the server's order.
///
/// Costs at most a few comparisons for each byte of each name, so ten thousand tools take milliseconds.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    if wanted.is_empty() || wanted.len() > super::Catalog::NAME {
        return Vec::new();
    }
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let mut ranked: Vec<(usize, &str)> =
        names.filter_map(|name| rank(&wanted, name).map(|rank| (rank, name))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// Edits between two names that still count as a slip: one for three letters, at most [`MOST_EDITS`].
const MOST_EDITS: usize = 4;

/// How far `name` is from what was wanted, or `None` if it does not look like it. The start of a name comes after any
/// slip of the pen.
fn rank(wanted: &[char], name: &str) -> Option<usize> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let most = (wanted.len().min(name.len()) / 3).clamp(1, MOST_EDITS);
    if let Some(edits) = edits(wanted, &name, most) {
        return Some(edits);
    }
    let shorter = wanted.len().min(name.len());
    (shorter >= 3 && (wanted.starts_with(&name) || name.starts_with(wanted))).then_some(MOST_EDITS + 1)
}

/// Edit distance (Levenshtein) if it is at most `most`, computed in a band of that width around the diagonal.
fn edits(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let far = most + 1;
    // `row[k]` is the distance between the first `i` of `a` and the first `i + k - most` of `b`.
    let width = 2 * most + 1;
    let mut row: Vec<usize> = (0..width).map(|k| k.checked_sub(most).map_or(far, |j| j.min(far))).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![far; width];
        let mut left = far;
        for (k, slot) in next.iter_mut().enumerate() {
            let Some(j) = (i + 1 + k).checked_sub(most).filter(|&j| j <= b.len()) else { continue };
            let at = |k: usize| row.get(k).copied().unwrap_or(far);
            let replaced = match j.checked_sub(1).and_then(|j| b.get(j)) {
                Some(y) => at(k) + usize::from(x != y),
                None => far,
            };
            *slot = replaced.min(at(k + 1) + 1).min(left + 1).min(far);
            left = *slot;
        }
        row = next;
    }
    let last = (b.len() + most).checked_sub(a.len())?;
    row.get(last).copied().filter(|&edits| edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(wanted: &str, names: &[&str]) -> Vec<String> {
        nearest(wanted, names.iter().copied())
    }

    #[test]
    fn l25_look_alikes_come_best_first_and_at_most_three() {
        let names = ["read", "read_files", "Read_File", "read_fil", "write_file", "x"];
        assert_eq!(near("read_file", &names), ["Read_File", "read_files", "read_fil"]);
        assert_eq!(near("ad", &["add"]), ["add"]);
        assert_eq!(near("search", &["search_everything", "list"]), ["search_everything"]);
        assert_eq!(near("zzz", &names), Vec::<String>::new());
        assert_eq!(near("", &["a"]), Vec::<String>::new());
        let longest = "a".repeat(crate::Catalog::NAME);
        assert_eq!(near(&longest, &[&longest[1..]]), [&longest[1..]]);
        assert_eq!(near(&format!("{longest}a"), &[&longest]), Vec::<String>::new());
    }

    #[test]
    fn l25_one_letter_of_three_may_be_a_slip_and_any_slip_comes_before_a_shared_start() {
        assert_eq!(near("reed_falsy", &["read_file"]), Vec::<String>::new());
        assert_eq!(near("reed_fale", &["read_file", "read", "reed"]), ["read_file", "reed"]);
        assert_eq!(near("ab", &["cb", "cd"]), ["cb"]);
        let names = ["search", "seerch_avarythung", "search_everything_else", "seerch_avarythunk"];
        assert_eq!(
            near("search_everything", &names),
            ["seerch_avarythung", "search", "search_everything_else"]
        );
    }

    /// The textbook table, without a band.
    fn naive(a: &[char], b: &[char]) -> usize {
        match (a.split_last(), b.split_last()) {
            (None, _) => b.len(),
            (_, None) => a.len(),
            (Some((x, a1)), Some((y, b1))) => {
                (naive(a1, b1) + usize::from(x != y)).min(naive(a1, b) + 1).min(naive(a, b1) + 1)
            }
        }
    }

    proptest! {
        #[test]
        fn the_band_gives_the_distance_of_the_whole_table(a in "[ab]{0,6}", b in "[ab]{0,6}", most in 1_usize..5) {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            let whole = naive(&a, &b);
            prop_assert_eq!(edits(&a, &b, most), (whole <= most).then_some(whole));
        }
    }
}
