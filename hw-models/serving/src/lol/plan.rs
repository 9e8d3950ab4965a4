// SPDX-License-Identifier: MIT
//! What a stage takes for a micro-batch.

use super::system::{Allocation, CHANNELS, LolSystem, MicroBatches, Partition, Room};
use crate::costs::Contexts;
use crate::costs::memo::Memo;
use crate::costs::module::{ModuleCosts, ModuleSetup, matrix_ps};
use crate::error::ServingError;
use crate::llm::ELEMENT_BYTES;
use crate::time::duration;
use pimlico_device::DeviceSpec;
use pimlico_workload::fc;

/// Bytes a second between modules of a node, and of several.
const LINK_PER_S: [u128; 2] = [64_000_000_000, 10_000_000_000];
/// Bytes that the host writes to a module for a token of a request: T_cur.
const T_CUR_BYTES: u64 = 4;
/// Bytes that it writes for a row that a request is given: a word of Va2Pa.
const VA2PA_BYTES: u64 = 2;

/// What a stage takes, and the room for requests.
#[derive(Clone, Debug)]
pub struct StagePlan {
    system: LolSystem,
    costs: ModuleCosts,
    /// The matrices of a layer, for a token.
    matrices_ps: u64,
    room: Room,
}

/// Time of a stage by what it goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTime {
    /// Matrices.
    pub matrices_ps: u64,
    /// Products of attention, and adding the new tokens.
    pub products_ps: u64,
    /// What softmax adds.
    pub softmax_ps: u64,
    /// All-reduces, or the way to GPUs and back.
    pub links_ps: u64,
    /// The host's writes of T_cur and Va2Pa.
    pub tables_ps: u64,
}

impl StageTime {
    /// All of it.
    pub fn ps(&self) -> u64 {
        self.matrices_ps + self.products_ps + self.softmax_ps + self.links_ps + self.tables_ps
    }

    /// Adds what another stage takes.
    pub fn add(&mut self, other: Self) {
        self.matrices_ps += other.matrices_ps;
        self.products_ps += other.products_ps;
        self.softmax_ps += other.softmax_ps;
        self.links_ps += other.links_ps;
        self.tables_ps += other.tables_ps;
    }
}

impl StagePlan {
    /// A stage of a system, with the costs of a channel's device, where weights have room.
    pub fn new(
        system: &LolSystem,
        memo: &Memo,
        spec: &DeviceSpec,
        contexts: &Contexts,
    ) -> Result<Self, ServingError> {
        let LolSystem { llm, tp, io_buffers, lanes, partition, .. } = system;
        let room = system.room(&spec.config())?;
        let channels = match partition {
            Partition::HeadFirst => 1,
            Partition::TokenParallel => CHANNELS as usize,
        };
        let setup = ModuleSetup { channels, io_buffers: *io_buffers, lanes: *lanes };
        let costs = ModuleCosts::new(memo, spec, llm, setup, contexts)?;
        let costs = costs.with_passes(system.softmax_passes);
        let setup = ModuleSetup { channels: CHANNELS as usize, ..setup };
        let mut matrices_ps = 0;
        if !system.policy.has_gpus() {
            for shape in fc::shapes(&llm.shape, *tp as usize, false) {
                let size = (shape.rows as u64, shape.columns as u64);
                matrices_ps += matrix_ps(memo, spec, setup, size)?;
            }
        }
        Ok(Self { system: system.clone(), costs, matrices_ps, room })
    }

    /// A stage of costs that are known: those of a head, and of the matrices of a layer for a token.
    pub fn of_costs(system: LolSystem, costs: ModuleCosts, matrices_ps: u64, room: Room) -> Self {
        Self { system, costs, matrices_ps, room }
    }

    /// The system.
    pub fn system(&self) -> &LolSystem {
        &self.system
    }

    /// The room for requests.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Micro-batches that there are from the beginning; none where each request has its own.
    pub fn micro_batches(&self) -> usize {
        match self.system.micro_batches {
            MicroBatches::One => 0,
            MicroBatches::Stages => self.system.pp as usize,
            MicroBatches::Count(count) => count as usize,
        }
    }

    /// Rows that a request of so many tokens has.
    pub fn rows_of(&self, tokens: u64) -> u64 {
        match self.system.allocation {
            Allocation::Static => self.room.rows_for(self.system.max_context),
            Allocation::Lazy => self.room.rows_for(tokens),
        }
    }

    /// Products and softmax of a query of a head among many.
    pub fn of_head(&self, tokens: u64) -> (u64, u64) {
        (self.costs.products_ps(tokens), self.costs.softmax_among_many_ps(tokens))
    }

    /// Layers of a stage.
    fn layers(&self) -> u64 {
        self.system.llm.layers() / self.system.pp
    }

    /// Query heads of a request on a module.
    fn pairs(&self) -> u64 {
        self.system.llm.heads().div_ceil(self.system.tp)
    }

    /// What a stage takes for a micro-batch, by the tokens of its requests, which were given so many rows since the last time.
    pub fn stage(&self, contexts: &[u64], new_rows: u64) -> StageTime {
        let requests = contexts.len() as u64;
        let (products_ps, softmax_ps) = match self.system.partition {
            Partition::TokenParallel => self.token_parallel(contexts),
            Partition::HeadFirst => self.head_first(contexts),
        };
        let (matrices_ps, links_ps) = match self.system.gpus() {
            Some(gpus) => (gpus.layer_ps(&self.system.llm, requests), self.exchange_ps(requests)),
            None => (requests * self.matrices_ps, 2 * self.all_reduce_ps(requests)),
        };
        let layers = self.layers();
        StageTime {
            matrices_ps: layers * matrices_ps,
            products_ps: layers * products_ps,
            softmax_ps: layers * softmax_ps,
            links_ps: layers * links_ps,
            tables_ps: self.tables_ps(requests, new_rows),
        }
    }

    /// Attention of a layer, all channels of a module on one pair: products, and what softmax adds to them.
    fn token_parallel(&self, contexts: &[u64]) -> (u64, u64) {
        let pairs = self.pairs();
        let append = self.costs.append_ps * pairs;
        contexts.iter().fold((0, 0), |(products, softmax), &tokens| {
            let (of_request, added) = self.costs.queries(pairs, tokens);
            (products + of_request + append, softmax + added)
        })
    }

    /// The same with a pair on each channel, in rounds of the longest first. The unit makes softmax of a round beside the
    /// products of the next.
    fn head_first(&self, contexts: &[u64]) -> (u64, u64) {
        let (costs, pairs) = (&self.costs, self.pairs());
        let mut sorted: Vec<u64> = contexts
            .iter()
            .flat_map(|&tokens| std::iter::repeat_n(tokens, pairs as usize))
            .collect();
        sorted.sort_unstable_by_key(|&tokens| u64::MAX - tokens);
        let softmax_of = |round: &[u64]| -> u64 {
            round.iter().map(|&tokens| costs.softmax_among_many_ps(tokens)).sum()
        };
        let (mut products, mut softmax, mut last) = (0, 0, 0);
        for round in sorted.chunks(CHANNELS as usize) {
            let of_round = costs.products_ps(round[0]);
            let exponentials = softmax_of(round);
            products += of_round;
            softmax += exponentials.saturating_sub(of_round);
            last = exponentials.min(of_round);
        }
        // Nothing runs beside the softmax of the last round.
        let appends = (costs.append_ps * sorted.len() as u64).div_ceil(CHANNELS);
        (products + appends, softmax + last)
    }

    /// An all-reduce over the modules of a stage: a ring inside of each node leaves each module a share of the sums, a ring over
    /// the nodes adds up each share, and the ring of each node brings all shares to all.
    fn all_reduce_ps(&self, requests: u64) -> u64 {
        let LolSystem { tp, hop_ps, .. } = self.system;
        let of_node = tp.min(self.system.node_modules());
        let bytes = self.vector_bytes(requests);
        let ring = |modules: u64, bytes: u64, link: u128| {
            let others = modules - 1;
            let moved = 2 * u128::from(others) * u128::from(bytes);
            duration(moved, link * u128::from(modules)) + 2 * others * hop_ps
        };
        let [inside, between] = LINK_PER_S;
        ring(of_node, bytes, inside) + ring(tp.div_ceil(of_node), bytes.div_ceil(of_node), between)
    }

    /// Bytes of the vectors that go from layer to layer.
    fn vector_bytes(&self, requests: u64) -> u64 {
        ELEMENT_BYTES * self.system.llm.hidden() * requests
    }

    /// Q, K, V and results of a layer between the GPUs and the modules of a stage.
    fn exchange_ps(&self, requests: u64) -> u64 {
        let llm = &self.system.llm;
        let elements = 2 * llm.q_elements() + 2 * llm.kv_elements();
        let bytes = u128::from(ELEMENT_BYTES * elements * requests);
        duration(bytes, LINK_PER_S[0] * u128::from(self.system.tp)) + 2 * self.system.hop_ps
    }

    /// From a stage to the next; from the last to the first.
    pub fn link_ps(&self, stage: u64, requests: u64) -> u64 {
        let LolSystem { tp, pp, hop_ps, .. } = self.system;
        if pp == 1 {
            return 0;
        }
        let leaves = ((stage + 1) * tp).is_multiple_of(self.system.node_modules());
        let bytes = u128::from(self.vector_bytes(requests));
        duration(bytes, LINK_PER_S[usize::from(leaves)]) + hop_ps
    }

    /// T_cur and Va2Pa on the link of each module of a stage: rows are counted for a channel, and all channels of a module have
    /// theirs in its table.
    fn tables_ps(&self, requests: u64, new_rows: u64) -> u64 {
        if self.system.allocation == Allocation::Static {
            return 0;
        }
        let words = CHANNELS * new_rows;
        let bytes = T_CUR_BYTES * requests + VA2PA_BYTES * words;
        duration(u128::from(bytes), LINK_PER_S[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{CostTable, Knot};
    use crate::llm::Llm;
    use crate::lol::system::LolPolicy;
    use crate::time::MICROSECOND;
    use pimlico_device::Config;

    fn plan(nodes: u64, (tp, pp): (u64, u64)) -> StagePlan {
        let knot = |tokens: u64| Knot { tokens, ps: 100 * tokens, energy_pj: 0 };
        let table = || CostTable::new([16, 32_768].map(knot).to_vec());
        let llm = Llm::new("qwen1.5-7b", pimlico_model::presets()["qwen1.5-7b"].clone());
        let system = LolSystem { tp, pp, ..LolSystem::new(&llm, LolPolicy::LolPim, nodes) };
        let room = system.room(&Config::gddr6_aim()).expect("it fits");
        let costs = ModuleCosts::of_tables(table(), table(), 0, (3333, 0));
        StagePlan::of_costs(system, costs, 0, room)
    }

    #[test]
    fn all_reduces_stay_in_their_node_as_long_as_they_can() {
        // A vector of 8 KiB: seven eighths of it twice over 64 GB/s, and 14 hops.
        let eight = plan(4, (8, 4)).all_reduce_ps(1);
        assert_eq!(eight, 224_000 + 14 * MICROSECOND);
        // Over four nodes each module has an eighth of it, three quarters of that twice over 10 GB/s, and 6 hops more.
        let all = plan(4, (32, 1)).all_reduce_ps(1);
        assert_eq!(all, eight + 153_600 + 6 * MICROSECOND);
        assert_eq!(plan(1, (1, 8)).all_reduce_ps(1), 0);
    }

    #[test]
    fn stages_of_half_a_node_leave_it_every_other_time() {
        let plan = plan(4, (4, 8));
        let [inside, out] = [0, 1].map(|stage| plan.link_ps(stage, 1));
        assert_eq!((inside, out), (128_000 + MICROSECOND, 819_200 + MICROSECOND));
        assert_eq!(plan.link_ps(7, 1), out);
    }

    #[test]
    fn tables_of_a_module_are_written_for_tokens_and_rows() {
        let plan = plan(4, (8, 4));
        assert_eq!(plan.tables_ps(3, 0), duration(12, LINK_PER_S[0]));
        assert_eq!(plan.tables_ps(1, 4), duration(4 + 2 * 16 * 4, LINK_PER_S[0]));
    }
}
