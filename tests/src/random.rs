//! Numbers that only a seed decides, so that every run can be repeated.

/// A generator of the SplitMix64 family: small, fast, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins with `seed`.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero if `end` is zero.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        self.next().checked_rem(end).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// How bytes are cut on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunking {
    /// As much as is there.
    Whole,
    /// Pieces of random size, small ones more often.
    Pieces,
    /// One byte at a time.
    Bytes,
}

impl Chunking {
    /// How many of `available` bytes move at once: at least one if there are any.
    pub fn size(self, random: &mut Random, available: usize) -> usize {
        match self {
            _ if available == 0 => 0,
            Chunking::Whole => available,
            Chunking::Bytes => 1,
            Chunking::Pieces => {
                let bound = match random.below(4) {
                    0 => 3,
                    1 => 40,
                    2 => 900,
                    _ => 70_000,
                };
                1 + random.below(bound.min(available))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again_and_pieces_cover_small_and_large() {
        let mut random = Random::new(7);
        let sizes: Vec<usize> = (0..1_000).map(|_| Chunking::Pieces.size(&mut random, 100_000)).collect();
        let mut again = Random::new(7);
        assert!(sizes.iter().all(|size| *size == Chunking::Pieces.size(&mut again, 100_000)));
        assert!(sizes.contains(&1) && sizes.iter().any(|size| *size > 10_000));
        assert_eq!(Chunking::Bytes.size(&mut random, 0), 0);
        assert_eq!(Chunking::Whole.size(&mut random, 9), 9);
    }
}
