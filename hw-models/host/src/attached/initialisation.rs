// SPDX-License-Identifier: MIT
//! What a host does once behind a reset: it sets the mode registers, in the order that JESD79-4 has for the initialisation,
//! and then unlocks the chips with the key of `rtl/rank/pin_codes.md`.

use pimlico_device::spd::SpdTiming;
use pimlico_device::{DeviceError, Dimm};
use pimlico_dpa::types::Pins;
use pimlico_dpa::types::mode_registers::{cl_bits, cwl_bits};

/// From an MRS to the next, and to any other command: tMRD and tMOD of JESD79-4.
const MRD_TCK: u64 = 8;
const MOD_TCK: u64 = 24;

/// Runs it, from tCK 0 of a module on.
pub(super) fn run(dimm: &mut impl Dimm, timing: &SpdTiming) -> Result<(), DeviceError> {
    for pins in mode_registers(timing).into_iter().chain(Pins::PIM_KEY) {
        dimm.step(pins, [None; 2], &mut |_| {})?;
        pause(dimm, MRD_TCK - 1)?;
    }
    pause(dimm, MOD_TCK - MRD_TCK)
}

fn pause(dimm: &mut impl Dimm, tck: u64) -> Result<(), DeviceError> {
    (0..tck).try_for_each(|_| dimm.step(Pins::NONE, [None; 2], &mut |_| {}).map(|_| ()))
}

/// The mode registers of a host with these timings. WR and RTP of MR0 count for auto-precharge alone.
fn mode_registers(timing: &SpdTiming) -> [Pins; 7] {
    let dll_reset = 1 << 8;
    let dll_enable = 1;
    let ccd_l = timing.ccd_l_tck.saturating_sub(4).min(4) as usize;
    [
        Pins::mrs(3, 0),
        Pins::mrs(6, ccd_l << 10),
        Pins::mrs(5, 0),
        Pins::mrs(4, 0),
        Pins::mrs(2, at_least(timing.wl_tck, cwl_bits)),
        Pins::mrs(1, dll_enable),
        Pins::mrs(0, dll_reset | at_least(timing.cl_tck, cl_bits)),
    ]
}

/// The code of a latency, or where there is none that of the next longer one: what the chips get is their own.
fn at_least(tck: u64, bits: fn(u64) -> Option<u16>) -> usize {
    (tck..=48).find_map(bits).unwrap_or_default().into()
}
