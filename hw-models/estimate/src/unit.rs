// SPDX-License-Identifier: MIT
//! A unit of the RTL whose cost is estimated.

use crate::rtl;
use pimlico_ports::UnitInfo;
use std::collections::BTreeMap;

/// A unit in one set of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSpec {
    /// Its name: as `pimlico cosim --list` has it, or module and parameters.
    pub unit: String,
    /// The module.
    pub module: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, i64>,
    /// Without the instances that are parts of their own: see [`hierarchy`](crate::hierarchy).
    pub alone: bool,
}

impl From<UnitInfo> for UnitSpec {
    fn from(info: UnitInfo) -> Self {
        let parameters = info.parameters.iter();
        let parameters = parameters.map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { unit: info.name, module: info.module.to_owned(), parameters, alone: false }
    }
}

impl UnitSpec {
    /// A module of the tree's RTL with the parameters that it has by default, whether or not it is a unit.
    pub fn of_module(name: &str) -> Option<Self> {
        let has_module = rtl::has_module(&rtl::sources(), name);
        let (unit, module) = (name.to_owned(), name.to_owned());
        has_module.then(|| Self { unit, module, parameters: BTreeMap::new(), alone: false })
    }

    /// Without the parameters that have their default.
    pub fn without_defaults(mut self, sources: &rtl::Sources<'_>) -> Self {
        let overrides = rtl::overrides(sources, &self.module, &self.parameters);
        self.parameters = overrides.unwrap_or_default();
        self
    }
}
