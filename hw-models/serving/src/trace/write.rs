// SPDX-License-Identifier: MIT
//! The format in which traces are written: Vidur's.

use super::Trace;
use crate::time::SECOND;
use std::fmt::Write as _;

/// A trace as columns.
pub fn written(trace: &Trace) -> String {
    let mut text = "arrived_at,num_prefill_tokens,num_decode_tokens\n".to_owned();
    for request in &trace.requests {
        let (whole, part) = (request.arrival_ps / SECOND, request.arrival_ps % SECOND);
        let part = format!("{part:012}");
        let part = match part.trim_end_matches('0') {
            "" => "0",
            part => part,
        };
        let _ = writeln!(text, "{whole}.{part},{},{}", request.input, request.output);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Request;
    use crate::trace::read::read;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in proptest::collection::vec((0..10 * SECOND, 1..60_000u64, 1..60_000u64), 1..20),
        ) {
            let mut at = 0;
            let requests = rows.iter().enumerate().map(|(number, &(gap, input, output))| {
                at += if number == 0 { 0 } else { gap };
                Request { arrival_ps: at, input, output }
            });
            let trace = Trace { name: "a".to_owned(), requests: requests.collect() };
            prop_assert_eq!(read("a", "a.csv", &written(&trace)).expect("a trace"), trace);
        }
    }
}
