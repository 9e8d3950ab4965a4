// SPDX-License-Identifier: MIT
//! Programs: text and words tell the same, and what they expand to.

use pimlico_dpa::{
    AssembleError, CommandWord, Condition, Dispatch, ExpandError, Expansion, Instruction,
    LoopSource, LoopWord, Modification, ModifyWord, NO_ROW, Opcode, RequestChoice, Status, Tables,
    Target, assemble, assemble_lines, disassemble, expand,
};
use pimlico_ports::{Enumerated, U};
use proptest::prelude::*;

fn words(text: &str) -> Vec<u64> {
    assemble(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn tables(tokens: u32) -> Tables {
    let mut tables = Tables::default();
    tables.requests[3].tokens = tokens;
    tables
}

fn commands(text: &str, tokens: u32) -> Vec<Dispatch> {
    expand(&words(text), &tables(tokens), 3, usize::MAX).expect("no fault")
}

fn fault(text: &str, tokens: u32) -> (Status, usize) {
    let program = words(text);
    let tables = tables(tokens);
    let faults: Vec<ExpandError> =
        Expansion::new(&program, &tables, 3).filter_map(Result::err).collect();
    assert_eq!(faults.len(), 1, "{text}");
    (faults[0].status, faults[0].address)
}

#[test]
fn rows_and_chunks_end_with_the_last_token() {
    let text = "loop all/512 {
          loop part/16 {
            mac_score row=7+1@2 column=1+4@1 first last opens@1,2
            rd_result place=0+16@1+512@2 first@1,2 last@1,2
          }
        }
        end";
    // The paper's example has 300 tokens in rows of 256; here 540 in rows of 512.
    let all = commands(text, 540);
    let macs: Vec<_> = all.iter().filter(|c| c.kind == Opcode::MacScore).collect();
    let results: Vec<_> = all.iter().filter(|c| c.kind == Opcode::RdResult).collect();
    assert_eq!((macs.len(), results.len()), (34, 34));
    for (chunk, (mac, result)) in macs.iter().zip(&results).enumerate() {
        assert_eq!((mac.row, mac.place.get()), (7 + chunk as u16 / 32, 0));
        assert_eq!(usize::from(mac.column), 1 + chunk % 32 * 4);
        assert_eq!((result.row, result.place.get()), (0, 16 * chunk as u64));
        assert_eq!(mac.tokens.get(), if chunk == 33 { 12 } else { 16 });
        assert_eq!((mac.first, mac.last, mac.opens), (true, true, chunk == 0));
        assert_eq!((result.first, result.last), (chunk == 0, chunk == 33));
    }
}

#[test]
fn loops_count_and_nest_four_deep() {
    let text = "loop 2 {
          loop 3 {
            nop
            loop part/5 {
              loop all/4 {
                wr_shared word=0+1@1~100@2+2@3+7@4 head=1 column=3 request=2
              }
            }
          }
        }
        end";
    let all = commands(text, 7);
    assert_eq!(all.len(), 2 * 3 * 2 * 2);
    for (n, command) in all.iter().enumerate() {
        let word = n % 2 + n / 2 % 2 * 100 + n / 4 % 3 * 2 + n / 12 * 7;
        assert_eq!(usize::from(command.word), word % 256);
        assert_eq!(command.tokens.get(), [4, 3][n % 2], "the innermost goes over all");
        assert_eq!((command.request.get(), command.head.get(), command.column), (2, 1, 3));
    }
}

#[test]
fn a_virtual_row_is_looked_up() {
    let program = words("loop all/16 {\n mac_context row=0+1@1\n mac_score request=5\n}\nend");
    let mut tables = tables(40);
    tables.va2pa = Some(vec![9, 33, 90, NO_ROW, 4]);
    (tables.requests[3].base, tables.requests[3].rows) = (1, 3);
    (tables.requests[5].base, tables.requests[5].rows) = (4, 1);
    let rows = |tables: &Tables| -> Vec<_> {
        Expansion::new(&program, tables, 3).map(|step| step.map(|c| c.row)).collect()
    };
    let miss = Err(ExpandError { status: Status::Va2PaMiss, address: 2 });
    assert_eq!(rows(&tables), [Ok(33), Ok(4), Ok(90), Ok(4), miss], "no row in the table");
    tables.requests[3].rows = 1;
    assert_eq!(rows(&tables), [Ok(33), Ok(4), miss], "beyond the segment");
    tables.requests[3] = pimlico_dpa::Request { base: 49151, rows: 9, ..tables.requests[3] };
    tables.va2pa = Some(vec![1; 49152]);
    assert_eq!(rows(&tables), [Ok(1), Ok(1), miss], "beyond the table");
}

#[test]
fn faults_are_told_with_their_word() {
    for (text, tokens, expected) in [
        ("nop", 1, (Status::PastEnd, 1)),
        ("", 1, (Status::PastEnd, 0)),
        ("nop\n.word 0", 1, (Status::UnknownOpcode, 1)),
        (".word 0x9000000000000001", 1, (Status::UnknownOpcode, 0)),
        (".word 0x1010000000000000", 1, (Status::UnknownOpcode, 0)),
        (".word 0x1080000000000000", 1, (Status::UnknownOpcode, 0)),
        (".word 0xc800000000100001\nnop", 1, (Status::UnknownOpcode, 0)),
        (".word 0xc060000000100001\nnop", 1, (Status::UnknownTarget, 0)),
        (".word 0xd000000000007000\nfinish", 1, (Status::UnknownTarget, 0)),
        (".word 0xd000000000001001\nfinish", 1, (Status::UnknownTarget, 0)),
        (".word 0xd000000000000000\nend", 1, (Status::UnknownTarget, 0)),
        (".word 0xd000000000000000", 1, (Status::UnknownTarget, 0)),
        ("loop 2 {\n.word 0xd000000000000000\n}\nfinish", 1, (Status::UnknownTarget, 1)),
        (".word 0xd000000000000000\n.word 0x1010000000000000", 1, (Status::UnknownOpcode, 1)),
        (".word 0xc000000000100000\nnop", 1, (Status::LoopBound, 0)),
        (".word 0xc000000000000001\nnop", 1, (Status::LoopBound, 0)),
        ("loop all/5 {\nnop\n}", 0, (Status::LoopBound, 0)),
        ("loop all:4/5 {\nnop\n}", 1, (Status::LoopBound, 0)),
        ("loop all/1 {\nnop\n}", 65537, (Status::LoopBound, 0)),
        (".word 0xc000000000110001\nnop", 1, (Status::LoopBound, 0)),
        (".word 0xc000000000200001\nnop", 1, (Status::LoopEnd, 0)),
        ("loop 2 {\n.word 0xc000000000200001\nnop\n}\nnop\nend", 1, (Status::LoopEnd, 1)),
        ("loop 300 {\nfinish column=0+1@1\n}\nend", 1, (Status::FieldOverflow, 2)),
        ("loop 300 {\nfinish word=0+1@1\n}\nend", 1, (Status::FieldOverflow, 2)),
        ("loop 9 {\nfinish head=0+1@1\n}\nend", 1, (Status::FieldOverflow, 2)),
        ("loop 2 {\nmac_score row=65535+1@1\n}\nend", 1, (Status::FieldOverflow, 2)),
        ("mac_score row=65536\nend", 1, (Status::FieldOverflow, 0)),
        ("loop 6 {\nweigh place=0+1023x64@1\n}\nend", 1, (Status::FieldOverflow, 2)),
    ] {
        assert_eq!(fault(text, tokens), expected, "{text}");
    }
    assert_eq!(commands("loop 5 {\nweigh place=0+1023x64@1\n}\nend", 1).len(), 5, "one less");
    let deep = "loop 1 {\n".repeat(4) + ".word 0xc000000000100001\nnop\n" + &"}\n".repeat(4);
    assert_eq!(fault(&deep, 1), (Status::TooDeep, 4));
    let long = vec![Instruction::End.encode(); pimlico_dpa::COMMANDS + 1];
    let status = expand(&long, &tables(1), 3, 1).expect_err("too long").status;
    assert_eq!(status, Status::BufferOverflow);
    let status = expand(&long[1..], &tables(1), 16, 1).expect_err("no such request").status;
    assert_eq!(status, Status::UnknownRequest);
}

#[test]
fn text_is_refused_with_line_and_column() {
    for (text, line, column, problem) in [
        ("nop\n  mac row=1", 2, 3, "expected a command (mac_score,"),
        ("loop {", 1, 6, "expected a number, `all/..`"),
        ("loop 0 {", 1, 6, "at least 1"),
        ("loop 65537 {", 1, 6, "at most 65536"),
        ("loop all 5 {", 1, 9, "expected `/`"),
        ("loop all:16/5 {", 1, 10, "at most 15"),
        ("loop 5", 1, 7, "expected `{`"),
        ("nop\nloop 5 { # open\nnop", 2, 1, "not closed"),
        ("loop 5 {\n}", 2, 1, "no words"),
        ("  }", 1, 3, "no loop is open"),
        ("end end", 1, 5, "expected `layer`, or the end of the line"),
        ("mac_score place=1", 1, 11, "expected head, row, column"),
        ("rd_result row=1", 1, 11, "expected head, place, column"),
        ("mac_score row=1 row=2", 1, 17, "row is given twice"),
        ("mac_score row=", 1, 15, "expected a number"),
        ("mac_score row=1+1@1", 1, 19, "no loop is around it"),
        ("loop 2 {\nmac_score row=1+1@2\n}", 2, 19, "from 1, the innermost, to 1"),
        ("loop 2 {\nmac_score row=1+1\n}", 2, 18, "expected `@`"),
        ("loop 2 {\nmac_score row=1+1024@1\n}", 2, 17, "at most 1023"),
        ("loop 2 {\nmac_score row=1+1x63@1\n}", 2, 19, "expected 64"),
        ("loop 2 {\nmac_score row=1+1@1+1@1+1@1+1@1+1@1\n}", 2, 32, "at most 4 modifications"),
        ("mac_score first@0", 1, 17, "expected a loop from 1"),
        ("mac_score column=256", 1, 18, "at most 255"),
        ("mac_score row=1,", 1, 16, "expected a space"),
        ("\u{e9}\u{e9} nop", 1, 1, "expected a command"),
        ("nop \u{e9}\u{e9} x", 1, 5, "expected the end of the line"),
        (".word 0x10000000000000000", 1, 7, "expected a number of at most"),
    ] {
        let AssembleError { line: l, column: c, problem: p } =
            assemble(text).expect_err("it is wrong");
        assert_eq!((l, c), (line, column), "{text}: {p}");
        assert!(p.contains(problem), "{text}: {p}");
    }
    let deep = "loop 1 {\n".repeat(5);
    assert_eq!(assemble(&deep).expect_err("too deep").line, 5);
    let long = "nop\n".repeat(pimlico_dpa::COMMANDS);
    assert!(assemble(&long).is_ok());
    assert_eq!(assemble(&(long + "nop")).expect_err("too long").line, 12289);
}

#[test]
fn loops_without_commands_take_no_time() {
    let nops = "loop 65536 {\n".repeat(4) + "nop\n" + &"}\n".repeat(4);
    assert_eq!(commands(&(nops.clone() + "end"), 1), []);
    assert_eq!(
        commands(&format!("loop 2 {{\nfinish\n{}}}\nend", "loop 9 {\nnop\n}\n"), 1).len(),
        2
    );
}

#[test]
fn words_know_their_lines() {
    let text = "nop\n\nloop 2 { # twice\n finish head=0+1@1\n}\nend";
    assert_eq!(assemble_lines(text).expect("right").lines, [1, 3, 4, 4, 6]);
}

fn condition() -> impl Strategy<Value = Condition> {
    (any::<bool>(), 0..16u64)
        .prop_map(|(enabled, loops)| Condition { enabled, loops: U::new(loops) })
}

fn request() -> impl Strategy<Value = RequestChoice> {
    prop_oneof![Just(RequestChoice::RUNNING), (0..16u8).prop_map(RequestChoice::fixed)]
}

fn command() -> impl Strategy<Value = Instruction> {
    let fields = (any::<u64>(), any::<u64>(), any::<u8>(), any::<u8>());
    ((0..8usize, request()), (condition(), condition(), condition()), fields).prop_map(
        |((opcode, request), (first, last, opens), (head, place, column, word))| {
            Instruction::Command(CommandWord {
                opcode: Opcode::COMMANDS[opcode],
                request,
                zero: U::new(0),
                first,
                last,
                opens,
                head: U::new(head),
                place: U::new(place),
                column,
                word,
            })
        },
    )
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let slot =
        (0..Target::ALL.len(), 0..4u8, 0..1024u16).prop_map(|(target, level, coefficient)| {
            Modification::new(Target::ALL[target], level, coefficient)
        });
    let source = prop_oneof![
        Just((LoopSource::Count, RequestChoice::RUNNING)),
        Just((LoopSource::Part, RequestChoice::RUNNING)),
        request().prop_map(|request| (LoopSource::All, request)),
    ];
    prop_oneof![
        4 => command(),
        3 => prop::array::uniform4(slot)
            .prop_map(|slots| Instruction::Modify(ModifyWord::new(slots))),
        2 => (source, 0..8u64, any::<u32>()).prop_map(|((source, request), words, bound)| {
            let words = U::new(words);
            Instruction::Loop(LoopWord { request, words, ..LoopWord::new(source, bound) })
        }),
        1 => Just(Instruction::Nop),
        1 => prop::sample::select(vec![Instruction::End, Instruction::EndLayer]),
    ]
}

/// Any word, but often one that is almost right.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => instruction().prop_map(|instruction| instruction.encode()),
        1 => (instruction(), 0..64u32).prop_map(|(i, bit)| i.encode() ^ 1 << bit),
        1 => any::<u64>(),
    ]
}

/// Text that nests right.
fn block(depth: u32) -> BoxedStrategy<String> {
    let line = prop_oneof![
        Just("nop\n".to_owned()),
        ("(first|last|opens)", 1..5u32).prop_map(|(flag, l)| format!("finish head=3 {flag}@{l}\n")),
        ("(row|column|word|head)", 0..8u32, 0..1024u32)
            .prop_map(|(field, base, by)| format!("mac_context {field}={base}+{by}@1\n")),
    ];
    if depth == 4 {
        return prop::collection::vec(line, 1..4).prop_map(|lines| lines.concat()).boxed();
    }
    let bound = "([1-9][0-9]{0,3}|all/[1-9][0-9]{0,4}|part/16|all:7/9)";
    let nested = (bound, block(depth + 1)).prop_map(|(b, body)| format!("loop {b} {{\n{body}}}\n"));
    prop::collection::vec(prop_oneof![line, nested], 1..4).prop_map(|lines| lines.concat()).boxed()
}

proptest! {
    #[test]
    fn an_instruction_survives_its_word(instruction in instruction()) {
        prop_assert_eq!(Instruction::decode(instruction.encode()), Ok(instruction));
    }

    #[test]
    fn any_words_survive_their_text(words in prop::collection::vec(word(), 0..40)) {
        let text = disassemble(&words);
        prop_assert_eq!(assemble(&text), Ok(words), "{}", text);
    }

    #[test]
    fn right_programs_have_no_numbers(body in block(1)) {
        let text = format!("loop 3 {{\n{body}}}\nend\n");
        let words = assemble(&text).expect("it is right");
        let again = disassemble(&words);
        prop_assert!(!again.contains(".word"), "{}", again);
        prop_assert_eq!(assemble(&again), Ok(words));
    }

    #[test]
    fn any_text_is_assembled_or_refused(text in "(?s).{0,200}") {
        let _ = assemble(&text);
    }

    #[test]
    fn text_of_the_right_words_is_assembled_or_refused(
        text in "((loop|mac_score|end|\\{|\\}|row=|word=|[0-9x@+~,:/]{1,4}|all|part|first|\n|#| ){1,2}){0,40}"
    ) {
        let _ = assemble(&text);
    }

    #[test]
    fn any_words_expand_or_fault(words in prop::collection::vec(word(), 0..40), tokens in 0..99u32) {
        let _ = expand(&words, &tables(tokens), 3, 1000);
    }
}
