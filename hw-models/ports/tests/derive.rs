// SPDX-License-Identifier: MIT
//! Structs and enums on ports.

use pimlico_ports::stimulus::one_in;
use pimlico_ports::{
    BitReader, BitWriter, Bundle, Enumerated, Shape, Signal, U, pack, ports, unpack,
};

/// An enum with holes between its codes, whose default is not its first item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 4, sv = "pin_command_e", prefix = "Pin")]
enum PinCommand {
    Act = 1,
    #[default]
    None = 0,
    RdAll = 7,
    Ref = 10,
}

/// A struct whose fields are named like what the macro uses itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
struct Score {
    entropy: bool,
    rest: U<3>,
    bits: u16,
}

/// A struct of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
#[signal(sv = "transfer_t")]
struct Transfer {
    command: PinCommand,
    score: Score,
    lanes: [U<5>; 3],
    #[draw(one_in(8))]
    last: bool,
    commands: [PinCommand; 2],
    words: [Score; 2],
    r#type: u64,
}

/// A struct with a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
struct Pair<T: Signal> {
    upper: T,
    lower: T,
}

ports! {
    /// A unit with such ports.
    unit Sample: "sample" {
        inputs SampleIn {
            /// A transfer.
            transfer_i: Transfer,
            /// Commands, mostly none.
            command_i: PinCommand => |entropy: &[u64]| PinCommand::draw(&[entropy[0] / 2]),
        }
        outputs SampleOut {
            /// A score.
            score_o: Score,
        }
        probes SampleProbe {}
    }
}

/// Of a struct whose fields are as `score_t`'s.
const SCORE: Shape = Shape::Struct {
    name: "score_t",
    fields: &[("entropy", Shape::Bits(1)), ("rest", Shape::Bits(3)), ("bits", Shape::Bits(16))],
};

fn score(entropy: bool, rest: u64, bits: u16) -> Score {
    Score { entropy, rest: U::new(rest), bits }
}

#[test]
fn the_first_field_is_the_most_significant() {
    assert_eq!(Score::WIDTH, 20);
    assert_eq!(pack(&score(true, 0, 0)), 0x80000);
    assert_eq!(pack(&score(false, 7, 0)), 0x70000);
    assert_eq!(pack(&score(false, 0, 0xFFFF)), 0x0FFFF);
    assert_eq!(unpack::<Score>(0xA1234), score(true, 2, 0x1234));
    assert_eq!(pack(&Pair { upper: 0x12u8, lower: 0x34 }), 0x1234);
    assert_eq!(pack(&Pair { upper: PinCommand::Ref, lower: PinCommand::RdAll }), 0xA7);
}

#[test]
fn nested_fields_survive_the_trip_through_words() {
    let transfer = Transfer {
        command: PinCommand::RdAll,
        score: score(true, 5, 0xBEEF),
        lanes: [U::new(31), U::new(1), U::new(16)],
        last: true,
        commands: [PinCommand::Act, PinCommand::Ref],
        words: [score(false, 3, 1), score(true, 4, 0x8000)],
        r#type: 0x0123_4567_89AB_CDEF,
    };
    assert_eq!(Transfer::WIDTH, 4 + 20 + 15 + 1 + 8 + 40 + 64);
    let mut words = [0; 5];
    transfer.write(&mut BitWriter::new(&mut words));
    assert_eq!(words[0], 0x89AB_CDEF);
    assert_eq!(words[1], 0x0123_4567);
    // Element 0 of an array is at the bottom, the first field of each element at its top.
    assert_eq!(words[2], 0x0003_0001 | 0x8000 << 20, "words[0] and the low bits of words[1]");
    assert_eq!(Transfer::read(&mut BitReader::new(&words)), transfer);
}

#[test]
fn the_shape_says_names_and_order() {
    assert_eq!(Score::SHAPE, SCORE);
    let items = &[("PinAct", 1), ("PinNone", 0), ("PinRdAll", 7), ("PinRef", 10)];
    let command = Shape::Enum { name: "pin_command_e", width: 4, items };
    assert_eq!(PinCommand::SHAPE, command);
    let Shape::Struct { name, fields } = Transfer::SHAPE else { panic!("not a struct") };
    assert_eq!(name, "transfer_t");
    let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["command", "score", "lanes", "last", "commands", "words", "type"]);
    assert_eq!(fields[2].1, Shape::Array(&Shape::Bits(5), 3));
    assert_eq!(fields[5].1, Shape::Array(&SCORE, 2));
    assert_eq!(Transfer::SHAPE.width(), Transfer::WIDTH);
    assert_eq!(SampleIn::PORTS[0].shape, Transfer::SHAPE);
    assert_eq!(SampleIn::PORTS[0].width, Transfer::WIDTH);
}

#[test]
fn a_shape_visits_all_that_it_is_made_of() {
    let mut names = Vec::new();
    Transfer::SHAPE.for_each(&mut |shape| {
        if let Shape::Struct { name, .. } | Shape::Enum { name, .. } = shape {
            names.push(*name);
        }
    });
    assert_eq!(names, ["transfer_t", "pin_command_e", "score_t", "pin_command_e", "score_t"]);
}

#[test]
fn a_code_of_no_item_reads_as_the_default() {
    for code in 0..16 {
        let expected = match code {
            1 => Some(PinCommand::Act),
            0 => Some(PinCommand::None),
            7 => Some(PinCommand::RdAll),
            10 => Some(PinCommand::Ref),
            _ => None,
        };
        assert_eq!(PinCommand::from_code(code), expected);
        assert_eq!(unpack::<PinCommand>(code), expected.unwrap_or(PinCommand::None));
    }
    assert_eq!(PinCommand::ALL.len(), 4);
    assert_eq!(PinCommand::Ref.code(), 10);
}

#[test]
fn each_field_takes_its_own_entropy() {
    assert_eq!(Transfer::DRAWS, 1 + 3 + 3 + 1 + 2 + 6 + 1);
    assert_eq!(SampleIn::DRAWS, Transfer::DRAWS + 1);
    assert_eq!(SampleIn::draw(&[0; SampleIn::DRAWS]), SampleIn::default());
    let entropy: Vec<u64> = (0..SampleIn::DRAWS as u64).collect();
    let drawn = SampleIn::draw(&entropy);
    assert_eq!(drawn.transfer_i.command, PinCommand::None);
    assert_eq!(drawn.transfer_i.score, score(true, 2, 3));
    assert_eq!(drawn.transfer_i.lanes, [4, 5, 6].map(U::new));
    assert!(drawn.transfer_i.last, "7 is the one of 8");
    assert_eq!(drawn.transfer_i.r#type, 16);
    assert_eq!(drawn.command_i, PinCommand::draw(&[8]));
    // The default first, then the others as declared.
    let commands = [0, 1, 2, 3, 4].map(|word| PinCommand::draw(&[word]));
    use PinCommand::{Act, None, RdAll, Ref};
    assert_eq!(commands, [None, Act, RdAll, Ref, None]);
}

#[test]
fn a_bundle_holds_them_like_any_port() {
    let mut inputs = SampleIn { command_i: PinCommand::Ref, ..Default::default() };
    inputs.transfer_i.words[1] = score(false, 1, 2);
    let mut words = vec![0; SampleIn::WORDS];
    inputs.write(&mut words);
    assert_eq!(words.len(), 6);
    assert_eq!(words[5], 10);
    assert_eq!(SampleIn::read(&words), inputs);
    let outputs = SampleOut { score_o: score(true, 0, 1) };
    let mut words = [0];
    outputs.write(&mut words);
    assert_eq!(words, [0x80001]);
    SampleProbe {}.write(&mut []);
}
