// SPDX-License-Identifier: MIT
//! The end of memory: one line and exit status 2, as of any input that is too large for this machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system's allocator, which ends the process where that has no memory.
struct Ending;

#[global_allocator]
static ALLOCATOR: Ending = Ending;

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
