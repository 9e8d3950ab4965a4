// SPDX-License-Identifier: MIT
//! What is known of modules of the RTL beside their ports and parameters: what they have many times, and how that is compiled.

/// Whether a module has the whole rank in it.
pub fn has_rank(module: &str) -> bool {
    ["pim_module", "pim_dimm"].contains(&module)
}

/// What a module has many times, if it does, as Verilator is told. It is compiled once for all: not inlined, and without the
/// optimisation that ties an instance's inputs to the registers around it, which makes up to eight times as much C++. Nor are
/// the multipliers in it inlined: Verilator numbers what it makes of a function wherever one is called, and takes no two
/// instances with different numbers for the same. Chips' bank PUs are not in waveforms, which would be most of what is left.
pub fn repeated(module: &str) -> Option<&'static str> {
    match module {
        "pim_chip" => Some(
            r#"no_inline -module "bank_pu"
no_inline -module "fp_mul"
no_inline -module "fp_add"
tracing_off -file "*/arith/*.sv"
tracing_off -file "*/prim/pipe.sv"
tracing_off -file "*/bank/bank_pu.sv"
"#,
        ),
        "systolic_array" => Some(
            r#"no_inline -module "systolic_cell"
no_inline -module "fp_mul"
no_inline -module "fp_add"
"#,
        ),
        "vector_unit" => Some(
            r#"no_inline -module "vector_lane"
no_inline -module "fp_mul"
no_inline -module "fp_add"
no_inline -module "fp_max"
no_inline -module "fp_exp"
no_inline -module "fp_recip"
"#,
        ),
        _ => None,
    }
}

/// The modules that a design has many of, which are its libraries.
pub fn libraries_of(design: &str) -> &'static [&'static str] {
    match design {
        "pim_module" | "pim_dimm" => &["pim_chip"],
        "aim_channel" | "aim_hub" => &["tree_pu"],
        "pim_channel" => &["channel_controller", "bank_pu", "dual_row_buffer"],
        _ => &[],
    }
}

/// Whether the registers of a design and its libraries begin with zeros, as its model's: nothing says when those without
/// reset count.
pub fn begins_with_zeros(design: &str) -> bool {
    libraries_of(design).iter().any(|module| ["pim_chip", "tree_pu"].contains(module))
}

/// What is said to Verilator about a design that uses libraries: each has an output that depends on none of
/// the inputs it goes back to, which Verilator cannot know.
pub const USES_LIBRARIES: &str = r#"lint_off -rule UNOPTFLAT -file "*"
lint_off -file "*_library.sv"
tracing_off -file "*/arith/*.sv"
"#;
