// SPDX-License-Identifier: MIT
//! The binding of Verilated units as C sees it; see `shim/pimlico.h`.

use std::ffi::{c_char, c_int, c_void};
use verilated::vcd::VcdC;

/// A unit.
#[repr(C)]
pub struct PimlicoUnit {
    pub create: unsafe extern "C" fn(seed: u64) -> *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub reset: unsafe extern "C" fn(*mut c_void, active: c_int),
    pub settle: unsafe extern "C" fn(*mut c_void, inputs: *const u32, outputs: *mut u32),
    pub edge: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// None in a library without waveforms.
    pub trace: Option<unsafe extern "C" fn(*mut c_void, vcd: *mut VcdC)>,
    /// None in a build without coverage.
    pub coverage: Option<unsafe extern "C" fn(*mut c_void, file: *const c_char)>,
}

/// A unit with two operands; the number of lanes divides [`LANES`].
#[cfg(feature = "benches")]
#[repr(C)]
pub struct PimlicoLanes {
    pub create: unsafe extern "C" fn() -> *mut c_void,
    pub destroy: unsafe extern "C" fn(*mut c_void),
    pub row:
        unsafe extern "C" fn(*mut c_void, a: u16, b: *const u16, results: *mut u16, count: usize),
}

// SAFETY: a constant; its functions touch nothing but the instance that they are given.
#[cfg(feature = "benches")]
unsafe impl Sync for PimlicoLanes {}

/// What the length of a row must be a multiple of.
#[cfg(feature = "benches")]
pub const LANES: usize = 8;
