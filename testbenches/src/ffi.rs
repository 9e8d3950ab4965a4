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
    pub edge: unsafe extern "C" fn(*mut c_void),
    pub trace: unsafe extern "C" fn(*mut c_void, vcd: *mut VcdC),
}

unsafe extern "C" {
    /// Ends with a null pointer.
    static pimlico_units: [*const PimlicoUnit; 0];
}

/// The Verilated unit of that name.
pub fn unit(name: &str) -> Option<&'static PimlicoUnit> {
    let mut entry = (&raw const pimlico_units).cast::<*const PimlicoUnit>();
    // SAFETY: the table is a constant of the library; it ends with a null pointer, its entries are
    // constants as well, and their names end with a zero byte.
    unsafe {
        while let Some(unit) = (*entry).as_ref() {
            if CStr::from_ptr(unit.name).to_bytes() == name.as_bytes() {
                return Some(unit);
            }
            entry = entry.add(1);
        }
    }
    None
}
