// SPDX-License-Identifier: MIT
//! Programs of a module of AiM channels: see `aim_hub`'s contract for what its commands do.
//!
//! ```text
//! product   WR_SHARED tile 0, tile 1   MAC group 0, RD_RESULT, MAC group 1, RD_RESULT ...
//!           WR_SHARED tile 2           MAC group 0, RD_RESULT ...
//! score     WR_SHARED query            rows of K { groups { MAC, RD_RESULT } }
//! softmax   WEIGH
//! context   tiles of tokens { WR_WEIGHTS   groups { MAC, RD_RESULT } }
//! ```
//!
//! A MAC is a group's part of a tile, in one row of the banks. Every program ends with CLOSE_ALL.
//!
//! Those are input-stationary. With [`Order::OutputStationary`] a tile comes again for every group: score and context too
//! have a filling before each MAC, and RD_RESULT behind the last tile of a group.
//!
//! Rows are virtual: row 0 is the first of the matrix.
//!
//! Query heads that share K and V may run on a row while it is open ([`Queries`]): their words lie behind each other in the
//! global buffers, and each MAC is followed by those of the others; of the context each of their tiles has a filling of its
//! own, and its sums leave with it.
//!
//! ```text
//! score     WR_SHARED queries          rows of K { groups { queries { MAC, RD_RESULT } } }
//! softmax   queries { WEIGH }
//! context   tiles of tokens { groups { queries { WR_WEIGHTS, MAC, RD_RESULT } } }
//! ```
//!
//! # Requests that grow
//!
//! Score, softmax and context depend on the room that a head was laid out with, not on its tokens: these stand in T_cur. Where
//! V's last tile has another shape than the others, what is in it stands in a T_cur of its own ([`REST_REQUEST`]), and the
//! context has a second program ([`Tail`]), to which the host changes when a request comes to it.
//!
//! # Queues
//!
//! The hub takes commands in order, and a channel's queues hold them until their time. With two sides in the global
//! buffers a tile is asked for before the MACs of the one before it, so that its words come as soon as there is a side.

pub use super::queries::{Queries, most_queries, outputs, query_operands, room};

use super::queries::{QUERY_WORDS, query_words};
use super::{Builder, Field, Index, Over, Program, Template};
use pimlico_device::HEADS;
use pimlico_device::aim::{AimHead, AimLayout, AimOptions, MULTIPLIERS, Order};
use pimlico_device::gemv::IoBuffers;
use pimlico_dpa::Opcode;
use std::ops::Range;

/// The number whose T_cur is what lies in V's last tile.
pub const REST_REQUEST: u8 = 15;

/// Whether a context has tokens in a last tile that has another shape than those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// It has none.
    No,
    /// It has.
    Rest,
}

/// A filling of the global buffers for a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    tile: usize,
    /// The group that it is for, if not for all.
    group: Option<usize>,
}

/// The fillings of a product, in their order.
pub fn fillings(layout: &AimLayout, options: &AimOptions) -> Vec<Filling> {
    let tiles = 0..layout.tiles();
    if options.sums_stay(layout.rows) {
        let of_group = |group| tiles.clone().map(move |tile| Filling { tile, group: Some(group) });
        (0..layout.groups()).flat_map(of_group).collect()
    } else {
        tiles.map(|tile| Filling { tile, group: None }).collect()
    }
}

/// Words of the host that fillings take, as numbers of words of the vector.
pub fn product_words(layout: &AimLayout, fillings: &[Filling]) -> impl Iterator<Item = usize> {
    fillings.iter().flat_map(|&Filling { tile, .. }| {
        let first = layout.first_word(tile);
        first..first + layout.tile_words(tile)
    })
}

/// The program of a matrix times a vector of the host, or of some fillings of it that follow each other; the outputs are
/// in the GPR from place 0 on.
pub fn product(layout: &AimLayout, options: &AimOptions, fillings: &[Filling]) -> Program {
    Program::new(|program| {
        let ahead = usize::from(options.io_buffers == IoBuffers::PingPong);
        let fill = |program: &mut Builder, number: usize| {
            if let Some(&Filling { tile, .. }) = fillings.get(number) {
                program.command(shared(layout.tile_words(tile)));
            }
        };
        (0..ahead).for_each(|number| fill(program, number));
        for (number, &Filling { tile, group }) in fillings.iter().enumerate() {
            fill(program, number + ahead);
            let words = Words::Count(layout.tile_words(tile));
            let (begins, ends) = (tile == 0, tile + 1 == layout.tiles());
            match group {
                None => {
                    let sums = Sums { first: Some(vec![]), last: Some(vec![]) };
                    let begins = begins.then(Vec::new);
                    let part = Part { layout, tile, words, sums, row: Field::default() };
                    part.groups(program, &|program, place| {
                        program.command(results(place, &begins))
                    });
                }
                Some(group) => {
                    let sums = Sums { first: begins.then(Vec::new), last: ends.then(Vec::new) };
                    let part = Part { layout, tile, words, sums, row: Field::default() };
                    part.group(program, group);
                    if ends {
                        let place = number_of(group * layout.pus());
                        program.command(results(place.into(), &Some(vec![])));
                    }
                }
            }
        }
        program.command(Template::new(Opcode::CloseAll));
    })
}

/// How often the query of a head is written to the global buffers.
pub fn score_fillings(head: &AimHead, options: &AimOptions) -> usize {
    if options.mapping.order == Order::OutputStationary { head.k.groups() } else { 1 }
}

/// The program of the scores of a head's queries. The vectors have one tile.
pub fn score(head: &AimHead, options: &AimOptions, queries: &Queries) -> Program {
    let layout = &head.k.whole();
    let refills = options.mapping.order == Order::OutputStationary;
    Program::new(|program| {
        let words = layout.tile_words(0);
        let all =
            if queries.count > 1 { queries.count * query_words(layout.columns) } else { words };
        if !refills {
            program.command(shared(all));
        }
        let fill = refills.then_some(all);
        let words = Words::Count(words);
        let sums = Sums { first: Some(vec![]), last: Some(vec![]) };
        let part = Part { layout, tile: 0, words, sums, row: Field::default() };
        part.token_groups(program, fill, queries);
        program.command(Template::new(Opcode::CloseAll));
    })
}

/// The program that makes weights of the scores of queries.
pub fn softmax(queries: &Queries) -> Program {
    Program::new(|program| {
        for query in 0..queries.count {
            let head = number_of(query % HEADS);
            let place = number_of(queries.place_of(query));
            program.command(Template::new(Opcode::Weigh).head(head).place(place));
        }
        program.command(Template::new(Opcode::CloseAll));
    })
}

/// Of a context of so many tokens, whether it has a tail, and T_cur of [`REST_REQUEST`].
pub fn tail(head: &AimHead) -> (Tail, usize) {
    let (whole, tiles) = (head.v.whole(), head.v.tiles());
    let last = tiles - 1;
    let is_alike = whole.groups() == 1 || whole.tile_room(last) == whole.tile_room(0);
    if is_alike {
        return (Tail::No, 0);
    }
    (Tail::Rest, head.v.columns - last * whole.tile_room(0) * MULTIPLIERS)
}

/// The parts that a context is made of, one after the other: each group of elements, where its sums stay in the PUs.
pub fn context_parts(head: &AimHead, options: &AimOptions, queries: &Queries) -> usize {
    let layout = head.v.whole();
    if stays(head, options, queries) { layout.groups() } else { 1 }
}

/// Whether the sums of the context stay in the PUs over all tokens: not those of queries that take turns in them.
fn stays(head: &AimHead, options: &AimOptions, queries: &Queries) -> bool {
    options.sums_stay(head.v.whole().rows) && queries.count == 1
}

/// The program of the context of a head's queries, or of some parts of it that follow each other.
pub fn context(
    head: &AimHead,
    options: &AimOptions,
    queries: &Queries,
    tail: Tail,
    parts: Range<usize>,
) -> Program {
    let layout = &head.v.whole();
    let outputs = number_of(queries.context_place(head, 0));
    let stays = stays(head, options, queries);
    Program::new(|program| {
        for part in parts.clone() {
            let group = stays.then_some(part);
            let waits = part == parts.start;
            let apart = number_of(self::outputs(head));
            let context = Context { layout, queries, outputs, apart, tail, group, waits };
            context.whole_tiles(program);
            if tail == Tail::Rest {
                context.last_tile(program);
            }
            if stays {
                let place = outputs + number_of(part * layout.pus());
                program.command(results(place.into(), &Some(vec![])));
            }
        }
        program.command(Template::new(Opcode::CloseAll));
    })
}

/// A part of a context.
struct Context<'a> {
    layout: &'a AimLayout,
    queries: &'a Queries,
    /// Where the context of the first query goes in the GPR, and how far behind it that of the next.
    outputs: u32,
    apart: u32,
    tail: Tail,
    /// The group that it is of, if not of all.
    group: Option<usize>,
    /// Its first weights wait for the EPU.
    waits: bool,
}

impl Context<'_> {
    /// Tokens of a tile.
    fn tokens(&self) -> usize {
        self.layout.tile_room(0) * MULTIPLIERS
    }

    /// The tiles that are alike.
    fn whole_tiles(&self, program: &mut Builder) {
        let (layout, tokens) = (self.layout, number_of(self.tokens()));
        let (over, words) = match self.tail {
            Tail::No => (Over::All(None, tokens), Words::Tokens),
            Tail::Rest => {
                let tiles = number_of(layout.tiles() - 1);
                (Over::Count(tiles), Words::Count(layout.tile_room(0)))
            }
        };
        program.repeat(over, |program, t| {
            if self.queries.count > 1 {
                let row = t.times(number_of(layout.rows_of_tile(0)));
                let waits = self.waits.then_some(t);
                self.tile_of_queries(program, (0, words, row), t.times(tokens), (waits, Some(t)));
                return;
            }
            let weights = weights(&words).place(t.times(tokens) + number_of(self.queries.place));
            program.command(if self.waits { weights.first(&[t]) } else { weights });
            let last = (self.tail == Tail::No).then(|| vec![t]);
            let row = t.times(number_of(layout.rows_of_tile(0)));
            self.tile(program, (0, words, row), (Some(vec![t]), last));
        });
    }

    /// The last one, which has another shape.
    fn last_tile(&self, program: &mut Builder) {
        let tile = self.layout.tiles() - 1;
        let over = Over::All(Some(REST_REQUEST), number_of(self.tokens()));
        program.repeat(over, |program, _| {
            let words = Words::Tokens;
            let from = number_of(tile * self.tokens());
            if self.queries.count > 1 {
                let tile = (tile, words, Field::default());
                self.tile_of_queries(program, tile, from.into(), (None, None));
                return;
            }
            program.command(weights(&words).place(from + number_of(self.queries.place)));
            self.tile(program, (tile, words, Field::default()), (None, Some(vec![])));
        });
    }

    /// What is done with a tile of several queries, whose weights stand so far behind their first: of each group all of
    /// them, one after the other. In the first repetition of these loops the first weights wait for the EPU, and sums
    /// begin.
    fn tile_of_queries(
        &self,
        program: &mut Builder,
        (tile, words, row): (usize, Words, Field),
        from: Field,
        (waits, begins): (Option<Index>, Option<Index>),
    ) {
        let begins = begins.map(|begins| vec![begins]);
        let sums = Sums { first: Some(vec![]), last: Some(vec![]) };
        let part = Part { layout: self.layout, tile, words, sums, row };
        part.each_group(program, &|program, at, opens, place| {
            for query in 0..self.queries.count {
                let weights = weights(&words);
                let weights = weights.place(from.clone() + number_of(self.queries.place_of(query)));
                let waits = waits.filter(|_| query == 0).zip(opens);
                program.command(match waits {
                    Some((waits, opens)) => weights.first(&[opens, &[waits]].concat()),
                    None => weights,
                });
                part.columns(program, at.clone(), 0, Some(&[]));
                let outputs = self.outputs + number_of(query) * self.apart;
                program.command(results(place.clone() + outputs, &begins));
            }
        });
    }

    /// What is done with a tile, which is in some repetitions the first and the last of the tokens.
    fn tile(
        &self,
        program: &mut Builder,
        (tile, words, row): (usize, Words, Field),
        (first, last): (Option<Vec<Index>>, Option<Vec<Index>>),
    ) {
        let layout = self.layout;
        match self.group {
            Some(group) => {
                let sums = Sums { first, last };
                Part { layout, tile, words, sums, row }.group(program, group);
            }
            None => {
                let sums = Sums { first: Some(vec![]), last: Some(vec![]) };
                Part { layout, tile, words, sums, row }.groups(program, &|program, place| {
                    program.command(results(place + self.outputs, &first));
                });
            }
        }
    }
}

/// A number that fits a program: larger ones are refused when words are written.
fn number_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A filling of so many of the host's words.
fn shared(words: usize) -> Template {
    Template::new(Opcode::WrShared).word(number_of(words))
}

/// A filling of weights.
fn weights(words: &Words) -> Template {
    Template::new(Opcode::WrWeights).word(words.field())
}

/// Results to a place; `begins`: the sums there begin with them, in the first repetition of these loops.
fn results(place: Field, begins: &Option<Vec<Index>>) -> Template {
    let results = Template::new(Opcode::RdResult).place(place);
    match begins {
        Some(loops) => results.first(loops),
        None => results,
    }
}

/// Words of a tile.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    /// So many.
    Count(usize),
    /// One for each 16 tokens of the repetition.
    Tokens,
}

impl Words {
    fn field(self) -> u32 {
        match self {
            Self::Count(count) => number_of(count),
            Self::Tokens => 0,
        }
    }
}

/// In which repetitions a tile begins and ends the sums of its groups, if it ever does.
struct Sums {
    first: Option<Vec<Index>>,
    last: Option<Vec<Index>>,
}

/// What is done with a tile.
struct Part<'a> {
    layout: &'a AimLayout,
    tile: usize,
    words: Words,
    sums: Sums,
    /// Rows of the banks behind those of the tile.
    row: Field,
}

/// What follows the columns of a group, whose results begin at a place.
type Then<'a> = &'a dyn Fn(&mut Builder, Field);

/// What is done with a group from a row and column on, the first of the tile's in the first repetition of some loops, whose
/// results begin at a place.
type Each<'a> = &'a dyn Fn(&mut Builder, (Field, Field), Option<&[Index]>, Field);

impl Part<'_> {
    /// The virtual row of the tile's first.
    fn first_row(&self) -> Field {
        let (row, _) = self.layout.place(self.tile, 0, 0);
        self.row.clone() + number_of(row - self.layout.first_row())
    }

    /// All groups, as many as the matrix has.
    fn groups(&self, program: &mut Builder, then: Then) {
        self.each_group(program, &|program, at, opens, place| {
            self.columns(program, at, 0, opens);
            then(program, place);
        });
    }

    /// Something of all groups, as many as the matrix has.
    fn each_group(&self, program: &mut Builder, each: Each) {
        let per_row = self.layout.groups_per_row(self.tile);
        let groups = self.layout.groups();
        if per_row == 0 {
            let rows = number_of(self.layout.rows_per_group(self.tile));
            let pus = number_of(self.layout.pus());
            program.times(groups, |program, group| {
                let at = (group.times(rows), Field::default());
                each(program, at, Some(&[group]), group.times(pus));
            });
            return;
        }
        let (rows, left) = (groups / per_row, groups % per_row);
        program.times(rows, |program, row| {
            self.groups_of_row(program, per_row, (row.times(1), row), rows > 0, each);
        });
        let row = (number_of(rows).into(), Index::NONE);
        self.groups_of_row(program, left, row, rows == 0, each);
    }

    /// So many groups of a row, the first of which begins the tile's columns where `opens` holds.
    fn groups_of_row(
        &self,
        program: &mut Builder,
        count: usize,
        (row, index): (Field, Index),
        opens: bool,
        each: Each,
    ) {
        let (pus, per_row) = (self.layout.pus(), self.layout.groups_per_row(self.tile));
        program.times(count, |program, group| {
            let column = group.times(number_of(self.layout.tile_room(self.tile)));
            let opens = opens.then_some([index, group]);
            let opens = opens.as_ref().map(<[_; 2]>::as_slice);
            let place = row.clone() * number_of(per_row * pus);
            each(program, (row.clone(), column), opens, place + group.times(number_of(pus)));
        });
    }

    /// All groups of the tokens that there are, for each query; `fill`: for each group the global buffers are filled with
    /// so many words.
    fn token_groups(&self, program: &mut Builder, fill: Option<usize>, queries: &Queries) {
        let head = number_of(query_words(self.layout.columns) / QUERY_WORDS);
        let (pus, per_row) = (number_of(self.layout.pus()), self.layout.groups_per_row(self.tile));
        let group_of =
            |program: &mut Builder, at: (Field, Field), loops: &[Index], place: Field| {
                if let Some(words) = fill {
                    program.command(shared(words));
                }
                let opens = if fill.is_some() { &[] } else { loops };
                for query in 0..queries.count {
                    let opens = (query == 0).then_some(opens);
                    self.columns(program, at.clone(), head * number_of(query), opens);
                    let place = place.clone() + number_of(queries.place_of(query));
                    program.command(results(place, &Some(vec![])));
                }
            };
        if per_row == 0 {
            let rows = number_of(self.layout.rows_per_group(self.tile));
            program.repeat(Over::All(None, pus), |program, group| {
                let at = (group.times(rows), Field::default());
                group_of(program, at, &[group], group.times(pus));
            });
            return;
        }
        let of_row = pus * number_of(per_row);
        program.repeat(Over::All(None, of_row), |program, row| {
            program.repeat(Over::Part(pus), |program, group| {
                let column = group.times(number_of(self.layout.tile_room(self.tile)));
                let place = row.times(of_row) + group.times(pus);
                group_of(program, (row.times(1), column), &[row, group], place);
            });
        });
    }

    /// The columns of one group, which has a filling of its own.
    fn group(&self, program: &mut Builder, group: usize) {
        let (row, column) = self.layout.place(self.tile, group, 0);
        let (first, _) = self.layout.place(self.tile, 0, 0);
        let at = (number_of(row - first).into(), number_of(column).into());
        self.columns(program, at, 0, Some(&[]));
    }

    /// The columns of a group, from a row and column on: a MAC in each row. `head`: its words of the global buffers are
    /// those of so many heads behind the first. `opens`: they are the first of the tile, in the first repetition of these
    /// loops.
    fn columns(
        &self,
        program: &mut Builder,
        (row, column): (Field, Field),
        head: u32,
        opens: Option<&[Index]>,
    ) {
        let page = self.layout.page();
        let read =
            Template::new(Opcode::MacScore).row(self.first_row() + row.clone()).column(column);
        if self.layout.tile_room(self.tile) <= page {
            let read = read.word(self.words.field()).head(head);
            program.command(self.with_flags(read, (opens, Some(&[])), Some(&[])));
            return;
        }
        // A filling has no more than two rows.
        let eighths = number_of(page / 8);
        match self.words {
            Words::Count(count) => {
                for (n, from) in (0..count).step_by(page).enumerate() {
                    let n = number_of(n);
                    let read = read.clone().row(self.first_row() + row.clone() + n);
                    let read = read.head(n * eighths).word(number_of((count - from).min(page)));
                    let begins = n == 0;
                    let ends = from + page >= count;
                    let opens = opens.filter(|_| begins);
                    let [begins, ends] = [begins, ends].map(|it| it.then_some(&[][..]));
                    program.command(self.with_flags(read, (opens, begins), ends));
                }
            }
            Words::Tokens => {
                let of_row = number_of(page * MULTIPLIERS);
                program.repeat(Over::Part(of_row), |program, n| {
                    let read = read.clone().row(self.first_row() + row.clone() + n.times(1));
                    let read = read.head(n.times(eighths));
                    let opens = opens.map(|loops| [loops, &[n]].concat());
                    let flags = (opens.as_deref(), Some(&[n][..]));
                    program.command(self.with_flags(read, flags, Some(&[n])));
                });
            }
        }
    }

    /// A MAC with its flags: `opens`, and where it is the first and the last of its group.
    fn with_flags(
        &self,
        mut read: Template,
        (opens, begins): (Option<&[Index]>, Option<&[Index]>),
        ends: Option<&[Index]>,
    ) -> Template {
        if let Some(loops) = opens {
            read = read.opens(loops);
        }
        if let (Some(first), Some(begins)) = (&self.sums.first, begins) {
            read = read.first(&[first, begins].concat());
        }
        if let (Some(last), Some(ends)) = (&self.sums.last, ends) {
            read = read.last(&[last, ends].concat());
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::Config;
    use pimlico_dpa::{Tables, expand};

    #[test]
    fn results_of_many_channels_have_their_places() {
        let (config, options) =
            (Config::gddr6_aim(), AimOptions { channels: 64, ..AimOptions::default() });
        // 64 groups of a column to a row of the banks: 65 536 outputs.
        let layout = AimLayout::new(&config, &options, 200_000, 16, 0).expect("it fits");
        let program = product(&layout, &options, &fillings(&layout, &options));
        let words = program.words().expect("its fields can be written");
        let commands = expand(&words, &Tables::default(), 0, 1000).expect("it has no fault");
        let results = commands.iter().filter(|command| command.kind == Opcode::RdResult);
        let places: Vec<_> = results.map(|command| command.place.get() as usize).collect();
        assert_eq!(places, (0..layout.groups()).map(|group| 1024 * group).collect::<Vec<_>>());
    }
}
