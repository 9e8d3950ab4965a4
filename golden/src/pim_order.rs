// SPDX-License-Identifier: MIT
//! Which operation and which command of PIM is next, told from the list of all requests.
//!
//! There is no queue here: all requests stay in a list, and a request is before or behind the place that has been reached.
//!
//! ```
//! use pimlico_golden::pim_order::{PimOrder, PimWish};
//!
//! let mut order = PimOrder::new(16);
//! order.wish(0, PimWish { kind: 0, row: 7, ..PimWish::default() });
//! order.wish(1, PimWish { kind: 2, word: 3, count: 4, last: true, ..PimWish::default() });
//! order.cycle(1, false, false, false);
//! assert_eq!(order.operation().map(|wish| wish.row), Some(7));
//! assert_eq!(order.command(2).map(|wish| wish.word), Some(3));
//! ```

/// A request, as on the ports. `count` and `results` are one less than what they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of the ports")]
pub struct PimWish {
    pub kind: u64,
    pub bank: u64,
    pub row: u64,
    pub word: u64,
    pub count: u64,
    pub results: u64,
    pub first: bool,
    pub last: bool,
}

/// All requests, and how far they have come.
#[derive(Clone, Debug)]
pub struct PimOrder {
    /// With the cycle of each.
    wishes: Vec<(u64, PimWish)>,
    reached: usize,
    room: usize,
    /// The operation, or the last one.
    last: Option<PimWish>,
    under_way: bool,
    admitted: bool,
    fault: bool,
}

impl PimOrder {
    /// No request yet, and room for so many that wait.
    pub fn new(room: usize) -> Self {
        Self {
            wishes: Vec::new(),
            reached: 0,
            room,
            last: None,
            under_way: false,
            admitted: false,
            fault: false,
        }
    }

    /// Whether there is room for a request.
    pub fn has_room(&self) -> bool {
        self.wishes.len() - self.reached < self.room
    }

    /// A request comes in a cycle.
    pub fn wish(&mut self, cycle: u64, wish: PimWish) {
        self.wishes.push((cycle, wish));
    }

    /// The operation that is under way.
    pub fn operation(&self) -> Option<PimWish> {
        self.last.filter(|_| self.under_way)
    }

    /// The operation that is or was under way last.
    pub fn last_operation(&self) -> Option<PimWish> {
        self.last
    }

    /// Whether the operation is admitted.
    pub fn is_admitted(&self) -> bool {
        self.admitted
    }

    /// Whether something was dropped in the cycle before.
    pub fn has_fault(&self) -> bool {
        self.fault
    }

    /// Requests that have been served or dropped.
    pub fn served(&self) -> usize {
        self.reached
    }

    /// The first request that has come before a cycle and has not been served.
    fn head(&self, cycle: u64) -> Option<PimWish> {
        self.wishes.get(self.reached).filter(|(came, _)| *came < cycle).map(|(_, wish)| *wish)
    }

    /// Whether there is nothing to be done.
    pub fn is_empty(&self, cycle: u64) -> bool {
        self.operation().is_none() && self.head(cycle).is_none()
    }

    /// The operation's next command.
    pub fn command(&self, cycle: u64) -> Option<PimWish> {
        self.operation().filter(|operation| operation.kind == 0)?;
        let head = self.head(cycle)?;
        let is_one = match head.kind {
            2 => (head.word..=head.word + head.count).all(|word| word < 32),
            3 | 4 => true,
            _ => false,
        };
        is_one.then_some(head)
    }

    /// The end of a cycle in which the operation is admitted, a REF is due, or the command is issued.
    pub fn cycle(&mut self, cycle: u64, admit: bool, refresh: bool, taken: bool) {
        let (operation, command, head) = (self.operation(), self.command(cycle), self.head(cycle));
        self.fault = false;
        let mut over = false;
        match (operation, command, head) {
            (Some(PimWish { kind: 1, .. }), ..) => over = taken,
            (Some(_), Some(command), _) => {
                self.reached += usize::from(taken);
                over = taken && command.last && command.kind != 3;
            }
            (Some(_), None, Some(head)) => {
                self.fault = true;
                let is_next = head.kind < 2;
                self.reached += usize::from(!is_next);
                over = is_next || head.last && head.kind == 2;
            }
            (None, _, Some(head)) => {
                self.reached += 1;
                self.fault = head.kind > 1;
                if head.kind < 2 {
                    (self.last, self.under_way) = (Some(head), true);
                }
            }
            _ => {}
        }
        self.admitted = operation.is_some() && !over && !refresh && (self.admitted || admit);
        self.under_way &= !over;
    }
}
