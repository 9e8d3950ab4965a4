// SPDX-License-Identifier: MIT
//! Programs of the hub of AiM channels: see `aim_hub`'s contract for what its commands do.
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
//! Rows are virtual: row 0 is the first of the matrix.
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

use super::{Builder, Field, Index, Over, Program, Template};
use pimlico_device::aim::attention::AimHead;
use pimlico_device::aim::{AimLayout, AimOptions, GPR, MULTIPLIERS};
use pimlico_device::gemv::IoBuffers;
use pimlico_dpa::Opcode;

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

/// Where the context of a head goes in the GPR: to its end.
pub fn context_place(head: &AimHead) -> usize {
    GPR - head.v.rows.next_multiple_of(head.v.pus())
}

/// Words of the host that a product takes, as numbers of words of the vector.
pub fn product_words(
    layout: &AimLayout,
    options: &AimOptions,
) -> impl Iterator<Item = usize> + use<> {
    let layout = *layout;
    let of_tile = move |(tile, _)| {
        let first = layout.first_word(tile);
        first..first + layout.tile_words(tile)
    };
    fillings(&layout, options).into_iter().flat_map(of_tile)
}

/// The fillings of the global buffers: tile, and the group that it is for, if not for all.
fn fillings(layout: &AimLayout, options: &AimOptions) -> Vec<(usize, Option<usize>)> {
    let tiles = 0..layout.tiles();
    if options.sums_stay(layout.rows) {
        let of_group = |group| tiles.clone().map(move |tile| (tile, Some(group)));
        (0..layout.groups()).flat_map(of_group).collect()
    } else {
        tiles.map(|tile| (tile, None)).collect()
    }
}

/// The program of a matrix times a vector of the host; its outputs are in the GPR from place 0 on.
pub fn product(layout: &AimLayout, options: &AimOptions) -> Program {
    Program::new(|program| {
        let ahead = usize::from(options.io_buffers == IoBuffers::PingPong);
        let fillings = fillings(layout, options);
        let fill = |program: &mut Builder, number: usize| {
            if let Some(&(tile, _)) = fillings.get(number) {
                program.command(shared(layout.tile_words(tile)));
            }
        };
        (0..ahead).for_each(|number| fill(program, number));
        for (number, &(tile, group)) in fillings.iter().enumerate() {
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

/// The program of a head's scores; they are in the GPR from place 0 on. The vectors have one tile.
pub fn score(head: &AimHead) -> Program {
    let layout = &head.k.whole();
    Program::new(|program| {
        let words = layout.tile_words(0);
        program.command(shared(words));
        let words = Words::Count(words);
        let sums = Sums { first: Some(vec![]), last: Some(vec![]) };
        let part = Part { layout, tile: 0, words, sums, row: Field::default() };
        part.token_groups(program);
        program.command(Template::new(Opcode::CloseAll));
    })
}

/// The program that makes weights of scores.
pub fn softmax() -> Program {
    Program::new(|program| {
        program.command(Template::new(Opcode::Weigh));
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

/// The program of a head's context, of weights that are in the GPR from place 0 on.
pub fn context(head: &AimHead, options: &AimOptions, tail: Tail) -> Program {
    let layout = &head.v.whole();
    let stays = options.sums_stay(layout.rows);
    let outputs = number_of(context_place(head));
    let tokens = layout.tile_room(0) * MULTIPLIERS;
    let whole = match tail {
        Tail::No => Over::All(None, number_of(tokens)),
        Tail::Rest => Over::Count(number_of(layout.tiles() - 1)),
    };
    Program::new(|program| {
        program.repeat(whole, |program, t| {
            let words = match tail {
                Tail::No => Words::Tokens,
                Tail::Rest => Words::Count(layout.tile_room(0)),
            };
            let weights = weights(&words).place(t.times(number_of(tokens))).first(&[t]);
            program.command(weights);
            let always = Some(vec![]);
            let last = match tail {
                Tail::No => Some(vec![t]),
                Tail::Rest => None,
            };
            let sums = match stays {
                true => Sums { first: Some(vec![t]), last },
                false => Sums { first: always.clone(), last: always },
            };
            let row = t.times(number_of(layout.rows_of_tile(0)));
            let part = Part { layout, tile: 0, words, sums, row };
            part.groups(program, &|program, place| {
                if !stays {
                    program.command(results(place + outputs, &Some(vec![t])));
                }
            });
        });
        if tail == Tail::Rest {
            let tile = layout.tiles() - 1;
            let over = Over::All(Some(REST_REQUEST), number_of(tokens));
            program.repeat(over, |program, _| {
                let words = Words::Tokens;
                program.command(weights(&words).place(number_of(tile * tokens)));
                let first = if stays { None } else { Some(vec![]) };
                let sums = Sums { first, last: Some(vec![]) };
                let part = Part { layout, tile, words, sums, row: Field::default() };
                part.groups(program, &|program, place| {
                    if !stays {
                        program.command(results(place + outputs, &None));
                    }
                });
            });
        }
        if stays {
            program.command(results(outputs.into(), &Some(vec![])));
        }
        program.command(Template::new(Opcode::CloseAll));
    })
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

impl Part<'_> {
    /// The virtual row of the tile's first.
    fn first_row(&self) -> Field {
        let (row, _) = self.layout.place(self.tile, 0, 0);
        self.row.clone() + number_of(row - self.layout.first_row())
    }

    /// All groups, as many as the matrix has.
    fn groups(&self, program: &mut Builder, then: Then) {
        let per_row = self.layout.groups_per_row(self.tile);
        let groups = self.layout.groups();
        if per_row == 0 {
            let rows = number_of(self.layout.rows_per_group(self.tile));
            let pus = number_of(self.layout.pus());
            program.times(groups, |program, group| {
                self.columns(program, (group.times(rows), Field::default()), Some(&[group]));
                then(program, group.times(pus));
            });
            return;
        }
        let (rows, left) = (groups / per_row, groups % per_row);
        program.times(rows, |program, row| {
            self.groups_of_row(program, per_row, (row.times(1), row), rows > 0, then);
        });
        let row = (number_of(rows).into(), Index::NONE);
        self.groups_of_row(program, left, row, rows == 0, then);
    }

    /// So many groups of a row, the first of which begins the tile's columns where `opens` holds.
    fn groups_of_row(
        &self,
        program: &mut Builder,
        count: usize,
        (row, index): (Field, Index),
        opens: bool,
        then: Then,
    ) {
        let (pus, per_row) = (self.layout.pus(), self.layout.groups_per_row(self.tile));
        program.times(count, |program, group| {
            let column = group.times(number_of(self.layout.tile_room(self.tile)));
            let opens = opens.then_some([index, group]);
            let opens = opens.as_ref().map(<[_; 2]>::as_slice);
            self.columns(program, (row.clone(), column), opens);
            let place = row.clone() * number_of(per_row * pus);
            then(program, place + group.times(number_of(pus)));
        });
    }

    /// All groups of the tokens that there are.
    fn token_groups(&self, program: &mut Builder) {
        let (pus, per_row) = (number_of(self.layout.pus()), self.layout.groups_per_row(self.tile));
        let begins = Some(vec![]);
        if per_row == 0 {
            let rows = number_of(self.layout.rows_per_group(self.tile));
            program.repeat(Over::All(None, pus), |program, group| {
                self.columns(program, (group.times(rows), Field::default()), Some(&[group]));
                program.command(results(group.times(pus), &begins));
            });
            return;
        }
        let of_row = pus * number_of(per_row);
        program.repeat(Over::All(None, of_row), |program, row| {
            program.repeat(Over::Part(pus), |program, group| {
                let column = group.times(number_of(self.layout.tile_room(self.tile)));
                self.columns(program, (row.times(1), column), Some(&[row, group]));
                let place = row.times(of_row) + group.times(pus);
                program.command(results(place, &begins));
            });
        });
    }

    /// The columns of one group, which has a filling of its own.
    fn group(&self, program: &mut Builder, group: usize) {
        let (row, column) = self.layout.place(self.tile, group, 0);
        let (first, _) = self.layout.place(self.tile, 0, 0);
        let at = (number_of(row - first).into(), number_of(column).into());
        self.columns(program, at, Some(&[]));
    }

    /// The columns of a group, from a row and column on: a MAC in each row. `opens`: they are the first of the tile, in
    /// the first repetition of these loops.
    fn columns(
        &self,
        program: &mut Builder,
        (row, column): (Field, Field),
        opens: Option<&[Index]>,
    ) {
        let page = self.layout.page();
        let read =
            Template::new(Opcode::MacScore).row(self.first_row() + row.clone()).column(column);
        if self.layout.tile_room(self.tile) <= page {
            let read = read.word(self.words.field());
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
