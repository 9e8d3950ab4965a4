// SPDX-License-Identifier: MIT
//! L3's system: GPUs, and host memory whose DIMMs compute.

use crate::error::ServingError;
use crate::gpu::{Gpu, GpuModel};
use crate::iteration::MOST_SETS;
use crate::llm::Llm;
use serde::Serialize;

/// The machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// Channels of the host's memory.
    pub channels: u64,
    /// DIMMs on a channel.
    pub dimms: u64,
    /// Ranks on a DIMM.
    pub ranks: u64,
    /// Bytes of a rank.
    pub rank_bytes: u64,
    /// GPUs.
    pub gpus: u64,
    /// Name of the GPU.
    pub gpu: &'static str,
    /// Constants of its roofline.
    pub gpu_model: &'static str,
    /// GPUs that share a model out among them.
    pub tp: u64,
    /// Replicas of the model.
    pub dp: u64,
}

impl Hardware {
    /// L3's DGX A100 (Table 2) for a model of Table 3, or with as many GPUs to a replica as its weights need.
    pub fn l3(llm: &Llm) -> Self {
        let tp = match llm.name.as_str() {
            "opt-66b" => 2,
            "gpt-89b" => 4,
            "gpt-175b" => 8,
            _ => {
                let fits = |tp: &u64| tp * Gpu::A100.memory_bytes * 3 / 4 >= llm.weight_bytes();
                [1, 2, 4, 8].into_iter().find(fits).unwrap_or(8)
            }
        };
        Self {
            channels: 16,
            dimms: 2,
            ranks: 2,
            rank_bytes: 32 << 30,
            gpus: 8,
            gpu: Gpu::A100.name,
            gpu_model: GpuModel::Attacc.name(),
            tp,
            dp: 8 / tp,
        }
    }

    /// Ranksets.
    pub fn sets(&self) -> u64 {
        self.dimms * self.ranks
    }

    /// Whether the numbers go together.
    pub fn check(&self) -> Result<(), ServingError> {
        let Self { channels, gpus, tp, dp, rank_bytes, .. } = *self;
        let wrong = |what: String| Err(ServingError::Setup(what));
        for (flag, number) in [
            ("--channels", channels),
            ("--dimms", self.dimms),
            ("--ranks", self.ranks),
            ("--rank-gib", rank_bytes >> 30),
            ("--gpus", gpus),
            ("--tp", tp),
            ("--dp", dp),
        ] {
            if !(1..=1 << 16).contains(&number) {
                return wrong(format!("{flag} {number}: expected 1 to 65536"));
            }
        }
        if tp * dp > gpus {
            return wrong(format!("--tp {tp} --dp {dp}: {} GPUs, there are {gpus}", tp * dp));
        }
        if !channels.is_multiple_of(dp) {
            return wrong(format!("--dp {dp}: {channels} channels cannot be divided evenly"));
        }
        if self.sets() > u64::from(MOST_SETS) {
            let sets = self.sets();
            return wrong(format!(
                "--dimms --ranks: {sets} ranksets, expected {MOST_SETS} at most"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llm(name: &str) -> Llm {
        Llm::new(name, pimlico_model::presets()[name].clone())
    }

    #[test]
    fn the_machine_is_l3s() {
        for (name, tp, dp, heads) in
            [("opt-66b", 2, 4, 18), ("gpt-89b", 4, 2, 12), ("gpt-175b", 8, 1, 6)]
        {
            let hardware = Hardware::l3(&llm(name));
            assert_eq!((hardware.tp, hardware.dp, hardware.sets()), (tp, dp, 4));
            assert_eq!(hardware.check().map_err(|e| e.to_string()), Ok(()));
            // Heads divide evenly over the channels of a replica.
            assert_eq!(heads * hardware.channels / hardware.dp, llm(name).heads());
        }
        let wrong = Hardware { dp: 3, tp: 2, ..Hardware::l3(&llm("gpt-175b")) };
        assert_eq!(
            wrong.check().expect_err("3").to_string(),
            "--dp 3: 16 channels cannot be divided evenly"
        );
        let many = Hardware { dp: 2, ..Hardware::l3(&llm("gpt-175b")) };
        assert_eq!(
            many.check().expect_err("16 GPUs").to_string(),
            "--tp 8 --dp 2: 16 GPUs, there are 8"
        );
    }
}
