// SPDX-License-Identifier: MIT
//! A library's lookup tables: values over the load of an output and the slew of an input.

/// Where a table is read beyond its last points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It goes on as between its last two points.
    Straight,
    /// It stays as at its last point.
    Flat,
}

/// Values over load in fF and slew in ps. One point in a direction means that it does not matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    loads_ff: Vec<f64>,
    slews_ps: Vec<f64>,
    /// Slew by slew, for each load.
    values: Vec<f64>,
}

impl Table {
    /// A table; `None` unless its points ascend and each has a value.
    pub fn new(loads_ff: Vec<f64>, slews_ps: Vec<f64>, values: Vec<f64>) -> Option<Self> {
        let ascends = |points: &[f64]| !points.is_empty() && points.is_sorted_by(|a, b| a < b);
        let fits = loads_ff.len().checked_mul(slews_ps.len()) == Some(values.len());
        let is_sound = ascends(&loads_ff) && ascends(&slews_ps) && fits;
        let is_finite = values.iter().chain(&loads_ff).chain(&slews_ps).all(|v| v.is_finite());
        (is_sound && is_finite).then_some(Self { loads_ff, slews_ps, values })
    }

    /// The value at a load and a slew, straight between the points.
    pub fn at(&self, load_ff: f64, slew_ps: f64, beyond: Beyond) -> f64 {
        let (load, of_load) = place(&self.loads_ff, load_ff, beyond);
        let (slew, of_slew) = place(&self.slews_ps, slew_ps, beyond);
        let row = |load: usize| {
            let value = |slew: usize| {
                let slew = slew.min(self.slews_ps.len() - 1);
                self.values[load.min(self.loads_ff.len() - 1) * self.slews_ps.len() + slew]
            };
            value(slew) * (1.0 - of_slew) + value(slew + 1) * of_slew
        };
        row(load) * (1.0 - of_load) + row(load + 1) * of_load
    }
}

/// The point before `x`, and how far `x` is on the way to the next.
fn place(points: &[f64], x: f64, beyond: Beyond) -> (usize, f64) {
    let [first, .., last] = points else { return (0, 0.0) };
    let x = if beyond == Beyond::Flat { x.clamp(*first, *last) } else { x };
    let before = points.partition_point(|point| *point <= x).saturating_sub(1);
    let before = before.min(points.len() - 2);
    (before, (x - points[before]) / (points[before + 1] - points[before]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_straight_between_points() {
        let values = vec![1.0, 3.0, 2.0, 6.0];
        let table = Table::new(vec![10.0, 20.0], vec![0.0, 4.0], values).expect("sound");
        assert_eq!(table.at(10.0, 0.0, Beyond::Flat), 1.0);
        assert_eq!(table.at(20.0, 4.0, Beyond::Flat), 6.0);
        assert_eq!(table.at(15.0, 1.0, Beyond::Flat), 2.25); // between 1.5 and 3
        assert_eq!(table.at(30.0, 0.0, Beyond::Straight), 3.0);
        assert_eq!(table.at(30.0, 0.0, Beyond::Flat), 2.0);
        assert_eq!(table.at(0.0, 0.0, Beyond::Straight), 0.0);
    }

    #[test]
    fn a_single_point_holds_everywhere() {
        let table = Table::new(vec![0.0], vec![1.0, 2.0, 3.0], vec![5.0, 6.0, 8.0]);
        let table = table.expect("sound");
        assert_eq!(table.at(99.0, 2.5, Beyond::Straight), 7.0);
        let table = Table::new(vec![0.0], vec![0.0], vec![5.0]).expect("sound");
        assert_eq!(table.at(99.0, 99.0, Beyond::Straight), 5.0);
    }

    #[test]
    fn a_table_that_is_not_whole_is_none() {
        assert_eq!(Table::new(vec![0.0], vec![1.0, 2.0], vec![5.0]), None);
        assert_eq!(Table::new(vec![0.0], vec![2.0, 1.0], vec![5.0, 6.0]), None);
        assert_eq!(Table::new(vec![], vec![], vec![]), None);
        assert_eq!(Table::new(vec![0.0], vec![0.0], vec![f64::NAN]), None);
    }
}
