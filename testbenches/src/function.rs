// SPDX-License-Identifier: MIT
//! An arithmetic unit's RTL as a function of one or two 16-bit operands, chosen by name at run time.

use crate::build::{self, Waves};
use crate::ffi::PimlicoUnit;
use std::ffi::c_void;
use std::ptr::NonNull;

/// The RTL of a unit without registers.
pub struct Function {
    unit: &'static PimlicoUnit,
    instance: NonNull<c_void>,
}

impl Function {
    /// The RTL of a module in a variant (empty for its defaults) with the inputs `a_i` and, where it
    /// has two, `b_i`, of 16 bits each, and the output `result_o` of up to 32.
    ///
    /// # Panics
    ///
    /// If there is no such unit, its RTL cannot be made, or it has other ports.
    pub fn new(module: &str, variant: &str) -> Self {
        let units = pimlico_units::units();
        let name =
            if variant.is_empty() { module.to_owned() } else { format!("{module}:{variant}") };
        let declared = units.iter().find(|unit| unit.name == name);
        let declared = declared.unwrap_or_else(|| panic!("{name} is not in the list of units"));
        assert!(declared.inputs.len() <= 2 && declared.inputs.iter().all(|port| port.width == 16));
        assert!(matches!(declared.outputs, [port] if port.width <= 32));
        assert!(declared.probes.is_empty());
        let unit =
            build::load(declared, Waves::Without).unwrap_or_else(|error| panic!("{error}")).unit;
        // SAFETY: `create` returns a new instance.
        let instance = NonNull::new(unsafe { (unit.create)(0) }).expect("`new` is never null");
        Self { unit, instance }
    }

    /// The result of `a` and, where the unit has two operands, `b`.
    pub fn result(&mut self, a: u16, b: u16) -> u32 {
        let (inputs, mut output) = ([u32::from(a), u32::from(b)], 0);
        // SAFETY: the instance is live; it reads one or two words and writes one.
        unsafe { (self.unit.settle)(self.instance.as_ptr(), inputs.as_ptr(), &mut output) };
        output
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: the instance is live, and not used again.
        unsafe { (self.unit.destroy)(self.instance.as_ptr()) };
    }
}
