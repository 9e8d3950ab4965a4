// SPDX-License-Identifier: MIT
//! What a run puts on the chips' pins, read back by golden's table of codes: the commands that are counted, and
//! nothing else.

use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::{HeadLayout, Place};
use pimlico_device::spd::{Description, SpdTiming};
use pimlico_device::{
    BusDriver, Config, Device, DeviceError, Dimm, Options, PinWatch, Rank, Statistics,
};
use pimlico_dpa::types::{DramPins, PinCommand, Pins};
use pimlico_golden::pin_codes::{Code, table};
use pimlico_host::attached::Attached;
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_host::memory_controller::{MemoryController, Transaction};
use pimlico_model::data::Operands;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::{Enumerated, U, pack, unpack};
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::l3;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What was on the pins, as levels.
#[derive(Clone, Default)]
struct Levels(Rc<RefCell<Vec<u32>>>);

impl PinWatch for Levels {
    fn command(&mut self, _: u64, pins: Pins) {
        self.0.borrow_mut().push(pack(&pins.encode()) as u32);
    }

    fn data(&mut self, _: u64, _: u64, _: BusDriver) {}
}

/// Commands by name.
type Counts = BTreeMap<&'static str, u64>;

/// Commands that the pins showed, and those that the statistics count.
fn commands(faw_banks: u64, run: impl Fn(&mut Attached<Rank>) -> Statistics) -> (Counts, Counts) {
    let mut config = Config::ddr4_3200();
    config.timing.faw_banks = faw_banks;
    let mut rank = Attached::engine(&config, Options::default()).expect("an L3 rank");
    let levels = Levels::default();
    Device::watch(&mut rank, Box::new(levels.clone()));
    let statistics = run(&mut rank);
    let mut shown = Counts::new();
    for &pins in levels.0.borrow().iter() {
        *shown.entry(table().decode(pins).expect("a code").command).or_insert(0) += 1;
    }
    let counted = PinCommand::COMMANDS.map(|it| (it.name(), statistics.commands[it as usize]));
    (shown, counted.into_iter().filter(|(_, count)| *count > 0).collect())
}

#[test]
fn pins_decode_into_the_commands_that_are_counted() {
    let shape =
        HeadShape { head_dim: 128, context: 700, group: 2, distribution: Distribution::Random };
    let heads = |rank: &mut Attached<Rank>| {
        let head = Head::synthetic(shape, 1, 0);
        let layout = HeadLayout::new(rank.config(), 128, 700, 0).expect("it fits");
        let mut host = HostPort::new().expect("an image");
        let (_, load) = host.transfer(rank, kv_cache::writes(&layout, &head)).expect("places");
        let run = l3::attention::run_head(rank, &layout, &head.queries).expect("it runs");
        load.and(run.statistics)
    };
    let matrix = |rank: &mut Attached<Rank>| {
        let operands = Operands::synthetic(300, 1500, 1);
        let layout = MatrixLayout::new(rank.config(), 300, 1500).expect("it fits");
        let mut host = HostPort::new().expect("an image");
        let load = l3::gemv::load(rank, &mut host, &layout, &operands.matrix).expect("places");
        let Operands { vector, .. } = &operands;
        let run =
            l3::gemv::multiply(&mut Driver::new(), rank, &layout, vector, IoBuffers::PingPong);
        load.and(run.expect("it runs").1)
    };
    for faw_banks in [16, 8, 4] {
        let (shown, counted) = commands(faw_banks, heads);
        assert_eq!(shown, counted, "{faw_banks}");
        // The heads read other words: they are set as often as the heads change, not for each read.
        assert!((1..20).contains(&shown["SET_WORD"]), "{shown:?}");
        let (shown, counted) = commands(faw_banks, matrix);
        assert_eq!(shown, counted, "{faw_banks}");
    }
}

/// From the reset on: the mode registers with tMRD and tMOD, the key before any command that wants it.
#[test]
fn a_host_unlocks_the_chips_before_it_uses_them() {
    let mut rank = Rank::new(Config::ddr4_3200(), Options::default());
    let pins = PinLog::of_reset(&mut rank);
    let mut rank = Attached::new(rank);
    let shape =
        HeadShape { head_dim: 64, context: 40, group: 1, distribution: Distribution::Random };
    let head = Head::synthetic(shape, 1, 0);
    let layout = HeadLayout::new(rank.config(), 64, 40, 0).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    host.transfer(&mut rank, kv_cache::writes(&layout, &head)).expect("places");
    l3::attention::run_head(&mut rank, &layout, &head.queries).expect("it runs");
    let (count, first) = pins.violations(rank.tck());
    assert_eq!(count, 0, "{}", first[0]);
}

#[test]
fn a_program_does_not_start_on_locked_chips() {
    let config = Config::ddr4_3200();
    let module = Description::of(&config).module;
    let mut controller = MemoryController::new(&module, SpdTiming::of_host(&config));
    let mut rank = Rank::new(config, Options::default());
    let mailbox = Place { bank: 0, row: 65535, column: 0 };
    let start = Transaction::Write(mailbox, [2, 0, 0, 0, 0, 0, 0, 0]);
    controller.push(start).expect("a window");
    controller.leave_pins();
    let error = (0..1000).find_map(|tck| {
        let pins = controller.command(tck).unwrap_or_default();
        let driven = [2 * tck, 2 * tck + 1].map(|clock| controller.drive(clock));
        rank.step(pins, driven, &mut |_| {}).err()
    });
    assert!(matches!(error, Some(DeviceError::Locked)), "{error:?}");
}

/// Every command, with every bank, row and column that has a bit: encoded, it is the table's code, and
/// decoded it is itself.
#[test]
fn codes_are_the_tables_both_ways() {
    for &command in PinCommand::ALL {
        for bit in 0..28 {
            let bits = 1_u64 << bit;
            let used = Pins {
                command,
                bank: U::new(bits & 15),
                row: (bits >> 4) as u16,
                column: (bits >> 20) as u8,
            };
            let levels = pack(&used.encode()) as u32;
            let code = table().decode(levels).expect("a code");
            assert_eq!(code.command, command.name());
            // What a command has no use for is not on the pins.
            let decoded = used.encode().decode();
            let Pins { bank, row, column, .. } = decoded;
            assert_eq!(decoded.command, command);
            let of_table = (code.bank, code.row, code.column);
            assert_eq!((bank.get() as u32, row.into(), column.into()), of_table, "{used:?}");
            assert_eq!(decoded.encode(), used.encode());
        }
    }
}

/// Whatever the levels are, model and table agree on the command, or that there is none.
#[test]
fn levels_mean_what_the_table_says() {
    let mut found = 0;
    for n in 0..1_u64 << 20 {
        // Most bits of an address are 0, so that there are commands among them.
        let spread = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 41;
        let pins = if n % 2 == 0 { spread } else { spread & 0x7C_3FFF | n >> 5 & 0x3_C000 };
        let pins = if n % 4 < 2 { pins & !0x1FFF } else { pins };
        let decoded = unpack::<DramPins>(pins).decode();
        let code = table().decode(pins as u32).filter(|code| code.command != "NONE");
        let of_model = decoded.is_some().then(|| Code {
            command: decoded.command.name(),
            bank: decoded.bank.get() as u32,
            row: decoded.row.into(),
            column: decoded.column.into(),
        });
        assert_eq!(of_model, code, "{pins:023b}");
        found += u32::from(code.is_some());
    }
    assert!(found > 10_000, "{found}");
}
