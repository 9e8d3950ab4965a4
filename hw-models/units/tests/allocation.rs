// SPDX-License-Identifier: MIT
//! A model's step allocates nothing.

use pimlico_ports::{Bundle, Model};
use pimlico_units::for_each_unit;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting.
struct Counting;

// SAFETY: it does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations<M: Model>() -> u64 {
    let mut model = M::new();
    let entropy: Vec<u64> = (0..M::In::DRAWS as u64).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let input = M::In::draw(&entropy);
    let before = ALLOCATIONS.get();
    for _ in 0..100 {
        model.step(&input);
        model.probe();
        model.reset();
    }
    ALLOCATIONS.get() - before
}

#[test]
fn a_step_allocates_nothing() {
    assert_ne!(ALLOCATIONS.get(), 0, "the counter counts");
    macro_rules! check {
        ($unit:ty) => {
            assert_eq!(allocations::<$unit>(), 0, stringify!($unit));
        };
    }
    for_each_unit!(check);
}
