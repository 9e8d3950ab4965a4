// SPDX-License-Identifier: MIT
//! The time of a token behind the first: the fully-connected operators, on the host or in the banks.

use super::phone::Phone;
use super::weights::{ModelWeights, Shape, bytes};
use pimlico_device::lp5::{AddressMap, GemvPlan, Lp5Layout, Lp5LayoutError, Lp5Spec};

/// Seconds of a token on the host, at its share of the bandwidth.
pub fn on_host(phone: &Phone, weights: &ModelWeights) -> f64 {
    let all = weights.layers * weights.layer_bytes() + bytes(&[weights.head]);
    all as f64 / (1e9 * phone.gb_per_s * phone.fitted.decode_efficiency)
}

/// Seconds of a token in the banks, by the closed form of [`GemvPlan`], with refresh.
pub fn in_banks(
    spec: &Lp5Spec,
    map: &AddressMap,
    weights: &ModelWeights,
) -> Result<f64, Lp5LayoutError> {
    let of = |&(rows, columns): &Shape| {
        let layout = Lp5Layout::new(map, rows, columns, map.weight_rows())?;
        let tck = GemvPlan::new(&spec.timing, &layout).refreshed_tck(&spec.timing);
        Ok(tck * spec.tck_ps as f64 * 1e-12)
    };
    let layer = weights.groups.iter().flatten().map(of).sum::<Result<f64, _>>()?;
    Ok(weights.layers as f64 * layer + of(&weights.head)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_the_papers_models() {
        let phone = Phone::galaxy_s24();
        let spec = Lp5Spec::built_in("lpddr5x-8533-pim").expect("it is there");
        let map = spec.map().expect("a map");
        // Q and O, K and V, gate and up, down, and the head, whose tCK a test of `GemvPlan` has.
        let layer = 2.0 * (22_392.0 + 11_908.0 + 85_299.0) + 88_893.0;
        let small_ms = (16.0 * layer + 1_364_785.0) * 938e-9;
        for (name, banks_ms, bus_ms) in
            [("llama-3.2-1b", Some(small_ms), 36.2), ("llama-3.2-3b", None, 94.1)]
        {
            let weights = ModelWeights::new(&pimlico_model::presets()[name]);
            let ms = 1e3 * in_banks(&spec, &map, &weights).expect("it fits");
            let expected = banks_ms.unwrap_or(ms);
            assert!((ms / expected - 1.0).abs() < 2e-4, "{name}: {ms}");
            // Some six times the whole bandwidth of the host.
            assert!((5.8..6.2).contains(&(bus_ms / ms)), "{name}: {ms}");
            let ms = 1e3 * on_host(&phone, &weights) * phone.fitted.decode_efficiency;
            assert!((ms / bus_ms - 1.0).abs() < 0.005, "{name}: {ms}");
        }
    }
}
