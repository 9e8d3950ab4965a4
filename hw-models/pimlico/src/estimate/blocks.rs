// SPDX-License-Identifier: MIT
//! PIM blocks beside the PU at a bank of another LPDDR5X-PIM, as `pimlico estimate area` shows them.

use super::parts::{mm2_28nm, range};
use super::sheet::Sheet;
use pimlico_estimate::paper::{self, meridian};

/// The PIM blocks among units with their GE, beside MERIDIAN's PU; none if there is none.
pub fn sheet(units: &[(String, f64)]) -> Option<Sheet> {
    let rows: Vec<_> = units.iter().filter(|(unit, _)| unit.starts_with("pim_block")).collect();
    let row = |(unit, ge): &(String, f64)| {
        let mm2 = mm2_28nm(*ge);
        let in_dram = mm2.map(|mm2| paper::DRAM_PROCESS * mm2);
        let of_die = in_dram.map(|mm2| 100.0 * meridian::PUS as f64 * mm2 / meridian::DIE_MM2);
        vec![
            unit.clone(),
            format!("{ge:.0}"),
            range(mm2, 4),
            range(in_dram, 2),
            format!("{}", meridian::PU_MM2),
            range(of_die, 1),
            format!("{}", meridian::PUS_PERCENT),
        ]
    };
    (!rows.is_empty()).then(|| Sheet {
        title: "PIM blocks, beside the PU of sixteen lanes of MERIDIAN's LPDDR5X-PIM".to_owned(),
        columns: vec![
            "unit",
            "area, GE",
            "28 nm, mm2",
            "DRAM process, mm2",
            "MERIDIAN's, mm2",
            "16 of them, % of its die",
            "MERIDIAN's, %",
        ],
        rows: rows.into_iter().map(row).collect(),
        notes: vec![format!(
            "DRAM process: logic is {:.0} times as large as at 28 nm (L3, note to Table 5); the die has {} mm2",
            paper::DRAM_PROCESS,
            meridian::DIE_MM2
        )],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_alone_are_set_beside_a_pu() {
        let units = [("bank_pu".to_owned(), 7732.0), ("pim_block:sum32".to_owned(), 60_000.0)];
        assert!(sheet(&units[..1]).is_none());
        let sheet = sheet(&units).expect("a block");
        let expected = [
            "pim_block:sum32",
            "60000",
            "0.0294 to 0.0378",
            "0.29 to 0.38",
            "0.15",
            "9.9 to 12.7",
            "5.07",
        ];
        assert_eq!(sheet.rows, [expected]);
    }
}
