// SPDX-License-Identifier: MIT
//! Arithmetic, shaped like the RTL: the definition that every faster form is tested against.

mod exp2_fraction;
pub mod fast;
mod format;
mod fp_add;
mod fp_exp;
mod fp_max;
mod fp_mul;
mod fp_narrow;
mod fp_recip;
mod fp_round;
mod fp_widen;
mod numbers;
mod pipeline;

pub use exp2_fraction::Exp2Tables;
pub use format::{
    Bfloat16, Bfloat16Flush, Binary16, Binary16Flush, Binary32, Binary32Flush, Format, Fp,
};
pub use fp_add::{FpAdd, FpAddIn, FpAddOut, FpAddProbe};
pub use fp_exp::{FpExp, FpExpIn, FpExpOut, FpExpProbe};
pub use fp_max::{FpMax, FpMaxIn, FpMaxOut, FpMaxProbe};
pub use fp_mul::{FpMul, FpMulIn, FpMulOut, FpMulProbe};
pub(crate) use fp_narrow::near;
pub use fp_narrow::{FpNarrow, FpNarrowIn, FpNarrowOut, FpNarrowProbe};
pub use fp_recip::{FpRecip, FpRecipIn, FpRecipOut, FpRecipProbe};
pub(crate) use fp_round::Unrounded;
pub use fp_widen::{FpWiden, FpWidenIn, FpWidenOut, FpWidenProbe};
pub use pipeline::Pipeline;

/// Whether the formats are one, but for what is done with subnormal numbers.
const fn same<F: Format, G: Format>() -> bool {
    F::EXP_BITS == G::EXP_BITS && F::MAN_BITS == G::MAN_BITS
}

/// Parameters of a module whose elements are of format `F` and whose sums are of format `A`: the same
/// or a wider one, which keeps its subnormal numbers.
pub(crate) const fn sum_parameters<F: Format, A: Format>() -> [(&'static str, i64); 5] {
    assert!(A::SUBNORMALS == (F::SUBNORMALS || !same::<F, A>()));
    let [exp_bits, man_bits, subnormals] = F::PARAMETERS;
    let [(_, sum_exp_bits), (_, sum_man_bits), _] = A::PARAMETERS;
    let sum = [("SUM_EXP_BITS", sum_exp_bits), ("SUM_MAN_BITS", sum_man_bits)];
    [exp_bits, man_bits, subnormals, sum[0], sum[1]]
}

/// Name of the variant with elements of format `F` and sums of format `A`.
pub(crate) fn sum_variant<F: Format, A: Format>() -> String {
    match F::LABEL {
        label if same::<F, A>() => label.to_owned(),
        "" => format!("sum{}", A::WIDTH),
        label => format!("{label}_sum{}", A::WIDTH),
    }
}

/// Parameters of an arithmetic module with pipeline registers.
const fn parameters<F: Format>(stages: usize) -> [(&'static str, i64); 4] {
    let [exp_bits, man_bits, subnormals] = F::PARAMETERS;
    [exp_bits, man_bits, subnormals, ("STAGES", stages as i64)]
}

/// Name of the variant with a format and a number of pipeline registers.
fn variant<F: Format>(stages: usize) -> String {
    match (F::LABEL, stages) {
        (label, 0) => label.to_owned(),
        ("", stages) => format!("stages{stages}"),
        (label, stages) => format!("{label}_stages{stages}"),
    }
}

/// The same parameters, and how fast the module is: 0 if it is made to be small.
const fn parameters_or_fast<F: Format>(stages: usize, fast: u8) -> [(&'static str, i64); 5] {
    let [exp_bits, man_bits, subnormals, stages] = parameters::<F>(stages);
    [exp_bits, man_bits, subnormals, stages, ("FAST", fast as i64)]
}

/// Name of the variant with all of these.
fn variant_or_fast<F: Format>(stages: usize, fast: u8) -> String {
    let others = variant::<F>(stages);
    let fast = match fast {
        0 => return others,
        1 => "fast".to_owned(),
        _ => format!("fast{fast}"),
    };
    if others.is_empty() { fast } else { format!("{others}_{fast}") }
}
