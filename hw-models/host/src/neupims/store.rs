// SPDX-License-Identifier: MIT
//! Matrices, K and V into the banks, as writes of MEM.

use pimlico_device::neupims::{
    BANKS, BURST, BurstData, ChannelEvent, ChannelHost, KvLayout, MatrixTiles, MemRequest,
    PimRequest,
};

/// Writes that are sent one behind the other.
pub struct Store<'a> {
    writes: Box<dyn Iterator<Item = MemRequest> + 'a>,
    has_ended: bool,
    sent: u64,
    written: u64,
}

impl<'a> Store<'a> {
    /// A matrix; `row` gives a row of it.
    pub fn matrix(tiles: &'a MatrixTiles, row: impl Fn(u64) -> &'a [u16] + 'a) -> Self {
        let (rows, columns) = tiles.shape();
        // Rows of 32 banks at a time, burst by burst, so that consecutive writes are of different banks.
        let writes = (0..tiles.groups()).flat_map(move |group| {
            let first = group * BANKS as u64;
            let rows = first..(first + BANKS as u64).min(rows);
            let bursts: Vec<_> = (0..columns)
                .step_by(BURST)
                .flat_map(|column| rows.clone().map(move |row| (row, column)))
                .map(|(n, column)| write(tiles.element(n, column), &row(n)[column as usize..]))
                .collect();
            bursts
        });
        Self::new(writes)
    }

    /// K and V; `key` and `value` give those of a head and a token.
    pub fn kv(
        layout: &'a KvLayout,
        key: impl Fn(u64, u64) -> &'a [u16] + Copy + 'a,
        value: impl Fn(u64, u64) -> &'a [u16] + Copy + 'a,
    ) -> Self {
        let shape = layout.shape();
        let keys = (0..shape.tokens).flat_map(move |token| {
            (0..shape.heads).flat_map(move |head| {
                (0..shape.head_dim).step_by(BURST).map(move |element| {
                    let place = layout.key(token, head * shape.head_dim + element);
                    write(place, &key(head, token)[element as usize..])
                })
            })
        });
        let values = (0..shape.heads).flat_map(move |head| {
            (0..shape.tokens).step_by(BURST).flat_map(move |token| {
                (0..shape.head_dim).map(move |element| {
                    let tokens = token..(token + BURST as u64).min(shape.tokens);
                    let of_tokens: Vec<_> =
                        tokens.map(|token| value(head, token)[element as usize]).collect();
                    write(layout.value(head, element, token), &of_tokens)
                })
            })
        });
        Self::new(keys.chain(values))
    }

    fn new(writes: impl Iterator<Item = MemRequest> + 'a) -> Self {
        Self { writes: Box::new(writes), has_ended: false, sent: 0, written: 0 }
    }

    /// Bursts that were written.
    pub fn written(&self) -> u64 {
        self.written
    }
}

/// A burst at a place, of the elements from there on, filled up with zeros.
fn write(place: pimlico_device::neupims::ElementPlace, elements: &[u16]) -> MemRequest {
    let mut data: BurstData = [0; BURST];
    let there = elements.len().min(BURST);
    data[..there].copy_from_slice(&elements[..there]);
    let column = (usize::from(place.element) / BURST) as u8;
    MemRequest { bank: place.bank, row: place.row, column, data: Some(data) }
}

impl ChannelHost for Store<'_> {
    fn mem(&mut self, _: u64) -> Option<MemRequest> {
        let next = if self.has_ended { None } else { self.writes.next() };
        self.has_ended = next.is_none();
        self.sent += u64::from(next.is_some());
        next
    }

    fn pim(&mut self, _: u64) -> Option<PimRequest> {
        None
    }

    fn event(&mut self, _: u64, event: &ChannelEvent) {
        self.written += u64::from(matches!(event, ChannelEvent::Written(_)));
    }

    fn is_done(&self) -> bool {
        self.has_ended && self.sent == self.written
    }
}
