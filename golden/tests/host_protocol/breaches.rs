// SPDX-License-Identifier: MIT
//! Conversations in which host or module breaks one rule, once.

use super::talk::*;
use pimlico_golden::pins::Pin;

/// The rule's name, and the conversation.
pub type Case = (&'static str, fn(&mut Talk));

/// The conversations that break a rule, each once, by the rule's name.
pub fn breaches() -> Vec<Case> {
    let mut all = of_the_host();
    all.extend(of_the_bus());
    all.extend(of_the_status());
    all.extend(of_the_chips());
    all
}

fn of_the_host() -> Vec<Case> {
    vec![
        ("NotDdr4", |t| {
            t.through = false;
            t.give(Pin::SetWord { word: 1 });
            t.chips(Pin::SetWord { word: 1 });
        }),
        ("HostRefInRun", |t| {
            t.run(0);
            t.give(Pin::Ref);
        }),
        // Also where the status has said `ended`, until the PREA.
        ("HostRefInRun", |t| {
            t.ended();
            t.give(Pin::Ref);
        }),
        ("RowInRun", |t| {
            t.run(0);
            t.give(ROW);
        }),
        ("RowInRun", |t| {
            t.run(0);
            t.open(STATUS);
            t.give(Pin::Rd { bank: STATUS + 4, column: 0 });
        }),
        // The PREA has closed the window; so has a PRE.
        ("RowInRun", |t| {
            t.run(0);
            t.give(Pin::Wr { bank: MAILBOX, column: 0 });
        }),
        ("RowInRun", |t| {
            t.run(0);
            t.open(STATUS);
            t.give(Pin::Pre { bank: STATUS });
            t.give(Pin::Rd { bank: STATUS, column: 0 });
        }),
        ("TakenTooEarly", |t| {
            t.run(0);
            t.poll();
            t.give(Pin::PreAll);
            t.give(ROW);
        }),
        ("TakenTooEarly", |t| {
            t.ended();
            // A START behind the `ended`: it waits, or its run has ended, too.
            t.write(MAILBOX, start(0));
            t.give(Pin::PreAll);
            t.give(Pin::Ref);
        }),
        ("QueueOverrun", |t| {
            for _ in 0..129 {
                t.write(MAILBOX, LOAD);
            }
        }),
        ("OperandsMissing", |t| {
            t.run(2);
            t.send(OPERANDS, [1; 8]);
            t.send(MAILBOX, start(0));
        }),
        ("OperandsMissing", |t| {
            t.run(2);
            t.send(OPERANDS, [1; 8]);
            t.end();
            t.take();
        }),
        ("OperandUnannounced", |t| t.send(OPERANDS, [1; 8])),
        ("OperandUnannounced", |t| {
            t.run(1);
            t.send(OPERANDS, [1; 8]);
            t.send(OPERANDS, [1; 8]);
        }),
        ("UnknownMessage", |t| t.send(MAILBOX, [3, 0, 0, 0, 0, 0, 0, 0])),
        ("UnknownMessage", |t| t.send(MAILBOX, [1 | 1 << 8 | 1 << 7, 0, 0, 0, 0, 0, 0, 0])),
        ("UnknownMessage", |t| t.send(MAILBOX, [1, 0, 0, 0, 0, 0, 0, 0])),
        ("UnknownMessage", |t| t.send(MAILBOX, [1 | 6 << 4 | 1 << 8, 0, 0, 0, 0, 0, 0, 0])),
        ("UnknownMessage", |t| t.send(MAILBOX, [2 | 1 << 46, 0, 0, 0, 0, 0, 0, 0])),
        ("ResultTooEarly", |t| t.read(RESULTS, 0, ZERO)),
        ("ResultTooEarly", |t| {
            t.run(0);
            t.status.outputs = 3;
            t.poll();
            t.read(RESULTS + 8, 1, ZERO);
            t.read(RESULTS + 12, 1, ZERO);
        }),
        ("ResultOverwritten", |t| {
            t.run(0);
            t.status.contexts = 2;
            t.poll();
            t.read(RESULTS, 0, [1; 8]);
            t.status.contexts = 66;
            t.poll();
        }),
        // Asked for after the status that counts the burst behind it.
        ("ResultOverwritten", |t| {
            t.run(0);
            t.status.contexts = 1;
            t.poll();
            t.open(RESULTS);
            t.give(Pin::Rd { bank: STATUS, column: 0 });
            let rd = t.now;
            t.now -= 18;
            t.give(Pin::Rd { bank: RESULTS, column: 0 });
            t.status.contexts = 65;
            t.found.extend(t.checker.read_data(rd + 23, t.status.words()));
        }),
        ("NotPolled", |t| {
            t.run(0);
            t.now += 5000;
            t.poll();
        }),
        ("NeverTaken", |t| {
            t.ended();
            t.found.extend(t.checker.finish(t.now));
        }),
    ]
}

fn of_the_bus() -> Vec<Case> {
    vec![
        ("ResultChanged", |t| {
            t.run(0);
            t.status.contexts = 1;
            t.poll();
            t.read(RESULTS, 0, [1; 8]);
            t.read(RESULTS, 0, [2; 8]);
        }),
        // None at all, and a tCK late.
        ("DataMissing", |t| {
            t.open(MAILBOX);
            t.give(Pin::Wr { bank: MAILBOX, column: 0 });
            t.give(Pin::PreAll);
        }),
        ("DataMissing", |t| {
            t.open(STATUS);
            t.give(Pin::Rd { bank: STATUS, column: 0 });
            t.found.extend(t.checker.finish(t.now + 24));
        }),
        ("DataMissing", |t| {
            t.open(STATUS);
            t.give(Pin::Rd { bank: STATUS, column: 0 });
            t.found.extend(t.checker.read_data(t.now + 24, ZERO));
        }),
        ("DataMissing", |t| {
            t.open(MAILBOX);
            t.give(Pin::Wr { bank: MAILBOX, column: 0 });
            t.found.extend(t.checker.write_data(t.now + 16, LOAD));
        }),
        ("DataUnasked", |t| t.found.extend(t.checker.read_data(100, ZERO))),
        ("DataUnasked", |t| t.found.extend(t.checker.write_data(100, ZERO))),
        ("NotZero", |t| t.read(MAILBOX, 0, [0, 0, 0, 0, 0, 0, 0, 1])),
        ("NotZero", |t| t.read(OPERANDS, 0, [1, 0, 0, 0, 0, 0, 0, 0])),
    ]
}

fn of_the_status() -> Vec<Case> {
    vec![
        ("StatusFlawed", |t| t.read(STATUS, 0, [1 << 7, 0, 0, 0, 0, 0, 0, 0])),
        ("StatusFlawed", |t| t.read(STATUS, 0, [0, 0, 0, 1, 0, 0, 0, 0])),
        ("StatusFlawed", |t| t.read(STATUS, 0, [3, 0, 0, 0, 0, 0, 0, 0])),
        ("StatusFlawed", |t| t.read(STATUS, 0, [8, 0, 0, 0, 0, 0, 0, 0])),
        ("StatusWentBack", |t| {
            t.send(MAILBOX, LOAD);
            t.poll();
            t.status.taken = 0;
            t.poll();
        }),
        ("StatusWentBack", |t| {
            t.run(0);
            t.status.outputs = 9;
            t.poll();
            t.status.outputs = 8;
            t.poll();
        }),
        ("FlagCleared", |t| {
            t.send(MAILBOX, [3, 0, 0, 0, 0, 0, 0, 0]);
            // Not this one.
            t.found.clear();
            t.status.refused = true;
            t.poll();
            t.status.refused = false;
            t.poll();
        }),
        ("CountTooHigh", |t| {
            t.status.taken = 1;
            t.poll();
        }),
        ("CountTooHigh", |t| {
            t.run(0);
            t.poll();
            (t.status.state, t.status.runs) = (1, 2);
            t.poll();
        }),
        ("CountMoved", |t| {
            t.status.outputs = 1;
            t.poll();
        }),
        ("CountMoved", |t| {
            t.ended();
            t.status.contexts = 1;
            t.poll();
        }),
        // The run goes on after its end.
        ("WrongState", |t| {
            t.ended();
            t.status.state = 2;
            t.poll();
        }),
        // The module has taken no notice of the PREA, of the one that takes the pins, ...
        ("WrongState", |t| {
            t.run(0);
            (t.status.state, t.status.waits, t.status.taken) = (0, true, 0);
            t.poll();
        }),
        ("WrongState", |t| {
            t.ended();
            t.take();
            t.status.state = 1;
            t.poll();
        }),
        // ... has run without the pins, and given them back by itself.
        ("WrongState", |t| {
            t.write(MAILBOX, start(0));
            (t.status.state, t.status.taken) = (2, 1);
            t.poll();
        }),
        ("WrongState", |t| {
            t.run(0);
            t.poll();
            (t.status.state, t.status.runs) = (0, 1);
            t.poll();
        }),
        ("WrongState", |t| {
            t.status.waits = true;
            t.poll();
        }),
        ("WrongStart", |t| {
            t.run(0);
            t.status.waits = true;
            t.poll();
        }),
        ("WrongStart", |t| {
            t.run(0);
            t.poll();
            t.send(MAILBOX, start(0));
            t.poll();
        }),
        ("WrongStart", |t| {
            t.run(0);
            t.status.runs = 1;
            t.poll();
        }),
        ("LeftTooEarly", |t| {
            t.run(0);
            t.open(STATUS);
            t.module(Pin::Ref);
            t.now += 560 - 21 - 22;
            t.end();
        }),
        ("LostOrRefused", |t| {
            t.status.lost = true;
            t.poll();
        }),
        ("LostOrRefused", |t| {
            t.status.refused = true;
            t.poll();
        }),
    ]
}

fn of_the_chips() -> Vec<Case> {
    vec![
        ("ChipsSeeHost", |t| {
            t.run(0);
            t.through = true;
            t.open(STATUS);
        }),
        ("ChipsSeeHost", |t| {
            t.run(0);
            t.open(STATUS);
            t.through = true;
            t.poll();
        }),
        // The PREA that takes the pins.
        ("ChipsSeeHost", |t| {
            t.ended();
            t.through = true;
            t.take();
        }),
        // The PREA that gives them, and memory behind a run.
        ("ChipsMissHost", |t| {
            t.write(MAILBOX, start(0));
            t.through = false;
            t.give(Pin::PreAll);
            t.open(STATUS);
        }),
        ("ChipsMissHost", |t| {
            t.ended();
            t.take();
            t.through = false;
            t.give(ROW);
            t.through = true;
            t.give(Pin::PreAll);
        }),
        // Before a START, in the host's tCK or not; within tRP of the PREA; and after the end.
        ("ModuleDrives", |t| t.module(ACT_ALL)),
        ("ModuleDrives", |t| {
            t.give(ROW);
            t.chips(ACT_ALL);
        }),
        ("ModuleDrives", |t| {
            t.run(0);
            t.now += 1;
            t.module(ACT_ALL);
        }),
        ("ModuleDrives", |t| {
            t.ended();
            t.module(Pin::Ref);
        }),
    ]
}
