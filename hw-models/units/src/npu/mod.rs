// SPDX-License-Identifier: MIT
//! The NPU beside the channels of NeuPIMs.

mod systolic_array;
mod vector_unit;

pub use systolic_array::{SystolicArray, SystolicArrayIn, SystolicArrayOut, SystolicArrayProbe};
pub use vector_unit::{VectorOperation, VectorUnit, VectorUnitIn, VectorUnitOut, VectorUnitProbe};
