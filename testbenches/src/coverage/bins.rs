// SPDX-License-Identifier: MIT
//! The bins of a verification plan, and how often each was hit.

/// Cover points, each with bins that a run is to hit.
///
/// A bench declares them once and then marks what it sees:
///
/// ```
/// use pimlico_testbenches::coverage::Bins;
///
/// const MODES: [&str; 2] = ["tree", "accumulator"];
/// let mut bins = Bins::default();
/// bins.declare("mode", MODES);
/// bins.cross("mode after mode", &MODES, &MODES);
/// bins.hit("mode", 1);
/// bins.hit_cross("mode after mode", 1, 0);
/// let missed: Vec<_> = bins.iter().filter(|(.., hits)| *hits == 0).collect();
/// assert_eq!(missed[0], ("mode", "tree", 0));
/// assert_eq!(missed.len(), 1 + 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bins {
    points: Vec<CoverPoint>,
}

#[derive(Clone, Debug)]
struct CoverPoint {
    name: &'static str,
    bins: Vec<Bin>,
    /// Bins of the second part, where two are crossed.
    columns: usize,
}

#[derive(Clone, Debug)]
struct Bin {
    name: String,
    hits: u64,
    /// It cannot be hit, and does not count.
    left_out: bool,
}

impl Bins {
    /// Declares a cover point.
    pub fn declare<N: Into<String>>(
        &mut self,
        point: &'static str,
        bins: impl IntoIterator<Item = N>,
    ) {
        debug_assert!(self.points.iter().all(|p| p.name != point), "{point} is declared twice");
        let bin = |name: N| Bin { name: name.into(), hits: 0, left_out: false };
        let bins = bins.into_iter().map(bin).collect();
        self.points.push(CoverPoint { name: point, bins, columns: 1 });
    }

    /// Declares a cover point with a bin for every pair.
    pub fn cross(&mut self, point: &'static str, first: &[&str], second: &[&str]) {
        let pairs = first.iter().flat_map(|a| second.iter().map(move |b| format!("{a}, {b}")));
        self.declare(point, pairs);
        self.points.last_mut().expect("just declared").columns = second.len();
    }

    /// Takes a bin out of the plan that the unit's contract rules out.
    ///
    /// # Panics
    ///
    /// If there is no such bin.
    pub fn leave_out(&mut self, point: &'static str, bin: usize) {
        self.point(point).bins[bin].left_out = true;
    }

    /// Marks a bin as hit, by its number.
    ///
    /// # Panics
    ///
    /// If there is no such bin.
    pub fn hit(&mut self, point: &'static str, bin: usize) {
        self.point(point).bins[bin].hits += 1;
    }

    /// Marks the bin of a pair as hit, by its parts' numbers.
    ///
    /// # Panics
    ///
    /// If there is no such bin.
    pub fn hit_cross(&mut self, point: &'static str, first: usize, second: usize) {
        let point = self.point(point);
        assert!(second < point.columns, "{}: {second}", point.name);
        point.bins[first * point.columns + second].hits += 1;
    }

    /// All bins that count: cover point, bin, hits.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.bins(false)
    }

    /// Bins that the plan has left out, and that were hit all the same: cover point, bin, hits. A plan with
    /// such a bin is wrong, or the unit is.
    pub fn surprises(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.bins(true).filter(|(.., hits)| *hits > 0)
    }

    fn bins(&self, left_out: bool) -> impl Iterator<Item = (&'static str, &str, u64)> {
        self.points.iter().flat_map(move |point| {
            let bins = point.bins.iter().filter(move |bin| bin.left_out == left_out);
            bins.map(|bin| (point.name, bin.name.as_str(), bin.hits))
        })
    }

    fn point(&mut self, name: &'static str) -> &mut CoverPoint {
        let point = self.points.iter_mut().find(|point| point.name == name);
        point.unwrap_or_else(|| panic!("{name} is not declared"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(bins: &Bins) -> Vec<(&'static str, &str)> {
        let missed = bins.iter().filter(|(.., hits)| *hits == 0);
        missed.map(|(point, bin, _)| (point, bin)).collect()
    }

    #[test]
    fn a_bin_that_is_not_hit_shows() {
        let mut bins = Bins::default();
        bins.declare("kind", ["read", "write", "refresh"]);
        bins.hit("kind", 0);
        bins.hit("kind", 2);
        assert_eq!(missed(&bins), [("kind", "write")]);
        bins.leave_out("kind", 1);
        assert_eq!(missed(&bins), []);
        assert_eq!(bins.iter().count(), 2);
        assert_eq!(bins.surprises().count(), 0);
        bins.hit("kind", 1);
        assert_eq!(bins.surprises().collect::<Vec<_>>(), [("kind", "write", 1)]);
    }

    #[test]
    fn a_cross_has_a_bin_for_every_pair() {
        let mut bins = Bins::default();
        bins.cross("pair", &["a", "b"], &["x", "y", "z"]);
        for (first, second) in [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)] {
            bins.hit_cross("pair", first, second);
        }
        assert_eq!(missed(&bins), [("pair", "a, y")]);
    }
}
