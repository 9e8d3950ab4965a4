// SPDX-License-Identifier: MIT
//! Memory of the process: what is freed is kept for what comes next, and the end of it is one line and exit status 2, as of
//! any input that is too large for this machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system's allocator, which ends the process where that has no memory.
struct Ending;

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Blocks of up to so many bytes come from the memory that the process has.
#[cfg(target_env = "gnu")]
const BLOCK: libc::c_int = 32 << 20;
/// So many bytes that are free at its end it keeps.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 64 << 20;

/// Has what a piece of work frees kept for the next one, whose data are as large: the system would clear its pages again. Not
/// where the memory of the process has a limit.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    for (option, bytes) in [(libc::M_MMAP_THRESHOLD, BLOCK), (libc::M_TRIM_THRESHOLD, KEPT)] {
        // SAFETY: the numbers are numbers; the allocator may be set at any time.
        unsafe { libc::mallopt(option, bytes) };
    }
}

/// The memory, unless there is none.
fn there(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        // Nothing here allocates.
        let text = "pimlico: out of memory: this machine has no room for";
        let _ = writeln!(std::io::stderr(), "{text} {bytes} bytes more");
        std::process::exit(2);
    }
    memory
}

// SAFETY: every call goes to the system's allocator, and a pointer that is returned is one of its own.
unsafe impl GlobalAlloc for Ending {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's, as of each call below.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}
