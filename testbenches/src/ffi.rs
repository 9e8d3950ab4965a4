// SPDX-License-Identifier: MIT
//! The binding of Verilated units as C sees it; see `shim/pimlico.h`.

use std::ffi::{CStr, c_char, c_int, c_void};
use verilated::vcd::VcdC;

/// A row of the table of units.
#[repr(C)]
pub struct PimlicoUnit {
    name: *const c_char,
    pub create: unsafe extern "C" fn(seed: u64) -> *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub reset: unsafe extern "C" fn(*mut c_void, active: c_int),
    pub settle: unsafe extern "C" fn(*mut c_void, inputs: *const u32, outputs: *mut u32),
    pub edge: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub trace: unsafe extern "C" fn(*mut c_void, vcd: *mut VcdC),
    /// None in a build without coverage.
    pub coverage: Option<unsafe extern "C" fn(*mut c_void, file: *const c_char)>,
}

/// A row of the table of units with two operands; the number of lanes divides [`LANES`].
#[repr(C)]
pub struct PimlicoLanes {
    name: *const c_char,
    pub create: unsafe extern "C" fn() -> *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub row:
        unsafe extern "C" fn(*mut c_void, a: u16, b: *const u16, results: *mut u16, count: usize),
}

// SAFETY: a constant; its functions touch nothing but the instance that they are given.
unsafe impl Sync for PimlicoLanes {}

/// What the length of a row must be a multiple of.
pub const LANES: usize = 8;

unsafe extern "C" {
    /// Both end with a null pointer.
    static pimlico_units: [*const PimlicoUnit; 0];
    static pimlico_lanes: [*const PimlicoLanes; 0];
}

/// The Verilated unit of that name.
pub fn unit(name: &str) -> Option<&'static PimlicoUnit> {
    // SAFETY: the table is a constant of the library; its entries are constants as well, their names
    // end with a zero byte.
    unsafe { find((&raw const pimlico_units).cast(), |unit| CStr::from_ptr(unit.name), name) }
}

/// The lanes of the Verilated unit of that name.
pub fn lanes(name: &str) -> Option<&'static PimlicoLanes> {
    // SAFETY: as above.
    unsafe { find((&raw const pimlico_lanes).cast(), |lanes| CStr::from_ptr(lanes.name), name) }
}

/// Finds an entry by name.
///
/// # Safety
///
/// `table` points to pointers to constants, the last of which is null.
unsafe fn find<T>(
    mut table: *const *const T,
    name_of: impl Fn(&T) -> &CStr,
    name: &str,
) -> Option<&'static T> {
    // SAFETY: as the caller promises.
    unsafe {
        while let Some(entry) = (*table).as_ref() {
            if name_of(entry).to_bytes() == name.as_bytes() {
                return Some(entry);
            }
            table = table.add(1);
        }
    }
    None
}
