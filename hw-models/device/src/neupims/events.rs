// SPDX-License-Identifier: MIT
//! What a host is to be told of, and when. Events stand where they were put until they are told: their data are not moved.

use super::request::{BurstData, ChannelEvent, MemRequest};
use super::sizes::{BANKS, BURST};
use std::collections::VecDeque;

/// Events by the time at which they are due; those of one time in the order in which they were put.
#[derive(Default)]
pub(super) struct Events {
    /// When each is due, and its place.
    due: VecDeque<(u64, u32)>,
    places: Vec<ChannelEvent>,
    free: Vec<u32>,
}

impl Events {
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// When the next is due.
    pub(super) fn next(&self) -> Option<u64> {
        self.due.front().map(|(due, _)| *due)
    }

    /// The next one, if it is due.
    pub(super) fn due(&self, now: u64) -> Option<&ChannelEvent> {
        let (_, place) = self.due.front().filter(|(due, _)| *due <= now)?;
        Some(&self.places[*place as usize])
    }

    /// The next one was told.
    pub(super) fn pop(&mut self) {
        self.free.extend(self.due.pop_front().map(|(_, place)| place));
    }

    pub(super) fn put(&mut self, due: u64, event: ChannelEvent) {
        let place = self.place();
        self.places[place as usize] = event;
        self.insert(due, place);
    }

    /// A read without data, of which there are many: its data are zero.
    pub(super) fn put_read(&mut self, due: u64, request: MemRequest) {
        let place = self.place();
        match &mut self.places[place as usize] {
            ChannelEvent::Read(read, data) => (*read, *data) = (request, [0; BURST]),
            other => *other = ChannelEvent::Read(request, [0; BURST]),
        }
        self.insert(due, place);
    }

    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(ChannelEvent::Gwrite);
            self.places.len() as u32 - 1
        })
    }

    fn insert(&mut self, due: u64, place: u32) {
        let behind = self.due.iter().rev().take_while(|(other, _)| *other > due).count();
        match behind {
            0 => self.due.push_back((due, place)),
            _ => self.due.insert(self.due.len() - behind, (due, place)),
        }
    }

    /// The data of a read, if the first event that is then due is one.
    pub(super) fn data_at(&mut self, due: u64) -> Option<&mut BurstData> {
        let (_, place) = self.due.iter().find(|(at, _)| *at == due)?;
        match &mut self.places[*place as usize] {
            ChannelEvent::Read(_, data) => Some(data),
            _ => None,
        }
    }

    /// The results that are then due.
    pub(super) fn results_at(&mut self, due: u64) -> Option<&mut [u16; BANKS]> {
        let is_results =
            |place: u32| matches!(self.places[place as usize], ChannelEvent::Results(_));
        let (_, place) = self.due.iter().find(|(at, place)| *at == due && is_results(*place))?;
        match &mut self.places[*place as usize] {
            ChannelEvent::Results(results) => Some(results),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An event that is known by a number.
    fn event(number: u16) -> ChannelEvent {
        let request = MemRequest { bank: 1, row: number, column: 2, data: None };
        match number % 3 {
            0 => ChannelEvent::Read(request, [number; BURST]),
            1 => ChannelEvent::Read(request, [0; BURST]),
            _ => ChannelEvent::Results([number; BANKS]),
        }
    }

    proptest! {
        #[test]
        fn events_come_when_they_are_due_and_in_the_order_of_their_puts(
            puts in prop::collection::vec((0u64..4, 1u64..30), 0..200),
        ) {
            let mut events = Events::default();
            let mut list: Vec<(u64, u16)> = Vec::new();
            let mut now = 0;
            for (number, (pause, way)) in puts.into_iter().enumerate() {
                now += pause;
                let mut told = Vec::new();
                while let Some(event) = events.due(now) {
                    told.push(*event);
                    events.pop();
                }
                // A stable sort: those of one time stay in the order of their puts.
                list.sort_by_key(|(due, _)| *due);
                let until = list.partition_point(|(due, _)| *due <= now);
                let expected: Vec<_> = list.drain(..until).map(|(_, number)| event(number)).collect();
                prop_assert_eq!(told, expected);
                prop_assert_eq!(events.next(), list.first().map(|(due, _)| *due));
                let number = number as u16;
                match event(number) {
                    ChannelEvent::Read(request, data) if data == [0; BURST] => {
                        events.put_read(now + way, request);
                    }
                    event => events.put(now + way, event),
                }
                list.push((now + way, number));
                prop_assert_eq!(events.is_empty(), false);
            }
        }
    }
}
