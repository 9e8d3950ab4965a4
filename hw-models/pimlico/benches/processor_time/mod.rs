// SPDX-License-Identifier: MIT
//! Processor time, and not that of the clock on the wall: the machine may be shared.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use std::time::Duration;

/// Time for which processors have worked, for the user and in the kernel: `libc::RUSAGE_SELF` of all threads of this
/// process, or `libc::RUSAGE_CHILDREN` of the processes that it has run, those that have ended.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorTime(pub libc::c_int);

impl ProcessorTime {
    fn now(self) -> Duration {
        // SAFETY: all zeros is a value of the type, which is there to be written.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(self.0, &raw mut usage), 0);
            usage
        };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        time(usage.ru_utime) + time(usage.ru_stime)
    }
}

impl Measurement for ProcessorTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        self.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.now() - start
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
