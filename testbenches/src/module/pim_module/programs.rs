// SPDX-License-Identifier: MIT
//! Programs for a module: attention of small heads, products with small matrices, and nonsense.

use super::arrays::moderate_word;
use crate::random::Random;
use pimlico_dpa::types::{BankSize, Burst, Load, LoadKind, Start};
use pimlico_dpa::{ENTRIES, NO_ROW, assemble};
use pimlico_golden::dispatch::{self, Machine, Request};
use pimlico_golden::sequencer::opcode::WR_SHARED;
use pimlico_ports::U;

/// The request whose T_cur is the first block, in a program of several passes.
const BLOCK_REQUEST: u64 = 15;
/// A place that there is not: what goes there is not kept.
const NOWHERE: u32 = 0x3_FFFF;
/// The head whose number is not in use.
const SPARE_HEAD: u64 = 7;
/// Commands of a program that the host looks at.
const TURNS: u64 = 1 << 16;
/// Reads of a row, if those of nine tREFI are too many.
pub(in crate::module) const SHORT_ROW: u64 = 100;

/// What a program is written for.
#[derive(Clone, Copy, Debug)]
pub(in crate::module) struct Target {
    pub size: BankSize,
    /// Sums are of 32 bits.
    pub wide: bool,
    /// Places of the score buffer.
    pub places: u64,
    /// Chunks until partial sums of outputs can be gone on from, and heads until those of the context can.
    pub settles: [u64; 2],
    /// Reads of one row, at the most: they last nine tREFI, if the host has the patience.
    pub longest_row: u64,
}

/// A program with what the host writes for it.
#[derive(Clone, Debug)]
pub(in crate::module) struct Program {
    pub loads: Vec<Load>,
    pub start: Start,
    /// What it takes from the host.
    pub operands: Vec<Burst>,
}

/// Somebody who writes programs.
pub(in crate::module) struct Author<'a> {
    random: &'a mut Random,
    target: Target,
    text: String,
    /// T_cur of the request that runs, and of the first block.
    tokens: [u64; 2],
    /// Virtual rows in use.
    rows: u64,
}

/// A head's vectors in the banks, and where it is in the score buffer.
struct Head {
    heads: u64,
    /// Bursts of a vector.
    bursts: u64,
    /// Tokens of a row of K, and of one of V.
    k_tokens: u64,
    v_tokens: u64,
    k_row: u64,
    v_row: u64,
    /// Columns of the first chunk, and of the first tokens of V.
    columns: [u64; 2],
    /// The first word of the queries, and of weights.
    words: [u64; 2],
    /// The first place, and how far apart those of two heads are.
    place: u64,
    pitch: u64,
    /// The first place for partial sums.
    sums: u64,
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    (1..=b).map(|n| n * a).find(|multiple| multiple % b == 0).unwrap_or(a * b)
}

#[derive(Clone, Copy, PartialEq)]
enum Keep {
    First,
    No,
    Again,
}

impl<'a> Author<'a> {
    pub fn new(random: &'a mut Random, target: Target) -> Self {
        Self { random, target, text: String::new(), tokens: [0; 2], rows: 0 }
    }

    /// A program; a wild one may be wrong.
    pub fn write(mut self, wild: bool) -> Program {
        let request = self.random.below(BLOCK_REQUEST);
        for _ in 0..1 + self.random.below(2) {
            let outlasts_refreshes = self.target.longest_row > SHORT_ROW;
            match self.random.below(8) {
                _ if outlasts_refreshes && self.random.one_in(4) => self.long_row(),
                0..4 => self.attention(),
                4 | 5 => self.matrix(),
                6 => self.long_row(),
                _ if wild => self.nonsense(),
                _ => self.attention(),
            }
            if self.random.one_in(2) {
                self.line("close_all");
                if self.random.one_in(2) {
                    self.line("loop 10 {\nwr_shared word=3+1@1\n}");
                }
            }
        }
        if wild && self.random.one_in(2) {
            self.fault();
        }
        if self.random.one_in(2) {
            // Nobody waits for its results: the run is over while the bank PUs are at work.
            let column = self.random.below(self.target.size.columns.get());
            self.line(&format!("mac_score column={column} word=1 first last"));
        }
        if !wild || !self.random.one_in(8) {
            self.line("end");
        }
        self.finish(request, wild)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn pick(&mut self, from: &[u64]) -> u64 {
        from[self.random.below(from.len() as u64) as usize]
    }

    /// Virtual rows that nobody uses.
    fn take_rows(&mut self, count: u64) -> u64 {
        let first = self.rows;
        self.rows += count;
        first
    }

    // --------------------------------------------------------------------------------- attention

    fn attention(&mut self) {
        if self.tokens[0] > 0 {
            return self.matrix(); // the request has one T_cur
        }
        let head = self.head();
        let capacity = head.pitch;
        let several = self.random.one_in(3);
        let (k_tokens, v_tokens) = (head.k_tokens, head.v_tokens);
        let rows = least_common_multiple(k_tokens, v_tokens);
        let block = capacity / rows * rows;
        if several && block > 0 && head.heads < SPARE_HEAD {
            self.tokens = [1 + self.random.below(2 * block), block];
            self.several_passes(&head, block);
        } else {
            self.tokens[0] = match self.random.below(8) {
                0 => capacity,
                1 => 1,
                _ => 1 + self.random.below(capacity),
            };
            self.one_pass(&head);
        }
    }

    fn head(&mut self) -> Head {
        let places = self.target.places;
        let heads = self.pick(&[1, 1, 2, 3, 7, 8]).min(places / 16);
        let bursts = self.pick(&[1, 1, 2, 3, 4]);
        let k_tokens = 16 * self.pick(&[1, 1, 2, 4]);
        let v_tokens = match self.random.below(8) {
            // One row, from whose sums nothing goes on.
            _ if heads < self.target.settles[1] => 128,
            0 => 4 * (1 + self.random.below(2)),
            _ => 16 * (1 + self.random.below(3)),
        };
        let most = (places / heads / 16).min(if heads > 3 { 2 } else { 6 });
        let pitch = 16 * (1 + self.random.below(most));
        let room = places - heads * pitch;
        let place = match self.random.below(3) {
            0 => 0,
            1 => room / 4 * 4,
            _ => self.random.below(room / 4 + 1) * 4,
        };
        let columns = self.target.size.columns.get();
        let widest = k_tokens / 16 * bursts;
        let first_column =
            |random: &mut Random, used: u64| random.below(columns.saturating_sub(used) + 1);
        let columns = [first_column(self.random, widest), first_column(self.random, v_tokens / 4)];
        let queries = heads * bursts;
        let (k_row, v_row) = (self.take_rows(20), self.take_rows(300 / v_tokens + 2));
        Head {
            heads,
            bursts,
            k_tokens,
            v_tokens,
            k_row,
            v_row,
            columns,
            words: [self.random.below(256 - queries), self.random.below(248)],
            place,
            pitch,
            sums: self.random.below(256 - 16 * heads + 1),
        }
    }

    fn one_pass(&mut self, head: &Head) {
        self.queries(head);
        let over = format!("all/{}", head.k_tokens);
        self.scores(head, &over, head.k_row, Keep::First, 0);
        self.finishes(head);
        let over = format!("all/{}", head.v_tokens);
        self.context(head, &over, head.v_row, [Some(2), Some(2)], 0);
    }

    fn several_passes(&mut self, head: &Head, block: u64) {
        let Head { k_tokens, v_tokens, k_row, v_row, .. } = *head;
        let (k_rows, v_rows) = (block / k_tokens, block / v_tokens);
        self.queries(head);
        let first = format!("all:{BLOCK_REQUEST}/{k_tokens}");
        self.scores(head, &first, k_row, Keep::First, 0);
        self.scores(head, &format!("all/{k_tokens}"), k_row + k_rows, Keep::No, 0);
        self.finishes(head);
        let first = format!("all:{BLOCK_REQUEST}/{v_tokens}");
        self.context(head, &first, v_row, [Some(2), None], 0);
        self.line(&format!("loop all/{block} {{"));
        self.queries(head);
        self.scores(head, &format!("part/{k_tokens}"), k_row + k_rows, Keep::Again, k_rows);
        let over = format!("part/{v_tokens}");
        self.context(head, &over, v_row + v_rows, [None, Some(3)], v_rows);
        self.line("}");
    }

    fn queries(&mut self, head: &Head) {
        let first = if self.random.one_in(3) { " first" } else { "" };
        let (count, word) = (head.heads * head.bursts, head.words[0]);
        self.line(&format!("loop {count} {{\nwr_shared word={word}+1@1{first}\n}}"));
    }

    /// Scores row by row of K, the first of which is `row`; in a pass so many rows further on.
    fn scores(&mut self, head: &Head, over: &str, row: u64, keep: Keep, pass_rows: u64) {
        let Head { heads, bursts, k_tokens, columns, words, place, pitch, .. } = *head;
        let pass = if pass_rows > 0 { format!("+{pass_rows}@4") } else { String::new() };
        self.line(&format!("loop {over} {{\nloop {heads} {{\nloop part/16 {{"));
        for burst in 0..bursts {
            let mut flags = String::new();
            if burst == 0 {
                flags += " first";
            }
            if burst + 1 == bursts {
                flags += " last";
            }
            if self.random.one_in(4) {
                flags += " opens@1,2,3";
            }
            self.line(&format!(
                "mac_score row={row}+1@3{pass} column={}+{bursts}@1 word={}+{bursts}@2{flags}",
                columns[0] + burst,
                words[0] + burst,
            ));
        }
        for group in 0..4 {
            let kept = place + 4 * group;
            let at = format!("place={kept}+16@1+{pitch}@2+{k_tokens}@3");
            let (of, at, first) = match keep {
                Keep::First => ("0+1@2".to_owned(), at, " first@1,3"),
                Keep::No => ("0+1@2".to_owned(), format!("place={NOWHERE}"), ""),
                Keep::Again => (SPARE_HEAD.to_string(), at, " first"),
            };
            self.line(&format!("rd_result word={group} head={of} {at}{first}"));
        }
        self.line("}\n}\n}");
    }

    fn finishes(&mut self, head: &Head) {
        self.line(&format!("loop {} {{\nfinish head=0+1@1\n}}", head.heads));
    }

    /// Contexts row by row of V. The sums begin in the first repetition of one loop, and end in the last of
    /// one and of all within it.
    fn context(
        &mut self,
        head: &Head,
        over: &str,
        row: u64,
        [begins, ends]: [Option<u64>; 2],
        pass_rows: u64,
    ) {
        let Head { heads, bursts, v_tokens, columns, words, place, pitch, sums, .. } = *head;
        let pass = if pass_rows > 0 { format!("+{pass_rows}@4") } else { String::new() };
        let column = columns[1];
        let word = words[1];
        let steps = self.pick(&[0, 1, 3]);
        let weights =
            if steps > 0 { format!("word={word}~{steps}@1") } else { format!("word={word}") };
        self.line(&format!("loop {over} {{\nloop {heads} {{\nloop part/4 {{"));
        self.line(&format!("weigh head=0+1@2 place={place}+4@1+{pitch}@2+{v_tokens}@3"));
        self.line(&format!("wr_weights {weights}"));
        self.line(&format!(
            "mac_context row={row}+1@3{pass} column={column}+1@1 {weights} first@1 last@1"
        ));
        self.line("}");
        let first = begins.map_or(String::new(), |level| format!(" first@{level}"));
        let last = match ends {
            Some(3) => " last@2,3".to_owned(),
            Some(level) => format!(" last@{level}"),
            None => String::new(),
        };
        for result in 0..4 * bursts {
            let at = format!("head=0+1@1 place={}+16@1", sums + result);
            self.line(&format!("rd_result word={} {at}{first}{last}", 0x80 | result));
            if self.target.wide {
                self.line(&format!("rd_result word={} {at}{first}{last}", 0xC0 | result));
            }
        }
        self.line("}\n}");
    }

    // ------------------------------------------------------------------------------------ matrix

    fn matrix(&mut self) {
        let bursts = 1 + self.random.below(5);
        let parts = self.pick(&[1, 1, 2, 3]);
        let least = if parts > 1 { self.target.settles[0] } else { 1 };
        let tiles = (least + self.random.below(3)).min(self.target.places / 16);
        let columns = self.target.size.columns.get();
        let column = self.random.below(columns.saturating_sub(bursts * tiles) + 1);
        let word = self.random.below(256 - bursts);
        let room = self.target.places - 16 * tiles;
        let place = if self.random.one_in(2) { room } else { self.random.below(room / 4 + 1) * 4 };
        let rows = self.take_rows(parts);
        for part in 0..parts {
            let behind = if part > 0 || self.random.one_in(3) { " first" } else { "" };
            self.line(&format!("loop {bursts} {{\nwr_shared word={word}+1@1{behind}\n}}"));
            self.line(&format!("loop {tiles} {{\nloop {bursts} {{"));
            let row = rows + part;
            self.line(&format!(
                "mac_score row={row} column={column}+1@1+{bursts}@2 word={word}+1@1 first@1 last@1 opens@1,2"
            ));
            self.line("}");
            let first = if part == 0 { " first" } else { "" };
            let last = if part + 1 == parts { " last" } else { "" };
            for group in 0..4 {
                let place = place + 4 * group;
                self.line(&format!(
                    "rd_result word={} place={place}+16@1{first}{last}",
                    0x40 | group
                ));
            }
            self.line("}");
        }
    }

    // ---------------------------------------------------------------------------------- nonsense

    /// Commands that know nothing of each other.
    fn nonsense(&mut self) {
        let row = self.take_rows(2);
        let places = self.target.places;
        for _ in 0..8 + self.random.below(40) {
            let draw = self.random.next();
            let word = (draw >> 8) % 4 + 4 * u64::from(draw & 1 == 0);
            let flag = |bit: u64, name| if draw >> bit & 1 == 1 { name } else { "" };
            let flags = format!("{}{}", flag(20, " first"), flag(21, " last"));
            let head = (draw >> 24) % 3;
            let place = self.random.below(places) >> self.random.below(8);
            let column = self.random.below(8).min(self.target.size.columns.get() - 1);
            let row = row + (draw >> 30) % 2;
            let line = match draw >> 32 & 15 {
                0..3 => format!("mac_score row={row} column={column} word={word}{flags}"),
                3 | 4 => format!("mac_context row={row} column={column} word={word}{flags}"),
                5 | 6 => format!("wr_shared word={word}{}", flag(20, " first")),
                7 => format!("rd_result word={} head={head} place={place}{flags}", draw >> 40 & 3),
                8 => format!(
                    "rd_result word={} place={}{flags}",
                    0x40 | draw >> 40 & 3,
                    place / 4 * 4
                ),
                9 => format!(
                    "rd_result word={} place={} head={head}{flags}",
                    0x80 | draw >> 40 & 15,
                    place % 256
                ),
                10 => format!("finish head={head}"),
                11 | 12 => format!("weigh head={head} place={place}\nwr_weights word={word}"),
                13 => format!("weigh head={head} place={place}"),
                14 => format!("wr_weights word={word}"),
                _ => "close_all".to_owned(),
            };
            self.line(&line);
        }
    }

    /// What no program may have.
    fn fault(&mut self) {
        let column = self.target.size.columns.get();
        let row = self.rows;
        let line = match self.random.below(8) {
            0 if column < 256 => format!("mac_score row=0 column={column}"),
            1 => "rd_result word=128 place=256".to_owned(),
            2 => "weigh place=262143".to_owned(),
            3 => "wr_shared word=1\n".repeat(4),
            4 => format!("mac_score row={}", row + 1000),
            5 => "weigh\n".repeat(17),
            6 => ".word 0xf000000000000000".to_owned(),
            _ => "wr_weights word=9".to_owned(),
        };
        self.line(&line);
    }

    /// A sum that goes on and on in one row, so that none of the REFs that become due finds a gap.
    fn long_row(&mut self) {
        let longest = self.target.longest_row;
        let reads = if self.random.one_in(4) { 1 + self.random.below(longest) } else { longest };
        let row = self.take_rows(1);
        let column = self.random.below(self.target.size.columns.get());
        self.line("wr_shared word=2");
        self.line(&format!("loop {reads} {{"));
        self.line(&format!("mac_score row={row} column={column} word=2 first@1 last@1"));
        self.line("}\nrd_result word=64 first last");
    }

    // ------------------------------------------------------------------------------- the host's

    fn finish(self, request: u64, wild: bool) -> Program {
        let Self { random, target, text, tokens, rows } = self;
        let words = assemble(&text).unwrap_or_else(|error| panic!("{error} of\n{text}"));
        let load = |kind, address: u64, data| Load { kind, address: address as u16, data };
        let mut loads = vec![load(LoadKind::Clear, 0, 0)];
        let address = if random.one_in(3) { random.below(8) } else { 0 };
        loads.extend((address..).zip(&words).map(|(at, word)| load(LoadKind::Command, at, *word)));
        let base = random.below(ENTRIES as u64 - rows.max(1));
        let most = target.size.rows.get().min(u64::from(NO_ROW));
        let mut machine = Machine {
            words: [&vec![0; address as usize][..], &words].concat(),
            table: vec![NO_ROW; ENTRIES],
            requests: vec![Request::default(); 16],
        };
        for row in 0..rows {
            let entry = random.below(most);
            loads.push(load(LoadKind::Entry, base + row, entry));
            machine.table[(base + row) as usize] = entry as u16;
        }
        for (request, tokens) in [(request, tokens[0]), (BLOCK_REQUEST, tokens[1])] {
            loads.push(load(LoadKind::Tokens, request, tokens));
            loads.push(load(LoadKind::Segment, request, rows << 16 | base));
            let of = &mut machine.requests[request as usize];
            of.tokens = tokens as u32;
            of.set_segment(rows << 16 | base);
        }
        let run = dispatch::run(&machine, request as usize, address as usize, TURNS);
        let mut count = run.commands.iter().filter(|command| command.opcode == WR_SHARED).count();
        if wild && random.one_in(8) {
            count = count.saturating_sub(1 + random.below(3) as usize);
        }
        let operands = (0..count).map(|_| std::array::from_fn(|_| moderate_word(random))).collect();
        let start = Start { request: U::new(request), address: U::new(address) };
        Program { loads, start, operands }
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.loads.iter().filter(|load| load.kind == LoadKind::Command);
        let words: Vec<u64> = words.map(|load| load.data).collect();
        f.write_str(&pimlico_dpa::disassemble(&words))
    }
}
