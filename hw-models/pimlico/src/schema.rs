// SPDX-License-Identifier: MIT
//! Kinds of JSON documents, and `pimlico schema`: the JSON Schema of each.
//!
//! The tests hold every document that they make to its schema, which knows all keys. Of estimates and of `cosim`,
//! which need tools that are not everywhere, what made the document is described alone.

use clap::{Args, ValueEnum};

/// Arguments of `pimlico schema`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico schema
  pimlico schema run > run.schema.json")]
pub struct SchemaArguments {
    /// The kind of document, as `pimlico.schema` in it says before the `/` [default: list the kinds]
    #[arg(value_enum, hide_possible_values = true)]
    document: Option<Kind>,
}

/// The kinds of documents, each with its schema.
macro_rules! kinds {
    ($($kind:ident $name:literal,)*) => {
        /// A kind of document.
        #[derive(Clone, Copy, ValueEnum)]
        pub enum Kind {
            $(
                #[doc = concat!("That of schema `", $name, "`.")]
                #[value(name = $name)]
                $kind,
            )*
        }

        impl Kind {
            fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            fn schema(self) -> &'static str {
                match self { $(Self::$kind => include_str!(concat!("../schemas/", $name, ".json")),)* }
            }
        }
    };
}

kinds! {
    Run "run",
    RunNeupimsAttention "run-neupims-attention",
    RunNeupimsGemv "run-neupims-gemv",
    DeviceList "device-list",
    Device "device",
    DpaExpand "dpa-expand",
    SpdImage "spd-image",
    SpdCheck "spd-check",
    LayoutCopy "layout-copy",
    LayoutPrefill "layout-prefill",
    LayoutShow "layout-show",
    Serve "serve",
    StreamBanks "stream-banks",
    StreamPlan "stream-plan",
    StreamProfile "stream-profile",
    StreamRun "stream-run",
    StreamSimulate "stream-simulate",
    Trace "trace",
    SweepBatch "sweep-batch",
    SweepDram "sweep-dram",
    SweepGroups "sweep-groups",
    SweepIoBuffers "sweep-io-buffers",
    SweepIoBuffersAssumptions "sweep-io-buffers-assumptions",
    SweepLatency "sweep-latency",
    SweepNeupims "sweep-neupims",
    SweepNumerics "sweep-numerics",
    SweepPrograms "sweep-programs",
    SweepRowBuffers "sweep-row-buffers",
    SweepServing "sweep-serving",
    SweepSherpa "sweep-sherpa",
    SweepTiming "sweep-timing",
    SweepVendor "sweep-vendor",
    EstimateArea "estimate-area",
    EstimateClock "estimate-clock",
    EstimateCompare "estimate-compare",
    EstimateLibraries "estimate-libraries",
    EstimatePower "estimate-power",
    EstimateTrade "estimate-trade",
    EstimateTradeBankPu "estimate-trade-bank-pu",
    EstimateTradeGear "estimate-trade-gear",
    EstimateTradeRowBuffers "estimate-trade-row-buffers",
    Cosim "cosim",
    CosimOperands "cosim-operands",
}

/// Version of all kinds: it changes when a key has another meaning or is no longer there.
const VERSION: u32 = 1;

impl Kind {
    /// What a document says of its schema.
    pub fn id(self) -> String {
        format!("{}/{VERSION}", self.name())
    }
}

/// A schema, or the kinds: what the command prints.
pub fn text(arguments: &SchemaArguments) -> String {
    match arguments.document {
        Some(kind) => kind.schema().to_owned(),
        None => Kind::value_variants().iter().map(|kind| format!("{}\n", kind.name())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_is_that_of_its_kind() {
        for &kind in Kind::value_variants() {
            let schema: serde_json::Value = serde_json::from_str(kind.schema()).expect("JSON");
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            let made_it = &schema["properties"]["pimlico"];
            assert_eq!(made_it["properties"]["schema"]["const"], kind.id());
        }
    }
}
