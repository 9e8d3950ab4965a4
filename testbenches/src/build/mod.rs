// SPDX-License-Identifier: MIT
//! The RTL of a unit as a shared library, made when it is first wanted, and kept.
//!
//! ```text
//! sources, parameters ──▶ Verilator ──▶ C++ ──┬──▶ compiler ──▶ unit.so ──▶ loaded
//! declaration of the unit ──▶ binding ────────┘
//! ```
//!
//! The structs and enums of the models are checked against the RTL's package, and a unit's ports and probed registers
//! against its declaration; the binding moves all of them at once. What is made stands in a cache under a digest of
//! all that it was made from, so that every program and every checkout with the same RTL shares it.

mod binding;
mod cache;
mod compiler;
mod coverage;
mod designs;
mod error;
mod header;
mod inputs;
#[cfg(feature = "benches")]
mod lanes;
mod library;
mod own;
mod package;
mod source;
mod verilate;
mod workshop;

pub use error::BuildError;
pub use own::Own;

#[cfg(feature = "benches")]
use crate::ffi::PimlicoLanes;
use crate::ffi::PimlicoUnit;
use pimlico_ports::UnitInfo;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use workshop::Workshop;

/// Whether the waveforms of what is inside a unit can be written. With them its library takes a third longer to make, and
/// steps more slowly: it is made for the runs that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waves {
    /// They cannot.
    Without,
    /// They can.
    With,
}

/// A unit whose library is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Loaded {
    pub unit: &'static PimlicoUnit,
    /// Whether it has the registers that the model's are compared with. A user's own RTL need not have them.
    pub has_probes: bool,
}

/// Lets the units be made of RTL of the user's own, in place of the built-in one.
///
/// # Errors
///
/// If one has been made, or been asked for, before.
pub fn use_own(own: Own) -> Result<(), BuildError> {
    OWN.set(own).map_err(|_| BuildError::Late)
}

/// Makes the RTL of a unit, if it is not there, and loads it.
///
/// # Errors
///
/// If a tool is missing or refuses the RTL, if the RTL has other ports than the model, or if the cache cannot be written.
pub fn prepare(unit: &UnitInfo, waves: Waves) -> Result<(), BuildError> {
    load(unit, waves).map(drop)
}

/// Whether [`prepare`] has nothing to make. What is in the way of making it is no error here.
pub fn is_made(unit: &UnitInfo, waves: Waves) -> bool {
    workshop().is_ok_and(|workshop| workshop.has(unit, waves))
}

/// Makes what all operands of a unit without registers are tried on, if it is not there: of one with two operands several
/// lanes. Its ports are those of [`prepare`]. Of other units it makes nothing.
///
/// # Errors
///
/// Those of [`prepare`].
#[cfg(feature = "benches")]
pub fn prepare_operands(unit: &UnitInfo) -> Result<(), BuildError> {
    if unit.parameters.contains(&("STAGES", 0)) {
        prepare(unit, Waves::Without)?;
    }
    if lanes::has(unit) { load_lanes(unit).map(drop) } else { Ok(()) }
}

/// Whether there is the RTL of several lanes of a unit side by side.
#[cfg(feature = "benches")]
pub(crate) fn has_lanes(unit: &UnitInfo) -> bool {
    lanes::has(unit)
}

static OWN: OnceLock<Own> = OnceLock::new();

fn workshop() -> Result<&'static Workshop, BuildError> {
    static WORKSHOP: OnceLock<Result<Workshop, BuildError>> = OnceLock::new();
    WORKSHOP.get_or_init(|| Workshop::open(OWN.get())).as_ref().map_err(Clone::clone)
}

/// What is made once for each name in a process, whoever asks first.
struct Once<T: 'static>(Mutex<Option<Made<T>>>);

type Made<T> = HashMap<String, Arc<OnceLock<Result<T, BuildError>>>>;

impl<T: Copy> Once<T> {
    fn get(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        let place = {
            let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            made.get_or_insert_default().entry(name.to_owned()).or_default().clone()
        };
        place.get_or_init(make).clone()
    }
}

/// The RTL of a unit.
pub(crate) fn load(unit: &UnitInfo, waves: Waves) -> Result<Loaded, BuildError> {
    static UNITS: [Once<Loaded>; 2] = [const { Once(Mutex::new(None)) }; 2];
    UNITS[waves as usize].get(&unit.name, || {
        let (library, has_probes) = workshop()?.unit(unit, waves)?;
        // SAFETY: the library was made for this declaration, with the binding's types.
        let unit = unsafe { symbol::<PimlicoUnit>(&library, b"pimlico_unit\0") }?;
        Ok(Loaded { unit, has_probes })
    })
}

/// Lanes of a unit that [has](has_lanes) them.
#[cfg(feature = "benches")]
pub(crate) fn load_lanes(unit: &UnitInfo) -> Result<&'static PimlicoLanes, BuildError> {
    static LANES: Once<&'static PimlicoLanes> = Once(Mutex::new(None));
    LANES.get(&unit.name, || {
        let library = workshop()?.lanes(unit)?;
        // SAFETY: as above.
        unsafe { symbol(&library, b"pimlico_lanes\0") }
    })
}

/// A constant of a library, which stays loaded.
///
/// # Safety
///
/// The library has a constant of that name and type; what it runs when it is loaded is sound.
unsafe fn symbol<T>(library: &Path, name: &[u8]) -> Result<&'static T, BuildError> {
    let failed = |error: libloading::Error| BuildError::Load {
        library: library.to_owned(),
        message: error.to_string(),
    };
    // SAFETY: as the caller promises.
    unsafe {
        let opened = libloading::Library::new(library).map_err(failed)?;
        let constant: *const T = *opened.get::<*const T>(name).map_err(failed)?;
        std::mem::forget(opened);
        Ok(&*constant)
    }
}
