// SPDX-License-Identifier: MIT
//! The queue beside a list in the order of age.

use super::*;
use crate::channel::draw::Draw;

/// Requests and whether their row is open, the oldest first.
struct List(Vec<(Request, bool)>);

impl List {
    fn banks(&self, hit: bool, of_pim: &[Option<u16>; 2]) -> u32 {
        let wanted = self
            .0
            .iter()
            .filter(|(request, is_hit)| *is_hit == hit && !of_pim.contains(&Some(request.row)));
        wanted.fold(0, |banks, (request, _)| banks | 1 << request.bank)
    }

    fn oldest(&self, banks: u32, hit: bool, of_pim: &[Option<u16>; 2]) -> Option<Request> {
        let mut all = self.0.iter().filter(|(request, is_hit)| {
            *is_hit == hit && banks >> request.bank & 1 == 1 && !of_pim.contains(&Some(request.row))
        });
        all.next().map(|(request, _)| *request)
    }
}

#[test]
fn a_queue_is_a_list_in_the_order_of_age() {
    for seed in 0..12 {
        let mut draw = Draw(seed);
        let (depth, banks) = [(32, 32), (128, 32), (32, 3), (128, 2)][seed as usize % 4];
        let (mut queue, mut list) = (Queue::new(), List(Vec::new()));
        let mut rows = [None; 32];
        let mut blocked = 0;
        for tag in 0..6000u64 {
            let bank = draw.below(banks) as u8;
            // Two rows are of one sort.
            let row = [3, 4, 5, 3 + SORTS as u16][draw.below(4) as usize];
            let at = usize::from(bank);
            match draw.below(8) {
                0..4 if list.0.len() < depth => {
                    let column = draw.below(16) as u8;
                    let request = Request { write: false, bank, row, column, tag: tag as u8 };
                    let hit = rows[at] == Some(row);
                    queue.push(request, hit);
                    list.0.push((request, hit));
                }
                4 => {
                    rows[at] = Some(row);
                    queue.open(bank, row);
                    let of_bank = list.0.iter_mut().filter(|(request, _)| request.bank == bank);
                    of_bank.for_each(|(request, hit)| *hit = request.row == row);
                }
                5 => {
                    let closed = draw.mask() & draw.mask();
                    queue.close(closed);
                    for (request, hit) in &mut list.0 {
                        *hit &= closed >> request.bank & 1 == 0;
                    }
                    for (bank, row) in rows.iter_mut().enumerate() {
                        *row = row.filter(|_| closed >> bank & 1 == 0);
                    }
                }
                _ => {}
            }
            let mut of_pim = [None; 2];
            if draw.below(2) == 0 {
                of_pim[draw.below(2) as usize] = Some(3 + draw.below(3) as u16);
            }
            let found = queue.banks(&of_pim);
            let lists = [true, false].map(|hit| list.banks(hit, &of_pim));
            assert_eq!([found.hit, found.other], lists, "{seed}: {tag}");
            let is_of_pim = |(request, _): &(Request, bool)| of_pim.contains(&Some(request.row));
            assert_eq!(found.blocked != 0, list.0.iter().any(is_of_pim), "{seed}: {tag}");
            blocked += u64::from(found.blocked != 0);
            let some = draw.mask();
            for (hit, banks) in [(true, some & found.hit), (false, some & found.other)] {
                let oldest = queue.oldest(banks, hit, found.blocked);
                let expected = list.oldest(banks, hit, &of_pim);
                assert_eq!(oldest.map(|(_, request)| request), expected, "{seed}: {tag}");
                // Requests leave from any place of their bank.
                if let Some((place, request)) = oldest.filter(|_| draw.below(4) == 0) {
                    queue.remove(place);
                    let at = list.0.iter().position(|(other, _)| *other == request);
                    list.0.remove(at.expect("it is in the list"));
                    break;
                }
            }
            let asked = Request { column: draw.below(16) as u8, bank, row, ..Request::default() };
            let has = list.0.iter().any(|(request, _)| request.is_of(&asked));
            assert_eq!((queue.has(&asked), queue.len()), (has, list.0.len()), "{seed}: {tag}");
        }
        assert!(blocked > 500, "{seed}: {blocked}");
    }
}
