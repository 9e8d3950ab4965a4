// SPDX-License-Identifier: MIT
//! Which request is served first.

use super::*;

/// All banks are ready, none has a row open.
const NONE: MemSchedulerIn = MemSchedulerIn {
    valid_i: false,
    write_i: false,
    bank_i: U::new(0),
    row_i: U::new(0),
    column_i: U::new(0),
    tag_i: 0,
    hit_i: false,
    opens_i: false,
    opens_bank_i: U::new(0),
    opens_row_i: U::new(0),
    closes_i: 0,
    read_ready_i: 0,
    write_ready_i: 0,
    act_ready_i: u32::MAX,
    precharge_ready_i: 0,
    reserved_i: false,
    reserved_row_i: U::new(0),
    held_i: false,
    held_row_i: U::new(0),
    column_taken_i: false,
    act_taken_i: false,
    precharge_taken_i: false,
};

fn request(write_i: bool, bank: u64, row: u64, tag_i: u8) -> MemSchedulerIn {
    MemSchedulerIn {
        valid_i: true,
        write_i,
        bank_i: U::new(bank),
        row_i: U::new(row),
        tag_i,
        ..NONE
    }
}

/// A scheduler with banks, which are ready for nothing in the cycle behind an ACT or PRE: what is ready is served, in the order of columns,
/// activations and precharges. Returns tags in the order in which they are served, and how many precharges there were.
fn serve(requests: &[MemSchedulerIn]) -> (Vec<u8>, usize) {
    let mut unit = MemScheduler::<32, 32>::new();
    let mut rows = [None; 32];
    let (mut tags, mut precharges) = (Vec::new(), 0);
    let mut requests = requests.iter().peekable();
    let (mut last, mut open_before) = (MemSchedulerOut::default(), 0);
    for _ in 0..2000 {
        let open: u32 =
            (0..32).filter(|&bank| rows[bank].is_some()).fold(0, |mask, bank| mask | 1 << bank);
        let changed = open ^ std::mem::replace(&mut open_before, open);
        let mut input = requests.peek().map_or(NONE, |request| **request);
        let now = unit.clone().step(&input);
        input.valid_i &= now.ready_o;
        if input.valid_i {
            requests.next();
        }
        input.hit_i = rows[now.staged_bank_o.get() as usize] == Some(now.staged_row_o);
        (input.read_ready_i, input.write_ready_i) = (open & !changed, open & !changed);
        (input.precharge_ready_i, input.act_ready_i) = (open & !changed, !open & !changed);
        if requests.len() > 8 {
            // Nothing is served until most are in the queue.
        } else if now.column_valid_o {
            input.column_taken_i = true;
            tags.push(now.column_tag_o);
        } else if now.act_valid_o {
            input.act_taken_i = true;
            (input.opens_i, input.opens_bank_i, input.opens_row_i) =
                (true, now.act_bank_o, now.act_row_o);
            rows[now.act_bank_o.get() as usize] = Some(now.act_row_o);
        } else if now.precharge_valid_o {
            input.precharge_taken_i = true;
            input.closes_i = 1 << now.precharge_bank_o.get();
            rows[now.precharge_bank_o.get() as usize] = None;
            precharges += 1;
        }
        last = unit.step(&input);
    }
    assert!(last.empty_o);
    (tags, precharges)
}

#[test]
fn a_request_is_a_candidate_three_cycles_later() {
    let mut unit = MemScheduler::<32, 32>::new();
    let outputs: Vec<_> =
        [request(false, 3, 7, 9), NONE, NONE, NONE].map(|input| unit.step(&input)).into();
    let ready: Vec<_> = outputs.iter().map(|output| output.ready_o).collect();
    assert_eq!(ready, [true, false, true, true]);
    assert_eq!(outputs[1].staged_bank_o.get(), 3);
    let acts: Vec<_> = outputs.iter().map(|output| output.act_valid_o).collect();
    assert_eq!(acts, [false, false, false, true]);
    assert_eq!((outputs[3].act_bank_o.get(), outputs[3].act_row_o.get()), (3, 7));
}

#[test]
fn row_hits_come_first_but_no_more_than_four_of_them() {
    let read = |row, tag| request(false, 3, row, tag);
    let hits: Vec<_> = (0..8).map(|tag| read(7, tag)).collect();
    let mut requests = vec![read(7, 100), read(8, 101)];
    requests.extend(hits);
    let (tags, precharges) = serve(&requests);
    assert_eq!(tags, [100, 0, 1, 2, 101, 3, 4, 5, 6, 7]);
    assert_eq!(precharges, 2);
}

#[test]
fn a_pseudo_rank_has_sixteen_bursts_in_a_row() {
    let requests: Vec<_> =
        (0..32).map(|tag| request(false, 16 * (u64::from(tag) % 2), 7, tag)).collect();
    let (tags, _) = serve(&requests);
    // One less in the first row: after reset it is as if pseudo-rank 0 had been served.
    assert_eq!(tags[..15], (0..30).step_by(2).collect::<Vec<_>>());
    assert_eq!(tags[15..31], (1..32).step_by(2).collect::<Vec<_>>());
    assert_eq!(tags[31], 30);
}

#[test]
fn writes_wait_until_they_are_many_or_alone() {
    let requests: Vec<_> = [(true, 0), (false, 1), (true, 2), (false, 3)]
        .map(|(write, tag)| request(write, 3, 7, tag))
        .into();
    let requests: Vec<_> = requests
        .into_iter()
        .map(|mut request| {
            request.column_i = U::new(request.tag_i.into());
            request
        })
        .collect();
    let (tags, _) = serve(&requests);
    // The reads come while the row is opened for the first write, and go ahead of it.
    assert_eq!(tags, [1, 3, 0, 2]);
}
