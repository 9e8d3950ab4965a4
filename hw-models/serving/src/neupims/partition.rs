// SPDX-License-Identifier: MIT
//! Algorithm 3: a batch into two sub-batches.

/// For each channel how many of its requests, in the order of its list, are in the first sub-batch; the rest are in the second.
/// Channels with an odd number give the odd one to the first and to the second sub-batch in turn.
pub fn first_parts(requests: &[usize]) -> Vec<usize> {
    let mut turn = true;
    let part = |&count: &usize| {
        if count.is_multiple_of(2) {
            return count / 2;
        }
        let part = if turn { count.div_ceil(2) } else { count / 2 };
        turn = !turn;
        part
    };
    requests.iter().map(part).collect()
}
