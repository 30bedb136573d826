//! Curves of one kind.

pub(crate) struct Chart {
    pub(crate) title: &'static str,
    /// What is counted along the bottom, and whether in bytes.
    pub(crate) along: &'static str,
    pub(crate) in_bytes: bool,
    pub(crate) digits: usize,
    pub(crate) curves: Vec<Curve>,
}

pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(usize, f64)>,
}

impl Chart {
    /// All places along the bottom, in order.
    pub(crate) fn places(&self) -> Vec<usize> {
        let mut places: Vec<usize> = self.points().map(|(place, _)| place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    pub(crate) fn most(&self) -> f64 {
        self.points().map(|(_, value)| value).fold(0.0, f64::max)
    }

    /// The name of a place.
    pub(crate) fn name(&self, place: usize) -> String {
        match place {
            _ if !self.in_bytes && place >= 1000 => format!("{},{:03}", place / 1000, place % 1000),
            _ if !self.in_bytes => place.to_string(),
            0..0x10_0000 => format!("{} KiB", place >> 10),
            _ => format!("{} MiB", place >> 20),
        }
    }

    fn points(&self) -> impl Iterator<Item = (usize, f64)> {
        self.curves.iter().flat_map(|curve| curve.points.iter().copied())
    }
}

impl Curve {
    pub(crate) fn at(&self, place: usize) -> Option<f64> {
        self.points.iter().find(|point| point.0 == place).map(|point| point.1)
    }
}
