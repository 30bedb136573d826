//! The ids of operations that have ended, as far back as a `cancel` may be late.

use std::collections::VecDeque;

/// The newest ids, each once for every operation that ended under it.
#[derive(Debug, Default)]
pub(super) struct Ended(VecDeque<Box<str>>);

impl Ended {
    /// 1,024: a cancel that is later than so many completions did not race with the one that it is for.
    pub(super) const KEPT: usize = 1_024;

    pub(super) fn push(&mut self, id: Box<str>) {
        if self.0.len() == Ended::KEPT {
            self.0.pop_front();
        }
        self.0.push_back(id);
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|ended| **ended == *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_ids_are_kept_and_the_oldest_goes_first() {
        let mut ended = Ended::default();
        for id in 0..=Ended::KEPT {
            ended.push(id.to_string().into());
        }
        assert_eq!(ended.0.len(), Ended::KEPT);
        assert!(!ended.contains("0") && ended.contains("1") && ended.contains(&Ended::KEPT.to_string()));
    }
}
