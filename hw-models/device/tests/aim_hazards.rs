// SPDX-License-Identifier: MIT
//! Requests that the I/O buffers of an AiM module do not allow end its run: nothing is overwritten, and
//! nothing read that is not there.

use pimlico_device::aim::{
    AimOptions, AimUnits, AllBankRead, ArrayRequest, Beat, BusRequest, Module, Requests, Sum,
};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, DeviceError, Gap, Hazard};

struct Bench(Module);

impl Bench {
    fn new(io_buffers: IoBuffers) -> Self {
        let options =
            AimOptions { channels: 1, io_buffers, refresh: false, ..AimOptions::default() };
        let config = Config::gddr6_aim();
        let units = AimUnits::models(&config, options);
        Self(Module::new(config, units, options))
    }

    /// Asks for something, and lets come of it what does.
    fn ask(&mut self, mut requests: Requests) -> Result<(), Hazard> {
        for _ in 0..200 {
            match self.0.step(&mut requests) {
                Ok(_) => {}
                Err(DeviceError::Hazard(hazard)) => return Err(hazard),
                Err(error) => panic!("{error}"),
            }
        }
        Ok(())
    }

    /// A filling of one word.
    fn fill(&mut self) -> Result<(), Hazard> {
        let bus = Some(BusRequest::Operand { number: 0, word: [1; 4], last: true });
        self.ask(Requests { bus, ..Default::default() })
    }

    /// A column that is a sum.
    fn read(&mut self, release: bool) -> Result<(), Hazard> {
        let beat = Beat { word: 0, first: true, last: true, release };
        let read = AllBankRead { row: 0, column: 0, beat, gap: Gap::Bubble };
        self.ask(Requests { array: Some(ArrayRequest::Read(read)), ..Default::default() })
    }

    fn results(&mut self) -> Result<(), Hazard> {
        let bus = Some(BusRequest::Results(Sum { place: 0, goes_on: false }));
        self.ask(Requests { bus, ..Default::default() })
    }
}

#[test]
fn a_column_needs_a_filling() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let mut bench = Bench::new(io_buffers);
        assert_eq!(bench.read(false), Err(Hazard::OperandMissing));
        let mut bench = Bench::new(io_buffers);
        assert_eq!((bench.fill(), bench.read(true), bench.results()), (Ok(()), Ok(()), Ok(())));
        assert_eq!(bench.read(true), Err(Hazard::OperandMissing), "it was given back");
    }
}

#[test]
fn a_filling_needs_a_side() {
    for (io_buffers, sides) in [(IoBuffers::PingPong, 2), (IoBuffers::Single, 1)] {
        let mut bench = Bench::new(io_buffers);
        (0..sides).for_each(|_| assert_eq!(bench.fill(), Ok(())));
        assert_eq!(bench.fill(), Err(Hazard::OperandOverwritten), "{io_buffers:?}");
    }
}

#[test]
fn a_result_needs_a_side() {
    for (io_buffers, sides) in [(IoBuffers::PingPong, 2), (IoBuffers::Single, 1)] {
        let mut bench = Bench::new(io_buffers);
        assert_eq!(bench.fill(), Ok(()));
        (0..sides).for_each(|_| assert_eq!(bench.read(false), Ok(())));
        assert_eq!(bench.read(false), Err(Hazard::ResultOverwritten), "{io_buffers:?}");
    }
}

#[test]
fn results_are_read_once() {
    let mut bench = Bench::new(IoBuffers::PingPong);
    assert_eq!(bench.results(), Err(Hazard::ResultMissing));
    let mut bench = Bench::new(IoBuffers::PingPong);
    assert_eq!((bench.fill(), bench.read(false), bench.results()), (Ok(()), Ok(()), Ok(())));
    assert_eq!(bench.results(), Err(Hazard::ResultMissing));
}
