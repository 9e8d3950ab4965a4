// SPDX-License-Identifier: MIT
//! What results are beside what they have to be.

use super::{Error, OperatorReport};
use serde::Serialize;
use std::fmt;

/// Results against those of `golden`, which are in the contract's order, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exact {
    /// Results that there are.
    pub outputs: u64,
    /// How many of them were compared.
    pub checked: u64,
    /// How many of these differ.
    pub differing: u64,
}

impl Exact {
    /// Of two sets of results.
    pub fn and(self, other: Self) -> Self {
        Self {
            outputs: self.outputs + other.outputs,
            checked: self.checked + other.checked,
            differing: self.differing + other.differing,
        }
    }
}

/// A result that is not what it has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrong {
    /// Which: `output`, `score`, `weight` or `context`.
    pub result: &'static str,
    /// Of which query head among those of its K and V, if of one.
    pub head: Option<usize>,
    /// Its number.
    pub index: usize,
    /// The number that it is.
    pub value: f64,
    /// The number that it has to be, or to be near to.
    pub expected: f64,
    /// By how much it may miss it: 0 where each bit follows.
    pub bound: f64,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, head, index, value, expected, bound } = self;
        write!(f, "{result} {index}")?;
        if let Some(head) = head {
            write!(f, " of query head {head}")?;
        }
        write!(f, " is {value}, expected {expected}, bound {bound}")
    }
}

/// What results of an operator are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// Against float64.
    pub error: Error,
    /// Against `golden`, bit for bit.
    pub exact: Exact,
    /// Results that are further from float64 than their bound.
    pub beyond: u64,
    /// The first that is wrong.
    pub first: Option<Wrong>,
}

impl Verdict {
    /// Of two sets of results, with the worse error.
    pub fn and(self, other: Self) -> Self {
        Self {
            error: self.error.worse(other.error),
            exact: self.exact.and(other.exact),
            beyond: self.beyond + other.beyond,
            first: self.first.or(other.first),
        }
    }

    /// Of so many results that were not computed.
    pub fn not_run(outputs: usize) -> Self {
        let exact = Exact { outputs: outputs as u64, ..Exact::default() };
        Self { exact, ..Self::default() }
    }
}

/// What of a run was judged, and how it ended.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Judged {
    /// Results that there are.
    pub results: u64,
    /// How many of them were compared: all that were run.
    pub compared: u64,
    /// How many of these differ from `golden`'s, bit for bit.
    pub differing: u64,
    /// How many are further from float64 than their bound.
    pub beyond_bound: u64,
    /// The first wrong one of each operator.
    pub first_wrong: Vec<String>,
}

impl Judged {
    /// Of operators.
    pub fn of(operators: &[OperatorReport]) -> Self {
        let mut judged = Self::default();
        for OperatorReport { operator, judgement, .. } in operators {
            let Verdict { exact, beyond, first, .. } = judgement;
            judged.results += exact.outputs;
            judged.compared += exact.checked;
            judged.differing += exact.differing;
            judged.beyond_bound += beyond;
            judged.first_wrong.extend(first.map(|wrong| format!("{operator}: {wrong}")));
        }
        judged
    }

    /// What is wrong, in a line.
    pub fn wrong(&self) -> Option<String> {
        let Self { compared, differing, beyond_bound, first_wrong, .. } = self;
        Some(format!(
            "{}; of {compared} results {differing} differ from golden's, {beyond_bound} are beyond their bounds",
            first_wrong.first()?
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_in_a_line() {
        let wrong = Wrong {
            result: "score",
            head: Some(1),
            index: 7,
            value: 0.5,
            expected: 0.25,
            bound: 0.0,
        };
        assert_eq!(wrong.to_string(), "score 7 of query head 1 is 0.5, expected 0.25, bound 0");
        let judged = Judged {
            results: 9,
            compared: 8,
            differing: 2,
            first_wrong: vec![format!("attention: {wrong}")],
            ..Judged::default()
        };
        assert_eq!(
            judged.wrong().expect("it is wrong"),
            "attention: score 7 of query head 1 is 0.5, expected 0.25, bound 0; of 8 results 2 differ from golden's, 0 \
             are beyond their bounds"
        );
        assert_eq!(Judged::default().wrong(), None);
    }

    #[test]
    fn what_was_not_run_is_not_compared() {
        let exact = Exact { outputs: 5, checked: 5, differing: 1 };
        let judgement = Verdict { exact, beyond: 1, ..Verdict::default() };
        let all = Verdict::not_run(7).and(judgement);
        assert_eq!(all.exact, Exact { outputs: 12, checked: 5, differing: 1 });
        assert_eq!(all.beyond, 1);
    }
}
