// SPDX-License-Identifier: MIT
//! The devices that estimates are of: the built-in ones, and in place of one the device that is named.

use super::system::SystemArgument;
use crate::device::{DeviceFlag, of_system};
use crate::failure::Failure;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{DeviceSpec, SystemKind};
use pimlico_dpa::clock::{Domain, Gear, Rates};
use pimlico_estimate::device::{Buffers, Design};

/// Channels that a hub of the RTL has, at the most.
const MOST_CHANNELS: usize = 32;

/// A device of each system.
pub struct Devices {
    l3: DeviceSpec,
    aim: DeviceSpec,
    /// The system of the device that was named.
    pub named: Option<SystemArgument>,
}

impl Default for Devices {
    fn default() -> Self {
        let [l3, aim] = [SystemKind::L3, SystemKind::Aim].map(of_system);
        Self { l3, aim, named: None }
    }
}

impl Devices {
    /// The built-in ones, but for the one that is named.
    pub fn new(flag: &DeviceFlag) -> Result<Self, Failure> {
        let mut devices = Self::default();
        if let Some(spec) = flag.given()? {
            let system = SystemArgument::of(spec.system).ok_or_else(|| unknown(&spec))?;
            devices.named = Some(system);
            match system {
                SystemArgument::L3 => devices.l3 = spec,
                SystemArgument::Aim => devices.aim = spec,
            }
        }
        devices.check()?;
        Ok(devices)
    }

    /// Refuses a module that the RTL does not make.
    fn check(&self) -> Result<(), Failure> {
        let channels = self.aim.topology.channels;
        if channels.is_power_of_two() && channels <= MOST_CHANNELS {
            return Ok(());
        }
        let expected = format!("a power of two, up to {MOST_CHANNELS}: the RTL's hub");
        let message = format!("{}: channels = {channels}: expected {expected}", self.aim.name);
        Err(Failure::Input(message))
    }

    /// The device of a system.
    pub fn of(&self, system: SystemArgument) -> &DeviceSpec {
        match system {
            SystemArgument::L3 => &self.l3,
            SystemArgument::Aim => &self.aim,
        }
    }

    /// L3's rank at a gear.
    pub fn l3(&self, gear: Gear) -> Design {
        Design::L3(gear)
    }

    /// The module of AiMs with such buffers.
    pub fn aim(&self, buffers: Buffers) -> Design {
        Design::Aim(buffers, self.aim.topology.channels as u64)
    }

    /// The buffers of the module of AiMs.
    pub fn buffers(&self) -> Buffers {
        match self.aim.buffers.io {
            IoBuffers::PingPong => Buffers::PingPong,
            IoBuffers::Single => Buffers::Single,
        }
    }

    /// What the clocks of both systems are made of.
    pub fn rates(&self) -> Rates {
        let [l3, aim] = [&self.l3, &self.aim].map(DeviceSpec::config);
        Rates {
            tck_ps: l3.tck_ps,
            ccd_l_tck: l3.timing.ccd_l_tck,
            aim_tck_ps: aim.tck_ps,
            aim_ccd_tck: aim.timing.ccd_l_tck,
        }
    }

    /// What all units are of: the rank, and a module of AiMs with its buffers; and the baseline of ping-pong ones.
    pub fn designs(&self, gear: Gear) -> Vec<Design> {
        let aim = match self.buffers() {
            Buffers::PingPong => &[Buffers::PingPong, Buffers::Single][..],
            Buffers::Single => &[Buffers::Single][..],
        };
        let aim = aim.iter().map(|&buffers| self.aim(buffers));
        std::iter::once(self.l3(gear)).chain(aim).collect()
    }

    /// Their names: L3's, and the AiMs'.
    pub fn names(&self) -> [String; 2] {
        [&self.l3, &self.aim].map(|spec| spec.name.clone())
    }

    /// A clock's period in ns.
    pub fn period_ns(&self, domain: Domain, gear: Gear) -> f64 {
        domain.period_ns(&self.rates(), gear)
    }
}

/// What is said of a device whose units there are no netlists of.
fn unknown(spec: &DeviceSpec) -> Failure {
    let (device, system) = (&spec.name, spec.system.name());
    Failure::Input(format!("--device {device}: system = \"{system}\": there is no estimate of it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_devices_are_the_designs_that_are_kept() {
        let devices = Devices::default();
        assert_eq!(devices.aim(devices.buffers()), Design::AIM);
        assert_eq!(devices.aim(Buffers::Single), Design::AIM_SINGLE);
        assert_eq!(devices.l3(Gear::DEFAULT), Design::RANK);
        let period = |domain| devices.period_ns(domain, Gear::Two);
        assert_eq!([period(Domain::Core), period(Domain::Bank)], [1.25, 5.0]);
        assert_eq!([period(Domain::AimColumn), period(Domain::AimEpu)], [1.0, 2.0]);
    }

    #[test]
    fn a_module_that_no_hub_drives_is_refused() {
        for (channels, is_one) in [(1, true), (3, false), (32, true), (64, false)] {
            let mut devices = Devices::default();
            devices.aim.topology.channels = channels;
            assert_eq!(devices.check().is_ok(), is_one, "{channels}");
        }
    }
}
