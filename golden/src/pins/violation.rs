// SPDX-License-Identifier: MIT
//! A rule that was broken: by what, and when it would have been legal.

use super::{Driver, Pin};
use std::fmt;

/// A command and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say it")]
pub struct Event {
    pub at_tck: u64,
    pub pin: Pin,
}

/// What broke a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A command.
    Command(Pin),
    /// Data on the bus, until this tCK (which they no longer take).
    Data(Driver, u64),
    /// Data that did not come.
    NoData(Driver),
    /// So many REFs that can no longer come in time.
    LostRefs(u64),
}

/// When it would have been legal, all else being equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legal {
    /// From this tCK on.
    From(u64),
    /// Until this tCK, which is included.
    Until(u64),
    /// At this tCK alone.
    At(u64),
    /// Not by waiting.
    Never,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at_tck: u64,
    /// Name of the rule, one of [`rule_names`](super::rule_names).
    pub rule: &'static str,
    /// By what.
    pub subject: Subject,
    /// The bank, if it is one.
    pub bank: Option<usize>,
    /// The earlier command that it collides with.
    pub earlier: Option<Event>,
    /// When it would have been legal.
    pub legal: Legal,
}

impl Violation {
    /// The earliest tCK at which it would have been legal.
    pub fn earliest_legal(&self) -> Option<u64> {
        match self.legal {
            Legal::From(tck) | Legal::At(tck) => Some(tck),
            Legal::Until(_) | Legal::Never => None,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_tck, rule, .. } = self;
        match self.subject {
            Subject::Command(pin) => write!(f, "{rule}: {pin} at {at_tck}")?,
            Subject::Data(driver, until) => write!(f, "{rule}: {driver} from {at_tck} to {until}")?,
            Subject::NoData(driver) => write!(f, "{rule}: no {driver} by {at_tck}")?,
            Subject::LostRefs(count) => write!(f, "{rule}: {count} REF lost by {at_tck}")?,
        }
        if let (Subject::Command(pin), Some(bank)) = (self.subject, self.bank)
            && pin.named_bank().is_none()
        {
            write!(f, ", bank {bank}")?;
        }
        if let Some(Event { at_tck, pin }) = self.earlier {
            write!(f, ", after {pin} at {at_tck}")?;
        }
        match self.legal {
            Legal::From(tck) => write!(f, ", legal from {tck}"),
            Legal::Until(tck) => write!(f, ", legal until {tck}"),
            Legal::At(tck) => write!(f, ", legal at {tck}"),
            Legal::Never => Ok(()),
        }
    }
}

impl std::error::Error for Violation {}
