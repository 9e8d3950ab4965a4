// SPDX-License-Identifier: MIT
//! Whether the chips obey the commands of processing in memory, by the key of `rtl/rank/pin_codes.md`.

use crate::pin_codes::{KEY, opcode};
use std::sync::LazyLock;

/// The mode register of key and lock.
const REGISTER: usize = 7;

/// The lock of the chips of a rank.
#[derive(Clone, Debug)]
pub struct Lock {
    locked: bool,
    /// The latest MRS, the last one last.
    latest: [Option<(usize, usize)>; 4],
}

impl Lock {
    /// One whose chips have seen no MRS.
    pub fn new(locked: bool) -> Self {
        Self { locked, latest: [None; 4] }
    }

    /// Whether they obey JEDEC's commands alone.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// An MRS.
    pub fn mrs(&mut self, register: usize, opcode: usize) {
        self.latest.rotate_left(1);
        self.latest[3] = Some((register, opcode));
        if self.latest == *keyed() {
            self.locked = false;
        } else if self.latest[3] == Some(locking()) {
            self.locked = true;
        }
    }
}

/// The four MRS that unlock a chip.
fn keyed() -> &'static [Option<(usize, usize)>; 4] {
    static KEYED: LazyLock<[Option<(usize, usize)>; 4]> =
        LazyLock::new(|| KEY.map(|name| Some((REGISTER, opcode(name)))));
    &KEYED
}

/// The MRS that locks it.
fn locking() -> (usize, usize) {
    static LOCKING: LazyLock<usize> = LazyLock::new(|| opcode("lock"));
    (REGISTER, *LOCKING)
}
