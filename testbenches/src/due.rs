// SPDX-License-Identifier: MIT
//! What waits for its time in a queue.

use std::collections::VecDeque;

/// Takes the oldest entry, if it is due.
pub(crate) fn pop_due<T>(queue: &mut VecDeque<T>, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}
