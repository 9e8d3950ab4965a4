// SPDX-License-Identifier: MIT
//! The protocol between host and module as `golden` has it: runs keep it from the first write of the host to its last
//! read, whoever executes the module; and what a host or a module does wrong is found, and ends the run.

#[path = "planted/mod.rs"]
mod planted;

use pimlico_device::dispatch::DispatchError;
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::{Config, Device, DeviceError, Gear, ModuleDevice, Options, RankDevice};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_host::attached::Attached;
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::HostPort;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{llama2c, tiny};
use pimlico_model::data::Distribution;
use pimlico_model::data::Operands;
use pimlico_ports::Models;
use pimlico_units::arith::Binary16;
use pimlico_units::module::PimDimm;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::decode::DecodeJob;
use pimlico_workload::error::WorkloadError;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::judge::host_pins::HostFound;
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::l3;
use pimlico_workload::l3::gemv::GemvError;
use pimlico_workload::operator;
use pimlico_workload::report::Report;
use planted::{Beat, Fault, MAILBOX, OPERANDS, Planted, STATUS, Whose};

fn engine(options: Options) -> Box<dyn RankDevice> {
    Box::new(Attached::engine(&Config::ddr4_3200(), options).expect("an L3 rank"))
}

fn cycle_model(options: Options) -> Box<dyn RankDevice> {
    let design = Box::new(Models::<PimDimm<Binary16, false>>::new(1));
    let module = ModuleDevice::new(Config::ddr4_3200(), options, design).expect("an L3 rank");
    Box::new(Attached::new(module))
}

fn head(device: &mut dyn RankDevice) -> Report {
    let job = AttentionJob {
        model: "small".to_owned(),
        head_dim: 64,
        heads: 2,
        group: 2,
        contexts: vec![70, 9],
        distribution: Distribution::Random,
        seed: 3,
    };
    operator::on_rank(device, &job).expect("it runs")
}

fn matrix(device: &mut dyn RankDevice) -> Report {
    // More operands than the queue has room for, and more than one burst of outputs.
    let job = GemvJob { rows: 80, columns: 5000, io_buffers: IoBuffers::PingPong, seed: 3 };
    operator::on_rank(device, &job).expect("it runs")
}

fn token(device: &mut dyn RankDevice) -> Report {
    let checkpoint = llama2c::read(tiny::WEIGHTS).expect("a checkpoint");
    let job = DecodeJob {
        model: "tiny".to_owned(),
        tokenizer: Tokenizer::read(tiny::TOKENIZER, checkpoint.shape.vocab).expect("one"),
        reference: pimlico_golden::llama::read(tiny::WEIGHTS).expect("a checkpoint").0,
        checkpoint,
        prompt: "a".to_owned(),
        tokens: 1,
        temperature: 0.0,
        seed: 1,
        io_buffers: IoBuffers::PingPong,
        threads: 1,
        streaming: None,
        prefill: None,
    };
    operator::on_rank(device, &job).expect("it runs")
}

/// No rule is broken in a report of so many commands or more.
fn keeps_the_protocol(report: &Report, least: u64) {
    let host = report.host_pins.as_ref().expect("those of a rank");
    assert_eq!((host.violations, &host.first_violations), (0, &Vec::new()));
    assert!(host.commands >= least, "{}", host.commands);
    assert_eq!(report.violations(), None);
}

#[test]
fn runs_of_the_engine_keep_the_protocol() {
    for refresh in [true, false] {
        for gear in [Gear::One, Gear::Two, Gear::Four] {
            let options = Options { refresh, gear, ..Options::default() };
            keeps_the_protocol(&head(&mut *engine(options)), 300);
            keeps_the_protocol(&matrix(&mut *engine(options)), 7000);
        }
    }
    keeps_the_protocol(&token(&mut *engine(Options::default())), 1000);
}

#[test]
fn runs_of_the_cycle_model_keep_the_protocol() {
    for run in [head, matrix, token] {
        let options = Options::default();
        let [fast, model] = [engine(options), cycle_model(options)].map(|mut device| {
            let report = run(&mut *device);
            keeps_the_protocol(&report, 300);
            report.host_pins.expect("those of a rank").commands
        });
        assert_eq!(fast, model);
    }
}

#[test]
fn looking_seldom_at_the_status_costs_time_and_breaks_no_rule() {
    let of = |poll_tck: u64| {
        let report = matrix(&mut *engine(Options { poll_tck, ..Options::default() }));
        keeps_the_protocol(&report, 5000);
        report.total.cycles
    };
    let [often, seldom, most] = [64, 2048, 65536].map(of);
    // At 160 operands the queue is filled up once more; its end is found a look later, at the most.
    assert!(often < seldom && seldom < often + 2 * 2048, "{often} {seldom}");
    assert!(seldom < most && most < often + 2 * 65536, "{often} {most}");
}

#[test]
fn results_that_the_host_may_have_missed_end_the_run() {
    // 128 bursts of outputs, of which the module keeps 64.
    let job = GemvJob { rows: 4096, columns: 32, io_buffers: IoBuffers::PingPong, seed: 3 };
    let run = |poll_tck: u64| {
        operator::on_rank(&mut *engine(Options { poll_tck, ..Options::default() }), &job)
    };
    keeps_the_protocol(&run(64).expect("it runs"), 1000);
    let error = run(65536).expect_err("nothing is read in between");
    assert!(
        matches!(error, WorkloadError::Device(DeviceError::Dispatch(DispatchError::ResultsGone))),
        "{error}"
    );
}

/// What a matrix with a fault on its way came to.
struct Came {
    result: Result<Vec<u16>, GemvError>,
    /// Violations at the pins of the chips.
    chips: Vec<String>,
    host: HostFound,
}

impl Came {
    /// The names of the rules of the protocol that were broken.
    fn broken(&self) -> Vec<&'static str> {
        self.host.first.iter().map(|violation| violation.breach.name()).collect()
    }

    fn error(&self) -> &DispatchError {
        match &self.result {
            Err(GemvError::Rank(DeviceError::Dispatch(error))) => error,
            other => panic!("{other:?}"),
        }
    }
}

/// A matrix of so many columns, once.
fn came(config: &Config, columns: usize, options: Options, fault: Fault) -> Came {
    let mut device = Attached::new(Planted::new(config, options, fault));
    let pins = PinLog::of(&mut device);
    let operands = Operands::synthetic(64, columns, 1);
    let layout = MatrixLayout::new(config, 64, columns).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    l3::gemv::load(&mut device, &mut host, &layout, &operands.matrix).expect("places");
    let vector = &operands.vector;
    let result =
        l3::gemv::multiply(&mut Driver::new(), &mut device, &layout, vector, IoBuffers::PingPong);
    let tck = device.tck();
    let chips = pins.violations(tck).1.iter().map(ToString::to_string).collect();
    Came {
        result: result.map(|(outputs, _)| outputs),
        chips,
        host: pins.host(tck).expect("a rank's"),
    }
}

fn with(fault: Fault) -> Came {
    came(&Config::ddr4_3200(), 300, Options::default(), fault)
}

/// A command in place of the first pause of the host's pins so many tCK into a run.
fn once(at: u64, planted: Pins) -> Fault {
    let mut done = false;
    Fault::of_commands(Whose::Host, move |now, pins| {
        let is_time = now.run_tck.is_some_and(|run_tck| now.tck >= run_tck + at);
        if done || !is_time || pins.is_some() {
            return pins;
        }
        done = true;
        planted
    })
}

#[test]
fn without_a_fault_nothing_is_found() {
    let came = with(Fault::none());
    assert_eq!(came.result.as_ref().map(Vec::len).expect("it runs"), 64);
    assert!(came.host.commands > 500 && came.host.violations == 0, "{:?}", came.host);
    assert_eq!(came.chips, [""; 0]);
}

#[test]
fn rows_and_refs_of_the_host_in_a_run_are_found_and_change_nothing() {
    let outputs = with(Fault::none()).result.expect("it runs");
    for (planted, broken) in [(Pins::act(3, 5), "RowInRun"), (Pins::REF, "HostRefInRun")] {
        let came = with(once(20, planted));
        assert_eq!(came.broken(), [broken]);
        assert_eq!(came.chips, [""; 0]);
        assert_eq!(came.result.expect("the module lets none through"), outputs);
    }
}

#[test]
fn pins_taken_before_the_end_was_read_are_found() {
    // The module closes its windows, and answers no read of the status.
    let came = with(once(20, Pins::PRE_ALL));
    assert_eq!(came.error(), &DispatchError::NoStatus);
    assert!(came.broken().starts_with(&["TakenTooEarly"]), "{:?}", came.host);
}

#[test]
fn a_prea_that_does_not_come_through_is_found() {
    // The one behind the START. The module keeps to the host's pins, and the START waits.
    let mut lost = false;
    let fault = Fault::of_commands(Whose::Module, move |now, pins| {
        let is_lost = pins.command == PinCommand::PreAll && now.windows_open && !lost;
        lost |= is_lost;
        if is_lost { Pins::NONE } else { pins }
    });
    let came = with(fault);
    assert_eq!(came.error(), &DispatchError::Stuck { overwritten: false });
    // The module passes the host's ACT of its status on to the chips, as if nothing were.
    let broken = ["ChipsMissHost", "ChipsSeeHost", "WrongState"];
    assert_eq!(came.broken()[..3], broken, "{:?}", came.host);
}

#[test]
fn a_start_before_the_operands_of_the_last_is_found() {
    // In place of the third operand.
    let mut sent = 0;
    let mut fault = Fault::of_words(Whose::Host, |_, beat, word| match beat {
        Beat { window: OPERANDS, write: true, n, burst: 2 } => Some([2, 0, 0, 0, 0, 0, 0, 0][n]),
        _ => word,
    });
    fault.set_command(move |now, pins| {
        let is_operand = pins.command == PinCommand::Wr && pins.bank() % 4 == OPERANDS;
        sent += u32::from(is_operand && now.windows_open);
        if is_operand && sent == 3 { Pins::wr(pins.bank() - OPERANDS + MAILBOX, 0) } else { pins }
    });
    let came = with(fault);
    assert_eq!(came.error(), &DispatchError::Stuck { overwritten: false });
    assert!(
        came.broken().starts_with(&["OperandsMissing", "OperandUnannounced"]),
        "{:?}",
        came.host
    );
}

#[test]
fn an_operand_that_no_start_has_announced_is_found() {
    let mut is_start = false;
    let came = with(Fault::of_words(Whose::Host, move |_, beat, word| match beat {
        Beat { window: MAILBOX, write: true, n: 0, .. } => {
            is_start = word.is_some_and(|word| word & 3 == 2);
            word
        }
        Beat { window: MAILBOX, write: true, n: 1, .. } if is_start => word.map(|word| word - 1),
        _ => word,
    }));
    assert_eq!(came.error(), &DispatchError::Operands);
    assert_eq!(came.broken(), ["OperandUnannounced"]);
}

#[test]
fn a_message_that_is_none_is_found() {
    let came = with(Fault::of_words(Whose::Host, |_, beat, word| match beat {
        Beat { window: MAILBOX, write: true, n: 0, burst: 0 } => word.map(|word| word | 3),
        _ => word,
    }));
    assert_eq!(came.error(), &DispatchError::Refused);
    assert!(came.broken().starts_with(&["UnknownMessage"]), "{:?}", came.host);
}

#[test]
fn operands_for_which_the_queue_has_no_room_are_found() {
    // The host takes the module for 100 bursts further than it is; or that is what the module says.
    for (whose, broken) in [(Whose::Host, "QueueOverrun"), (Whose::Module, "CountTooHigh")] {
        let fault = Fault::of_words(whose, |now, beat, word| match beat {
            Beat { window: STATUS, write: false, n: 1, .. } if now.runs() => {
                word.map(|word| word & !0xFFFF | (word + 100) & 0xFFFF)
            }
            _ => word,
        });
        // Looked at seldom, and of more operands than the shared buffers take ahead: the queue is full in between.
        let options = Options { poll_tck: 512, ..Options::default() };
        let came = came(&Config::ddr4_3200(), 16_000, options, fault);
        assert_eq!(came.error(), &DispatchError::Lost);
        assert!(came.broken().contains(&broken), "{:?}", came.host);
    }
}

#[test]
fn a_status_that_is_never_answered_is_found() {
    let came = with(Fault::of_words(Whose::Module, |_, beat, word| {
        word.filter(|_| beat.write || beat.window != STATUS)
    }));
    assert_eq!(came.error(), &DispatchError::NoStatus);
    assert_eq!(came.broken(), ["DataMissing", "NeverTaken"]);
}

#[test]
fn pins_that_the_module_leaves_while_a_ref_runs_are_found() {
    // The status says so within tRFC, once, with the run counted.
    let mut at_tck = None;
    let fault = Fault::of_words(Whose::Module, move |now, beat, word| {
        let Beat { window: STATUS, write: false, n, .. } = beat else { return word };
        let refreshes = now.ref_tck.is_some_and(|ref_tck| now.tck < ref_tck + 500);
        if n == 0 && refreshes {
            at_tck.get_or_insert(now.tck);
        }
        if at_tck != Some(now.tck) {
            return word;
        }
        word.map(|word| if n == 0 { word & !0xF | 9 } else { word + (1 << 48) })
    });
    // With a REF before the end: they are due sooner than the preset's.
    let mut config = Config::ddr4_3200();
    config.timing.refi_tck = 1200;
    let came = came(&config, 16_000, Options::default(), fault);
    assert!(came.result.is_err(), "results are missing");
    assert!(came.broken().starts_with(&["LeftTooEarly"]), "{:?}", came.host);
}

#[test]
fn a_row_that_the_host_opens_within_trfc_is_found_at_the_chips_pins() {
    let (mut refreshes, mut done) = (false, false);
    let came = came(
        &Config::ddr4_3200(),
        4000,
        Options::default(),
        Fault::of_commands(Whose::Host, move |_, pins| {
            if refreshes && !done && !pins.is_some() {
                done = true;
                return Pins::act(15, 9);
            }
            refreshes |= pins.command == PinCommand::Ref;
            pins
        }),
    );
    assert!(came.chips.iter().any(|violation| violation.contains("RFC")), "{:?}", came.chips);
}
