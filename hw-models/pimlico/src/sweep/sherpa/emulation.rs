// SPDX-License-Identifier: MIT
//! Table 4: the requests of a matrix times a vector on plain LPDDR5X beside PIM's, both simulated.

use super::Lab;
use crate::failure::Failure;
use crate::output;
use pimlico_serving::studies::{Figure, Study, StudyTable, number, whole};
use pimlico_workload::sherpa::emulation::{Emulated, PHASES, TABLE_4};

/// Differences up to this are the paper's, in percent: its largest is 3.54.
const MOST: f64 = 4.0;

impl Lab {
    /// Table 4.
    pub fn emulation(&self) -> Result<Study, Failure> {
        let (mut rows, mut figures, mut violations) = (Vec::new(), Vec::new(), 0);
        let (mut same, mut most) = (0, 0.0f64);
        let bar = output::progress(TABLE_4.len() as u64, "shapes");
        for (outputs, inputs, printed) in TABLE_4 {
            let found = Emulated::new(&self.spec, outputs, inputs)?;
            bar.inc(1);
            let [at_once, ..] = found.differences();
            let (of_paper, ours) = (1.0 - printed / 100.0, found.plain_tck[0] as f64);
            rows.push(vec![
                whole(outputs),
                whole(inputs),
                whole(found.requests),
                whole(found.macs),
                whole(found.pim_tck),
                whole(found.plain_tck[0]),
                number(at_once, 2),
                number(found.most(), 2),
                number(ours / found.pim_tck as f64, 3),
                number(of_paper, 3),
                number(printed, 2),
            ]);
            let what = format!("{outputs} x {inputs}: difference, at most, %");
            let (ours, cause) = (found.most(), "other requests, or another time of a MAC");
            figures.push(Figure::new(&what, &format!("{printed}"), ours, [0.0, MOST], cause));
            violations += found.violations;
            same += u32::from(found.plain_tck[0] == found.pim_tck);
            most = most.max(found.most());
        }
        bar.finish_and_clear();
        let columns = vec![
            "outputs",
            "inputs",
            "requests",
            "MACs",
            "PIM tCK",
            "plain tCK",
            "difference %",
            "at most %",
            "plain/PIM",
            "paper's",
            "paper's difference %",
        ];
        let title = format!(
            "Requests and MACs of a channel of {}; times of all channels, with refresh",
            self.spec.name
        );
        let notes = vec![
            format!(
                "{same} of {} shapes take the same tCK on both: requests, fences, timings and the host's controller, which \
                 knows no modes, are the same, and an ACT of all banks and a MAC wait as long as those of one bank do",
                TABLE_4.len()
            ),
            format!(
                "at most: the plain device begins at {PHASES} times between two REFs, so that one REF more or fewer falls \
                 into the product; this is up to {most:.2} %, and less the longer the product takes"
            ),
            "the paper's 0.1 to 3.6 % are between two machines, one with HBM-PIM and one with HBM; its emulation is always \
             the faster, for which our model has no cause"
                .to_owned(),
            "the paper's column of inputs is garbled: it is read as 4096 and 8192".to_owned(),
        ];
        Ok(Study {
            study: "emulation",
            title: "PIM-SHERPA, Table 4: the same requests on plain LPDDR5X".to_owned(),
            tables: vec![StudyTable { title, columns, rows }],
            figures,
            violations,
            notes,
        })
    }
}
