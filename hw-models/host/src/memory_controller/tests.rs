// SPDX-License-Identifier: MIT
//! When the controller's commands come.

use super::*;
use pimlico_device::spd::{Description, Values};

fn image(values: Values) -> Vec<u8> {
    Description::ddr4_3200().image(values).expect("it has room").as_bytes().to_vec()
}

/// The commands for these transactions, and when they come.
fn commands(image: &[u8], transactions: &[Transaction]) -> Vec<(u64, Pins)> {
    let mut controller = MemoryController::from_spd(image).expect("its own image");
    for &transaction in transactions {
        controller.push(transaction).expect("a place");
    }
    (0..1000).filter_map(|tck| controller.command(tck).map(|command| (tck, command))).collect()
}

const fn place(bank: usize, row: usize, column: usize) -> Place {
    Place { bank, row, column }
}

#[test]
fn each_command_comes_at_the_earliest_tck() {
    let transactions = [
        Transaction::Write(place(0, 1, 2), [0; 8]),
        Transaction::Read(place(0, 1, 2)),
        Transaction::Write(place(4, 1, 3), [0; 8]),
        Transaction::Write(place(0, 9, 0), [0; 8]),
    ];
    let expected = |write: u64, precharge: u64| {
        let mut commands = [
            (0, Pins::act(0, 1)),
            (4, Pins::act(4, 1)),
            (22, Pins::wr(0, 2)),
            (22 + 32, Pins::rd(0, 2)), // tWTR_L
            (write, Pins::wr(4, 3)),
            (precharge, Pins::pre(0)),
            (precharge + 22, Pins::act(0, 9)),
            (precharge + 44, Pins::wr(0, 0)),
        ];
        commands.sort_by_key(|&(tck, _)| tck);
        commands
    };
    // From RD to WR it is 12 and spoofed 14 tCK. From WR to PRE it is 44, with either image; with
    // the honest one the WR has the command bus then.
    assert_eq!(commands(&image(Values::Honest), &transactions), expected(54 + 12, 22 + 44 + 1));
    assert_eq!(commands(&image(Values::Spoofed), &transactions), expected(54 + 14, 22 + 44));
}

/// When rows are opened for reads of these banks and rows.
fn acts(image: &[u8], reads: &[(usize, usize)]) -> Vec<u64> {
    let read = |&(bank, row)| Transaction::Read(place(bank, row, 0));
    let commands = commands(image, &reads.iter().map(read).collect::<Vec<_>>());
    let acts = commands.iter().filter(|(_, pins)| pins.command == PinCommand::Act);
    acts.map(|&(tck, _)| tck).collect()
}

#[test]
fn rows_are_opened_at_the_earliest_tck() {
    let honest = image(Values::Honest);
    // tRRD_S between groups, tRRD_L in a group.
    assert_eq!(acts(&honest, &[(0, 0), (1, 0), (4, 0)]), [0, 4, 8]);
    assert_eq!(acts(&honest, &[(0, 0), (1, 0)]), [0, 8]);
    // Another row of the bank: tRAS and tRP.
    assert_eq!(acts(&honest, &[(0, 0), (0, 1)]), [0, 74]);
    // tFAW and tRC where they are longer than what else there is.
    let mut slow = Description::ddr4_3200();
    (slow.timing.faw_tck, slow.timing.rc_tck) = (40, 90);
    let slow = slow.image(Values::Honest).expect("it has room");
    let slow = slow.as_bytes();
    assert_eq!(acts(slow, &[(0, 0), (4, 0), (8, 0), (12, 0), (1, 0)]), [0, 4, 8, 12, 40]);
    assert_eq!(acts(slow, &[(0, 0), (0, 1)]), [0, 90]);
}

#[test]
fn what_the_standard_does_not_know_is_not_looked_at() {
    let spoofed = image(Values::Spoofed);
    let controller = MemoryController::from_spd(&spoofed).expect("its own image");
    let Advertised { timing, .. } = Spd::parse(&spoofed).expect("its own image");
    assert_eq!(controller.timing, timing);
    assert_eq!((controller.timing.cl_tck, controller.timing.wl_tck), (23, 15));
    assert_eq!((controller.refi_tck, controller.size), (12480, place(16, 65536, 128)));
}

#[test]
fn what_there_is_not_is_refused() {
    let mut controller = MemoryController::from_spd(&image(Values::Honest)).expect("an image");
    for wanted in [place(16, 0, 0), place(0, 65536, 0), place(0, 0, 128)] {
        let error = controller.push(Transaction::Read(wanted)).expect_err("no such place");
        assert!(error.to_string().ends_with("expected less than 16 65536 128"), "{error}");
    }
    assert!(MemoryController::from_spd(&[0; 512]).is_err());
}

/// A controller that is asked when its next command comes misses none of them, whatever comes between.
#[test]
fn no_command_comes_before_the_next_tck() {
    let image = image(Values::Spoofed);
    let transactions: Vec<_> = (0..3000_usize)
        .map(|n| match n % 700 {
            // Rows that follow each other in a bank, and reads behind writes.
            0..500 => Transaction::Write(place(n % 16, n / 640, n / 16 % 128), [n as u64; 8]),
            500..600 => Transaction::Read(place(n % 3, n % 5, 0)),
            _ => Transaction::Read(place(n % 16, 9, n % 128)),
        })
        .collect();
    let new = || {
        let mut controller = MemoryController::from_spd(&image).expect("its own image");
        transactions.iter().for_each(|&it| controller.push(it).expect("a place"));
        controller.leave_pins();
        controller.refreshing(1000)
    };
    let (mut each, mut expected, mut tck) = (new(), Vec::new(), 0);
    while !each.has_left_pins(tck) {
        expected.extend(each.command(tck).map(|command| (tck, command)));
        (2 * tck..2 * tck + 2).for_each(|clock| {
            each.drive(clock);
            each.take(clock, None);
        });
        tck += 1;
    }
    let (mut jumps, mut commands, mut at, mut asked) = (new(), Vec::new(), 0, 0);
    while !jumps.has_left_pins(at) {
        asked += 1;
        let Some(command) = jumps.command(at) else {
            at = jumps.next_tck(at);
            continue;
        };
        commands.push((at, command));
        match command.command {
            PinCommand::Wr => assert!(jumps.take_written().is_some()),
            PinCommand::Rd => jumps.give_read([0; 8]),
            _ => {}
        }
        at += 1;
    }
    assert_eq!(commands, expected);
    assert_eq!(at, tck);
    assert!(expected.iter().any(|(_, command)| command.command == PinCommand::Ref));
    assert!(asked < 3 * commands.len(), "{asked} for {} commands", commands.len());
}

/// It is fresh behind a REF, and behind nothing else.
#[test]
fn it_is_fresh_behind_a_ref() {
    let mut controller = MemoryController::from_spd(&image(Values::Honest)).expect("its own image");
    let mut refs = 0;
    for tck in 0..100_000 {
        if controller.waiting() == 0 {
            let [bank, row] = [tck % 16, tck / 16 % 9].map(|n| n as usize);
            controller.push(Transaction::Write(place(bank, row, 0), [0; 8])).expect("a place");
        }
        let command = controller.command(tck);
        let is_ref = command == Some(Pins::REF);
        refs += u64::from(is_ref);
        controller.take_written();
        assert!(!is_ref || controller.is_fresh(tck), "{tck}");
        assert!(is_ref || !controller.is_fresh(tck), "{tck}");
    }
    assert!(refs >= 7, "{refs}");
    let until = controller.until_refresh(100_000).expect("it is not due");
    assert!(until <= controller.refi_tck, "{until} of {}, {refs}", controller.refi_tck);
}
