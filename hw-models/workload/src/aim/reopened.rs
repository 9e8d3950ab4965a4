// SPDX-License-Identifier: MIT
//! Rows that are opened again: query heads that share K and V run one after the other, and each opens all rows of both.
//! Where the columns of all of them are read while a row is open (`shared_rows`), each row is opened once. Here it is
//! counted what that saves.

use pimlico_device::Statistics;
use pimlico_dpa::types::PinCommand;

/// Row activations of score and context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reopened {
    /// Commands that open rows.
    pub all: u64,
    /// Of these, the ones of queries behind the first of their K and V.
    pub again: u64,
    /// tCK of row switches that these queries lost.
    pub lost_tck: u64,
}

impl Reopened {
    /// Of a query with this number among those that share K and V.
    pub fn of(number: usize, steps: [&Statistics; 2]) -> Self {
        let opened = |statistics: &Statistics| {
            [PinCommand::Act, PinCommand::ActAll].map(|of| statistics.commands[of as usize])
        };
        let all = steps.into_iter().flat_map(opened).sum();
        let lost_tck = steps.into_iter().map(|statistics| statistics.lost_tck.row_switch).sum();
        if number == 0 {
            Self { all, again: 0, lost_tck: 0 }
        } else {
            Self { all, again: all, lost_tck }
        }
    }

    /// Of both.
    pub fn and(self, other: Self) -> Self {
        let Self { all, again, lost_tck } = other;
        Self { all: self.all + all, again: self.again + again, lost_tck: self.lost_tck + lost_tck }
    }

    /// What a report says of it, where queries share K and V.
    pub fn note(self) -> Option<String> {
        let Self { all, again, lost_tck } = self;
        (again > 0).then(|| {
            format!(
                "query heads that share K and V open its rows one after the other: on rows that stay open for all of them, \
                 {again} of {all} row activations of score and context would not be there, and at most {lost_tck} tCK that \
                 they lose to row switches"
            )
        })
    }
}
