// SPDX-License-Identifier: MIT
//! Which MACs and which writes to the shared buffers have a word in common, and whether those that come first are
//! done.

use crate::lap::Walk;
use pimlico_ports::U;

/// Words of the shared buffers.
const SHARED_WORDS: usize = 256;
/// Numbers of writes and of MACs, as an entry has them: so many less one.
const NEED_MASK: u16 = 0x1FF;
type Number = U<9>;
/// Those of them of which a counter that has come to a number is not farther than the half.
const HALF: u16 = 0x100;
/// From so many numbers on since the one that the next of a queue needs, nothing enters that counts on.
const FAR: u16 = 0x80;

/// So many MACs, or writes, are never under way at once.
const LONG: u64 = 0x80;

/// What a command does with its word of the shared buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A MAC with the word.
    Mac,
    /// A write to it.
    Write,
}

/// Numbers things in the order in which they enter, and counts those that are done.
#[derive(Clone, Copy, Default, PartialEq)]
struct Order {
    entered: u16,
    done: u16,
}

impl Order {
    /// What an entry needs that needs the one of this number: that, or one that is done.
    fn need(&self, number: u16) -> u16 {
        let under_way = self.entered.wrapping_sub(self.done) & 0x7F;
        let is_under_way = self.entered.wrapping_sub(number) < under_way;
        if is_under_way { number } else { self.done }
    }

    /// Whether it will be done, with the event of this cycle.
    fn has_come(&self, need: u16, event: bool) -> bool {
        let late = self.done.wrapping_sub(need);
        late & HALF == 0 || event && late & NEED_MASK == NEED_MASK
    }

    fn is_far(&self, need: u16) -> bool {
        self.entered.wrapping_sub(need) & NEED_MASK >= FAR
    }
}

/// What a command needs whose table is read.
#[derive(Clone, Copy, PartialEq)]
enum LastUse {
    /// The number in the table.
    Table(u16),
    /// That which enters as the table is read.
    Forwarded,
}

/// The scoreboard.
#[derive(Clone, PartialEq)]
pub struct Scoreboard {
    /// The last write to each word, and its last MAC; so many words are cleared in this run.
    last_writes: [u16; SHARED_WORDS],
    last_macs: [u16; SHARED_WORDS],
    cleared: usize,
    writes: Order,
    macs: Order,
    /// Of the command whose table has been read; it needs the command before it, if that enters.
    last_use: LastUse,
    followed: bool,
    /// What the command needs that may enter.
    need: u16,
    write_far: bool,
    mac_far: bool,
}

impl Scoreboard {
    pub fn new() -> Self {
        Self {
            last_writes: [0; SHARED_WORDS],
            last_macs: [0; SHARED_WORDS],
            cleared: 0,
            writes: Order::default(),
            macs: Order::default(),
            last_use: LastUse::Table(0),
            followed: false,
            need: 0,
            write_far: false,
            mac_far: false,
        }
    }

    /// A run starts: the tables are cleared.
    pub fn start(&mut self) {
        self.cleared = 0;
    }

    /// Whether a word is cleared in this run.
    pub fn is_cleared(&self, word: u8) -> bool {
        usize::from(word) < self.cleared
    }

    /// What the command needs that may enter.
    pub fn need(&self) -> u16 {
        self.need & NEED_MASK
    }

    /// Whether what a MAC needs is done, with the event of this cycle.
    pub fn mac_may(&self, need: u16, written: bool) -> bool {
        self.writes.has_come(need, written)
    }

    /// The same of a write.
    pub fn write_may(&self, need: u16, read: bool) -> bool {
        self.macs.has_come(need, read)
    }

    /// Whether no more writes may enter.
    pub fn write_far(&self) -> bool {
        self.write_far
    }

    /// Whether no more MACs may enter.
    pub fn mac_far(&self) -> bool {
        self.mac_far
    }

    /// The cycle ends: finds what the next MAC and the next write keep from entering. Tells whether that changes.
    pub fn find_far(&mut self, next_mac: Option<u16>, next_write: Option<u16>) -> bool {
        let before = (self.write_far, self.mac_far);
        self.write_far = next_mac.is_some_and(|need| self.writes.is_far(need));
        self.mac_far = next_write.is_some_and(|need| self.macs.is_far(need));
        before != (self.write_far, self.mac_far)
    }

    /// The table's word is looked at, as this enters: what the command needs.
    pub fn look(&mut self, access: Access, enters: Option<Access>) {
        let (order, needed) = match access {
            Access::Mac => (&self.writes, Access::Write),
            Access::Write => (&self.macs, Access::Mac),
        };
        self.need = match self.last_use {
            _ if self.followed && enters == Some(needed) => order.entered.wrapping_add(1),
            LastUse::Forwarded => order.entered,
            LastUse::Table(number) => order.need(number),
        };
    }

    /// A command's table is read, as `enters` enters and behind `before`, with their words.
    pub fn read(
        &mut self,
        (access, word): (Access, u8),
        enters: Option<(Access, u8)>,
        before: Option<(Access, u8)>,
    ) {
        let (table, needed) = match access {
            Access::Mac => (&self.last_writes, Access::Write),
            Access::Write => (&self.last_macs, Access::Mac),
        };
        self.last_use = match enters == Some((needed, word)) {
            true => LastUse::Forwarded,
            false => LastUse::Table(table[usize::from(word)]),
        };
        self.followed = before == Some((needed, word));
    }

    /// A MAC or a write enters.
    pub fn enter(&mut self, access: Access, word: u8) {
        let (order, table) = match access {
            Access::Mac => (&mut self.macs, &mut self.last_macs),
            Access::Write => (&mut self.writes, &mut self.last_writes),
        };
        order.entered = order.entered.wrapping_add(1);
        table[usize::from(word)] = order.entered;
    }

    /// Nothing enters: a word of the tables is cleared. Tells whether there was one left.
    pub fn clear(&mut self) -> bool {
        let clears = self.cleared < SHARED_WORDS;
        if clears {
            self.last_writes[self.cleared] = 0;
            self.last_macs[self.cleared] = 0;
            self.cleared += 1;
        }
        clears
    }

    /// Goes over all of it, for [laps](crate::lap), where the command that may enter and the one behind it do this with their
    /// words. Numbers of MACs and writes that are done long since are of no account but for how they wrap, and no MAC or write of
    /// a lap looks at them. Behind a lap all words are cleared.
    pub fn walk(&mut self, walk: &mut Walk<'_>, [next, looked]: [Option<Access>; 2]) {
        let orders = [self.writes, self.macs];
        let Self {
            last_writes,
            last_macs,
            cleared,
            writes,
            macs,
            last_use,
            followed,
            need,
            write_far,
            mac_far,
        } = self;
        let before = *cleared;
        walk.clears(cleared, SHARED_WORDS);
        for (table, Order { entered, .. }) in [last_writes, last_macs].into_iter().zip(orders) {
            table[before..*cleared].fill(0);
            table.iter_mut().for_each(|number| walk.number(number, entered, LONG));
        }
        for flag in [followed, write_far, mac_far] {
            walk.still(*flag);
        }
        let [of_writes, of_macs] = orders;
        let needed = |access| if access == Access::Mac { of_writes } else { of_macs };
        // Of other commands what the table says is looked at no more.
        if let Some(access) = looked {
            walk.still(*last_use == LastUse::Forwarded);
            if let LastUse::Table(number) = last_use {
                walk.number(number, needed(access).entered, LONG);
            }
        }
        if let Some(access) = next {
            walk.number(need, needed(access).done, u16::MAX.into());
        }
        for Order { entered, done } in [writes, macs] {
            walk.number(done, *entered, u16::MAX.into());
            walk.moves(entered);
        }
    }

    /// The same of what an entry needs.
    pub fn walk_need(&self, walk: &mut Walk<'_>, access: Access, need: &mut u16) {
        let Order { done, .. } = if access == Access::Mac { self.writes } else { self.macs };
        let [mut number, done] = [*need, done].map(|number| Number::new(number.into()));
        walk.number(&mut number, done, NEED_MASK.into());
        *need = number.get() as u16;
    }

    /// Whether a write is under way, from its entry on.
    pub fn has_write(&self) -> bool {
        self.writes.entered != self.writes.done
    }

    /// The oldest MAC is on the pins, the oldest write is done.
    pub fn see(&mut self, read: bool, written: bool) {
        self.macs.done = self.macs.done.wrapping_add(read.into());
        self.writes.done = self.writes.done.wrapping_add(written.into());
    }
}
