// SPDX-License-Identifier: MIT
//! A row for each request.

use pimlico_serving::outcome::Run;
use std::fmt::Write as _;

/// The rows, in the order of the requests.
pub fn rows(run: &Run) -> String {
    let mut text = "request_id,replica,arrival_ns,input_tokens,output_tokens,scheduled_ns,first_token_ns,finished_ns,ttft_ns,\
                    tpot_ns,restarts\n"
        .to_owned();
    for (number, served) in &run.served {
        let [arrival, scheduled, first, finished, ttft, tpot] = [
            served.arrival_ps,
            served.scheduled_ps,
            served.first_ps,
            served.finished_ps,
            served.ttft_ps(),
            served.tpot_ps().unwrap_or(0),
        ]
        .map(|ps| ps / 1000);
        let _ = writeln!(
            text,
            "{number},{},{arrival},{},{},{scheduled},{first},{finished},{ttft},{tpot},{}",
            served.replica, served.input, served.output, served.restarts
        );
    }
    text
}
