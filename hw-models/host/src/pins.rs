// SPDX-License-Identifier: MIT
//! What the checker of pins is told: the rules of a preset, and those that a host programs.

use crate::memory_controller::standard;
use pimlico_device::spd::Advertised;
use pimlico_device::{Config, DramCommand, Organisation, Timing};
use pimlico_golden::pins::{Pin, Rules};

/// What the chips of a preset demand.
pub fn rules(config: &Config) -> Rules {
    let Organisation { bank_groups, banks_per_group, .. } = config.organisation;
    let Timing { burst_tck, ccd_s_tck, ccd_l_tck, rrd_s_tck, rrd_l_tck, faw_tck, .. } =
        config.timing;
    let Timing { rcd_tck, rcd_wr_tck, rcd_mac_tck, ras_tck, rp_tck, rc_tck, .. } = config.timing;
    let Timing { cl_tck, cwl_tck, rtw_gap_tck, wtr_s_tck, wtr_l_tck, .. } = config.timing;
    let Timing { wr_tck, rtp_tck, refi_tck, rfc_tck, max_postponed_refs, .. } = config.timing;
    Rules {
        bank_groups,
        banks_per_group,
        burst: burst_tck,
        t_ccd_s: ccd_s_tck,
        t_ccd_l: ccd_l_tck,
        t_rrd_s: rrd_s_tck,
        t_rrd_l: rrd_l_tck,
        t_faw: faw_tck,
        t_rcd: rcd_tck,
        t_rcd_wr: rcd_wr_tck,
        t_rcd_mac: rcd_mac_tck,
        t_ras: ras_tck,
        t_rp: rp_tck,
        t_rc: rc_tck,
        cl: cl_tck,
        cwl: cwl_tck,
        rtw_gap: rtw_gap_tck,
        t_wtr_s: wtr_s_tck,
        t_wtr_l: wtr_l_tck,
        t_wr: wr_tck,
        t_rtp: rtp_tck,
        t_rfc: rfc_tck,
        t_refi: Some(refi_tck),
        max_postponed: max_postponed_refs,
    }
}

/// What a host takes a module to demand.
pub fn advertised_rules(advertised: &Advertised) -> Rules {
    let Advertised { module, timing: t, .. } = advertised;
    Rules {
        bank_groups: module.bank_groups as usize,
        banks_per_group: module.banks_per_group as usize,
        burst: standard::BURST_TCK,
        t_ccd_s: standard::CCD_S_TCK,
        t_ccd_l: t.ccd_l_tck,
        t_rrd_s: t.rrd_s_tck,
        t_rrd_l: t.rrd_l_tck,
        t_faw: t.faw_tck,
        t_rcd: t.rcd_tck,
        t_rcd_wr: t.rcd_tck,
        t_rcd_mac: t.rcd_tck,
        t_ras: t.ras_tck,
        t_rp: t.rp_tck,
        t_rc: t.rc_tck,
        cl: t.cl_tck,
        cwl: t.wl_tck,
        rtw_gap: standard::TURNAROUND_TCK,
        t_wtr_s: t.wtr_s_tck,
        t_wtr_l: t.wtr_l_tck,
        t_wr: t.wr_tck,
        t_rtp: t.rtp_tck,
        t_rfc: t.rfc1_tck,
        t_refi: Some(standard::REFI_PS / t.tck_ps),
        max_postponed: 8,
    }
}

/// A command as the checker knows it.
pub fn pin(command: DramCommand) -> Pin {
    match command {
        DramCommand::Act { bank, row } => Pin::Act { bank, row },
        DramCommand::Pre { bank } => Pin::Pre { bank },
        DramCommand::PreAll => Pin::PreAll,
        DramCommand::Rd { bank, column } => Pin::Rd { bank, column },
        DramCommand::Wr { bank, column } => Pin::Wr { bank, column },
        DramCommand::Ref => Pin::Ref,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::spd::{Description, Spd, Values};

    #[test]
    fn an_honest_image_tells_the_rules_of_the_preset() {
        let rules_of = |values| {
            let image = Description::ddr4_3200().image(values).expect("it has room");
            advertised_rules(&Spd::parse(image.as_bytes()).expect("its own image"))
        };
        let rules = rules(&Config::ddr4_3200());
        assert_eq!(rules_of(Values::Honest), rules);
        assert_ne!(rules_of(Values::Spoofed), rules);
    }
}
