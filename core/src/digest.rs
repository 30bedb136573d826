//! A canonical form of a session, for exhaustive search: what has the same digest gives the same outputs from then on.
//!
//! Every type lists all its fields, so that a new field does not compile before it was decided on. What no output depends on
//! is listed as left out. Times are taken relative to now.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{Debug, Write as _};
use std::time::Duration;

use crate::time::Time;

/// The digest in the making.
#[derive(Debug)]
pub(crate) struct Canonical {
    bytes: Vec<u8>,
    now: Time,
    #[cfg(test)]
    pub(crate) fields: BTreeSet<&'static str>,
}

/// One place of a value, counted in the order of its fields, that a test alters.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Place {
    left: usize,
    within: Vec<&'static str>,
    pub(crate) altered: Option<Vec<&'static str>>,
}

/// Has a canonical form.
pub(crate) trait Digest {
    /// Appends it.
    fn digest(&self, into: &mut Canonical);

    /// Alters this value, or one in it, if `place` is reached.
    #[cfg(test)]
    fn alter(&mut self, place: &mut Place);
}

impl Canonical {
    pub(crate) fn new(now: Time) -> Canonical {
        Canonical {
            bytes: Vec::new(),
            now,
            #[cfg(test)]
            fields: BTreeSet::new(),
        }
    }

    /// A field begins.
    pub(crate) fn field(&mut self, _name: &'static str) {
        #[cfg(test)]
        self.fields.insert(_name);
    }

    /// Appends a number.
    pub(crate) fn number(&mut self, number: u64) {
        // Most are small.
        match u8::try_from(number) {
            Ok(byte) if byte < u8::MAX => self.bytes.push(byte),
            _ => {
                self.bytes.push(u8::MAX);
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
    }

    /// Appends bytes.
    pub(crate) fn text(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends how far a time is from now.
    pub(crate) fn time(&mut self, time: Time) {
        self.number(time.as_micros().wrapping_sub(self.now.as_micros()));
    }

    /// The time that others are relative to.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Appends a value that says all of itself in its debug form.
    pub(crate) fn debug(&mut self, value: &impl Debug) {
        let _ = write!(self, "{value:?}");
        self.bytes.push(0);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl std::fmt::Write for Canonical {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
impl Place {
    pub(crate) fn new(number: usize) -> Place {
        Place { left: number, within: Vec::new(), altered: None }
    }

    /// Alters this field, if the place is in it.
    pub(crate) fn field(&mut self, name: &'static str, field: &mut impl Digest) {
        self.within.push(name);
        field.alter(self);
        self.within.pop();
    }

    /// Whether this is the place.
    pub(crate) fn is_here(&mut self) -> bool {
        let here = self.left == 0 && self.altered.is_none();
        if here {
            self.altered = Some(self.within.clone());
        }
        self.left = self.left.saturating_sub(1);
        here
    }
}

/// Makes a struct digest all its fields but those it leaves out.
macro_rules! digest_fields {
    ($(<$($generic:ident),+>)? $name:ident { $($field:ident),* $(,)? } leaves out { $($out:ident),* $(,)? }) => {
        impl$(<$($generic: crate::digest::Digest + std::fmt::Debug),+>)? crate::digest::Digest for $name$(<$($generic),+>)? {
            fn digest(&self, into: &mut crate::digest::Canonical) {
                let $name { $($field,)* $($out: _,)* } = self;
                $(
                    into.field(concat!(stringify!($name), ".", stringify!($field)));
                    crate::digest::Digest::digest($field, into);
                )*
            }

            #[cfg(test)]
            fn alter(&mut self, place: &mut crate::digest::Place) {
                let $name { $($field,)* $($out: _,)* } = self;
                $(
                    place.field(concat!(stringify!($name), ".", stringify!($field)), $field);
                )*
            }
        }
    };
}

/// Makes a type whose debug form says all of it digest that. Two values that differ are given for the test.
macro_rules! digest_debug {
    ($type:ty: $one:expr, $other:expr) => {
        impl crate::digest::Digest for $type {
            fn digest(&self, into: &mut crate::digest::Canonical) {
                into.debug(self);
            }

            #[cfg(test)]
            fn alter(&mut self, place: &mut crate::digest::Place) {
                if place.is_here() {
                    let is_one = format!("{self:?}") == format!("{:?}", $one);
                    *self = if is_one { $other } else { $one };
                }
            }
        }
    };
}

pub(crate) use {digest_debug, digest_fields};

macro_rules! digest_numbers {
    ($($type:ty),*) => {
        $(impl Digest for $type {
            fn digest(&self, into: &mut Canonical) {
                into.number(*self as u64);
            }

            #[cfg(test)]
            fn alter(&mut self, place: &mut Place) {
                if place.is_here() {
                    *self = self.wrapping_add(1);
                }
            }
        })*
    };
}

digest_numbers!(u8, u32, u64, usize);

impl Digest for bool {
    fn digest(&self, into: &mut Canonical) {
        into.number(u64::from(*self));
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        *self ^= place.is_here();
    }
}

impl Digest for Time {
    fn digest(&self, into: &mut Canonical) {
        into.time(*self);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        if place.is_here() {
            *self = *self + Duration::from_micros(1);
        }
    }
}

impl Digest for Duration {
    fn digest(&self, into: &mut Canonical) {
        into.text(&self.as_nanos().to_le_bytes());
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        if place.is_here() {
            *self += Duration::from_nanos(1);
        }
    }
}

impl Digest for Box<str> {
    fn digest(&self, into: &mut Canonical) {
        into.text(self.as_bytes());
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        if place.is_here() {
            *self = format!("{self}.").into();
        }
    }
}

impl Digest for Cow<'static, str> {
    fn digest(&self, into: &mut Canonical) {
        into.text(self.as_bytes());
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        if place.is_here() {
            self.to_mut().push('.');
        }
    }
}

impl<D: Digest> Digest for Box<D> {
    fn digest(&self, into: &mut Canonical) {
        (**self).digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        (**self).alter(place);
    }
}

impl<D: Digest> Digest for Option<D> {
    fn digest(&self, into: &mut Canonical) {
        into.number(u64::from(self.is_some()));
        if let Some(value) = self {
            value.digest(into);
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        if let Some(value) = self {
            value.alter(place);
        }
        if self.is_some() && place.is_here() {
            *self = None;
        }
    }
}

impl<A: Digest, B: Digest> Digest for (A, B) {
    fn digest(&self, into: &mut Canonical) {
        self.0.digest(into);
        self.1.digest(into);
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        self.0.alter(place);
        self.1.alter(place);
    }
}

impl<D: Digest> Digest for Vec<D> {
    fn digest(&self, into: &mut Canonical) {
        into.number(self.len() as u64);
        self.iter().for_each(|value| value.digest(into));
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        // A buffer may have very many.
        self.last_mut().into_iter().for_each(|value| value.alter(place));
        if !self.is_empty() && place.is_here() {
            self.pop();
        }
    }
}

impl<D: Digest> Digest for VecDeque<D> {
    fn digest(&self, into: &mut Canonical) {
        into.number(self.len() as u64);
        self.iter().for_each(|value| value.digest(into));
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        self.iter_mut().for_each(|value| value.alter(place));
        if !self.is_empty() && place.is_here() {
            self.pop_front();
        }
    }
}

impl<K: Digest + Ord + Clone, V: Digest> Digest for BTreeMap<K, V> {
    fn digest(&self, into: &mut Canonical) {
        into.number(self.len() as u64);
        for (key, value) in self {
            key.digest(into);
            value.digest(into);
        }
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        self.values_mut().for_each(|value| value.alter(place));
        if self.is_empty() {
            return;
        }
        if place.is_here() {
            self.pop_last();
        } else if place.is_here()
            && let Some((mut key, value)) = self.pop_last()
        {
            key.alter(&mut Place::new(0));
            self.insert(key, value);
        }
    }
}

impl<K: Digest + Ord + Clone> Digest for BTreeSet<K> {
    fn digest(&self, into: &mut Canonical) {
        into.number(self.len() as u64);
        self.iter().for_each(|key| key.digest(into));
    }

    #[cfg(test)]
    fn alter(&mut self, place: &mut Place) {
        if !self.is_empty() && place.is_here() {
            self.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No number is the beginning of another, so that two lists of fields are never the same bytes.
    #[test]
    fn numbers_are_told_apart_whatever_follows_them() {
        let bytes = |number| {
            let mut into = Canonical::new(Time::ZERO);
            into.number(number);
            into.into_bytes()
        };
        let numbers = [0, 1, 5, 253, 254, 255, 256, 257, 65_535, u64::MAX];
        for one in numbers {
            for other in numbers {
                assert_eq!(bytes(other).starts_with(&bytes(one)), one == other, "{one} and {other}");
            }
        }
    }
}
