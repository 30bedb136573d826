//! A map for keys that grow: what comes last has the largest key, and what came first is mostly taken first.

use std::collections::VecDeque;

/// Empty places that are kept beside as many as are taken, so that a few entries do not cause work all the time.
const SPARE: usize = 64;

/// A key that grows with an id.
pub(super) trait Key: Copy + Ord {
    /// The id in it: of two keys in the map, most often as many are between them as between their ids.
    fn id(self) -> u64;
}

impl Key for u64 {
    fn id(self) -> u64 {
        self
    }
}

/// Values by key, in the order of the keys.
///
/// A value that is taken leaves an empty place, which goes when it is the first one, or when most are empty. So adding
/// and taking cost the same however many there are, and memory is in proportion to what is there. A key is looked for where
/// its distance from the newest one says, and only searched for if what lies between was made denser since.
#[derive(Debug)]
#[cfg_attr(feature = "explore", derive(Clone))]
pub(super) struct Ascending<K, V> {
    /// Ascending; the first one is not empty.
    places: VecDeque<(K, Option<V>)>,
    len: usize,
}

impl<K: Key, V> Ascending<K, V> {
    pub(super) fn new() -> Ascending<K, V> {
        Ascending { places: VecDeque::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a value, or puts it in the place of another one. Only a key that is larger than all others is added without a
    /// move of those behind it.
    #[inline]
    pub(super) fn insert(&mut self, key: K, value: V) {
        self.len += 1;
        if self.last_key().is_none_or(|last| last < key) {
            self.places.push_back((key, Some(value)));
            return;
        }
        match self.places.binary_search_by_key(&key, |(key, _)| *key) {
            Err(at) => self.places.insert(at, (key, Some(value))),
            Ok(at) => {
                let place = self.places.get_mut(at).map(|(_, place)| place);
                let old = place.and_then(|place| place.replace(value));
                self.len -= usize::from(old.is_some());
            }
        }
    }

    pub(super) fn get(&self, key: K) -> Option<&V> {
        self.places.get(self.place(key)?)?.1.as_ref()
    }

    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let place = self.place(key)?;
        self.places.get_mut(place)?.1.as_mut()
    }

    #[inline]
    pub(super) fn take(&mut self, key: K) -> Option<V> {
        let value = match self.place(key)? {
            0 => self.places.pop_front()?.1?,
            place => self.places.get_mut(place)?.1.take()?,
        };
        self.len -= 1;
        self.tidy();
        Some(value)
    }

    /// The smallest key.
    pub(super) fn first_key(&self) -> Option<K> {
        self.places.front().map(|(key, _)| *key)
    }

    /// The key of the last place, whose value may have been taken.
    pub(super) fn last_key(&self) -> Option<K> {
        self.places.back().map(|(key, _)| *key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.places.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)))
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = V> {
        self.places.into_iter().filter_map(|(_, value)| value)
    }

    /// Gives the last place up, and says whether there was a value in it.
    pub(super) fn drop_last(&mut self) -> bool {
        let was_there = self.places.pop_back().is_some_and(|(_, value)| value.is_some());
        self.len -= usize::from(was_there);
        was_there
    }

    fn place(&self, key: K) -> Option<usize> {
        let distance = self.last_key()?.id().saturating_sub(key.id());
        let guess = self.places.len().saturating_sub(1 + usize::try_from(distance).unwrap_or(usize::MAX - 1));
        match self.places.get(guess) {
            Some((found, _)) if *found == key => Some(guess),
            _ => self.places.binary_search_by_key(&key, |(key, _)| *key).ok(),
        }
    }

    /// Forgets empty places: at once those at the front, the others when they outnumber what is there.
    fn tidy(&mut self) {
        while let Some((_, None)) = self.places.front() {
            self.places.pop_front();
        }
        if self.places.len() > 2 * self.len + SPARE {
            self.places.retain(|(_, value)| value.is_some());
        }
        if self.places.capacity() > 2 * (self.places.len() + SPARE) {
            self.places.shrink_to(self.places.len() + SPARE);
        }
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        self.places.capacity()
    }
}

/// Empty places mean nothing.
#[cfg(feature = "explore")]
impl<K: Key + crate::digest::Digest, V: crate::digest::Digest> crate::digest::Digest for Ascending<K, V> {
    fn digest(&self, into: &mut crate::digest::Canonical) {
        into.number(self.len as u64);
        for (key, value) in self.iter() {
            key.digest(into);
            value.digest(into);
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut crate::digest::Place) {
        self.places.iter_mut().for_each(|(_, value)| value.alter(place));
        let last = self.iter().last().map(|(key, _)| key);
        let Some(mut key) = last else { return };
        // Each question is about the next place.
        if place.is_here() {
            self.take(key);
        } else if place.is_here()
            && let Some(value) = self.take(key)
        {
            key.alter(&mut crate::digest::Place::new(0));
            self.insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn filled(keys: impl IntoIterator<Item = u64>) -> Ascending<u64, u64> {
        let mut map = Ascending::new();
        keys.into_iter().for_each(|key| map.insert(key, key * 10));
        map
    }

    /// L20: calls that never end do not hold the places of those that came and went after them.
    #[test]
    fn l20_what_stays_does_not_hold_the_places_of_what_went() {
        let mut map = filled(0..3);
        for key in 3..100_000 {
            map.insert(key, key * 10);
            assert_eq!(map.take(key), Some(key * 10));
            assert!(map.held() <= 4 * (map.len() + 2 * SPARE), "{} places for {}", map.held(), map.len());
        }
        assert_eq!(map.iter().collect::<Vec<_>>(), [(0, &0), (1, &10), (2, &20)]);
    }

    /// L20: memory comes back, in whichever order values are taken.
    #[test]
    fn l20_places_are_given_back() {
        let takes: [fn(u64) -> u64; 3] = [|at| at, |at| 9_999 - at, |at| at * 7_919 % 10_000];
        for take in takes {
            let mut map = filled(0..10_000);
            for at in 0..10_000 {
                assert!(map.take(take(at)).is_some());
                assert!(map.held() <= 8 * (map.len() + SPARE), "{} places for {}", map.held(), map.len());
            }
            assert_eq!((map.len(), map.first_key(), map.last_key()), (0, None, None));
        }
    }

    #[cfg(feature = "explore")]
    #[test]
    fn what_went_before_makes_no_difference_to_the_digest() {
        use crate::digest::{Canonical, Digest};
        let digest = |map: &Ascending<u64, u64>| {
            let mut into = Canonical::new(crate::Time::ZERO);
            map.digest(&mut into);
            into.into_bytes()
        };
        let mut used = filled(0..40);
        for key in (0..40).filter(|key| key % 3 != 1) {
            assert!(used.take(key).is_some());
        }
        assert_eq!(digest(&used), digest(&filled((0..40).filter(|key| key % 3 == 1))));
        assert_ne!(digest(&used), digest(&filled(0..13)));
    }

    proptest! {
        #[test]
        fn it_is_a_map_in_the_order_of_its_keys(steps in prop::collection::vec((0..4_u8, 0..400_u64), 0..600)) {
            let (mut map, mut model, mut next) = (Ascending::new(), BTreeMap::new(), 0);
            for (step, number) in steps {
                match step {
                    0 | 1 => {
                        // Most ids follow one another.
                        next += if number < 20 { number } else { 1 };
                        map.insert(next, number);
                        model.insert(next, number);
                    }
                    2 => {
                        let key = next.saturating_sub(number / 3);
                        prop_assert_eq!(map.take(key), model.remove(&key));
                    }
                    _ => {
                        let key = next.saturating_sub(number);
                        if number % 8 == 0 {
                            map.insert(key, number);
                            model.insert(key, number);
                        }
                        prop_assert_eq!(map.get(key), model.get(&key));
                        prop_assert_eq!(map.get_mut(key), model.get_mut(&key));
                    }
                }
                prop_assert_eq!(map.len(), model.len());
                prop_assert_eq!(map.first_key(), model.first_key_value().map(|(key, _)| *key));
            }
            prop_assert!(map.iter().eq(model.iter().map(|(key, value)| (*key, value))));
            prop_assert!(map.into_values().eq(model.into_values()));
        }
    }
}
