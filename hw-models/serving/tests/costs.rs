// SPDX-License-Identifier: MIT
//! The tables that are built in are what the cycle models say.

use pimlico_device::DeviceSpec;
use pimlico_device::gemv::IoBuffers;
use pimlico_serving::costs::Contexts;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::costs::module::{ModuleCosts, ModuleSetup};
use pimlico_serving::costs::rank::RankCosts;
use pimlico_serving::llm::Llm;
use pimlico_serving::trace::synthetic::generator;
use rand_xoshiro::rand_core::RngCore;

#[test]
fn knots_that_are_built_in_are_the_cycle_models() {
    let spec = DeviceSpec::built_in("ddr4-3200").expect("a preset");
    let llm = Llm::new("gpt-175b", pimlico_model::presets()["gpt-175b"].clone());
    let memo = Memo::built_in(1);
    let costs = RankCosts::new(&memo, &spec, &llm, &Contexts::Knots).expect("costs");
    assert_eq!(
        memo.entries().0,
        0,
        "the default device's table is not built in, or is of another version"
    );
    // Contexts that the cycle model runs quickly.
    let short: Vec<_> = costs.head.knots().iter().filter(|knot| knot.tokens <= 8192).collect();
    let mut random = generator(1);
    for _ in 0..20 {
        let knot = short[(random.next_u64() % short.len() as u64) as usize];
        let exact = RankCosts::exact(&memo, &spec, &llm, knot.tokens).expect("a cost");
        assert_eq!(
            *knot, exact,
            "measure the built-in costs again: sweep serving --study costs --cold --costs-out"
        );
    }
}

#[test]
fn knots_of_modules_that_are_built_in_are_the_cycle_models() {
    let spec = DeviceSpec::built_in("gddr6-aim").expect("a preset");
    let llm = Llm::new("qwen1.5-7b", pimlico_model::presets()["qwen1.5-7b"].clone());
    let memo = Memo::built_in(1);
    let module = ModuleSetup { channels: 16, io_buffers: IoBuffers::PingPong, lanes: 16 };
    // Of `lol-pim` and of `pim-hfa`, which has a head in one channel.
    let head_first = ModuleSetup { channels: 1, io_buffers: IoBuffers::Single, lanes: 16 };
    for setup in [module, head_first] {
        let costs = ModuleCosts::new(&memo, &spec, &llm, setup, &Contexts::Knots).expect("costs");
        assert_eq!(memo.entries().0, 0, "the default channel's tables are not built in");
        let short: Vec<_> =
            costs.products.knots().iter().filter(|knot| knot.tokens <= 8192).collect();
        let mut random = generator(2);
        for _ in 0..20 {
            let knot = short[(random.next_u64() % short.len() as u64) as usize];
            // A context takes as long as its whole chunks.
            for tokens in [knot.tokens, knot.tokens - 15] {
                let (products, softmax) =
                    ModuleCosts::exact(&spec, &llm, setup, tokens).expect("a cost");
                assert_eq!((knot.ps, costs.products.ps(tokens)), (products, products), "{tokens}");
                assert!(costs.softmax.ps(tokens).abs_diff(softmax) * 200 <= softmax, "{tokens}");
            }
        }
    }
}
