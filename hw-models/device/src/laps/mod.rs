// SPDX-License-Identifier: MIT
//! What is known of rows of a run that are alike: of one, what is done in it, and where it begins. What is made of that is the rank's:
//! see `rank::laps`.

mod course;
mod known;
mod lap;
mod marks;

pub use course::{Begin, Course, Doings, Event, Inner, Logs};
pub use known::KnownLaps;
pub use lap::{Ahead, Lap, Segment};
pub use marks::Laps;
