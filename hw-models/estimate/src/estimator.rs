// SPDX-License-Identifier: MIT
//! From a unit to its area: synthesis, timing analysis, and what was computed before.

use crate::area::Area;
use crate::cache::{Cache, key};
use crate::liberty::Library;
use crate::timing::{self, Macros, Timing};
use crate::tools::{ToolError, Tools};
use crate::unit::UnitSpec;
use crate::yosys::{self, Sizing, SynthesisResult};
use crate::{fo4, rtl};
use std::path::Path;

/// Synthesises units, and keeps what comes out.
pub struct Estimator<'a> {
    tools: &'a Tools,
    sources: rtl::Sources<'a>,
    library: &'a Library,
    clock_ns: f64,
    sizing: Sizing,
    cache: Cache,
}

impl<'a> Estimator<'a> {
    /// At a clock period in ns; results are kept in the folder `cache`, if any.
    pub fn new(
        tools: &'a Tools,
        library: &'a Library,
        clock_ns: f64,
        cache: Option<&Path>,
    ) -> Self {
        let (sources, sizing, cache) = (rtl::sources(), Sizing::AsMapped, Cache::new(cache));
        Self { tools, sources, library, clock_ns, sizing, cache }
    }

    /// Of other RTL than that of the tree.
    pub fn with_sources(self, sources: rtl::Sources<'a>) -> Self {
        Self { sources, ..self }
    }

    /// With cells sized for their loads, or not.
    pub fn with_sizing(self, sizing: Sizing) -> Self {
        Self { sizing, ..self }
    }

    /// A unit's area.
    pub fn area(&self, spec: &UnitSpec) -> Result<Area, ToolError> {
        let Self { tools, sources, library, clock_ns, sizing, cache } = self;
        let key = key(sources, &tools.yosys, spec, library, *clock_ns, *sizing);
        if let Some(area) = cache.area(&key) {
            return Ok(area);
        }
        let folder = tempfile::tempdir().map_err(ToolError::temporary)?;
        let netlist = yosys::synthesise(tools, sources, spec, library, folder.path(), *sizing)?;
        // The memories of what is alone go to parts and not to registers.
        let fo4_ns = if spec.alone { None } else { self.fo4_ns()? };
        let macros = fo4_ns.map(|fo4_ns| Macros::new(&netlist.memories, fo4_ns));
        let macros = macros.unwrap_or_default();
        let analyse = || timing::analyse(tools, spec, library, folder.path(), *clock_ns, macros);
        let timing = library.has_timing.then(analyse).transpose()?;
        let area = self.sum_up(spec, netlist, timing)?;
        cache.put_area(&key, &area);
        Ok(area)
    }

    /// FO4 of the library in ns; none if it has no inverter that says how long it takes.
    pub fn fo4_ns(&self) -> Result<Option<f64>, ToolError> {
        let Self { tools, library, cache, .. } = self;
        let Some(inverter) = &library.inverter else { return Ok(None) };
        if let Some(fo4_ns) = cache.fo4(library, inverter) {
            return Ok(Some(fo4_ns));
        }
        let fo4_ns = fo4::measure(tools, library, inverter)?;
        cache.put_fo4(library, inverter, fo4_ns);
        Ok(Some(fo4_ns))
    }

    fn sum_up(
        &self,
        spec: &UnitSpec,
        netlist: SynthesisResult,
        timing: Option<Timing>,
    ) -> Result<Area, ToolError> {
        let SynthesisResult { cells, memories } = netlist;
        let (mut um2, mut flip_flops, mut flip_flops_um2) = (0.0, 0, 0.0);
        for (name, &count) in &cells {
            let unmapped = || ToolError::Unmapped {
                library: self.library.source.clone(),
                unit: spec.unit.clone(),
                cell: name.clone(),
            };
            let cell = self.library.cells.get(name).ok_or_else(unmapped)?;
            let area = cell.area_um2 * count as f64;
            um2 += area;
            if cell.holds_state {
                flip_flops += count;
                flip_flops_um2 += area;
            }
        }
        let in_ge = |um2: f64| um2 / self.library.nand2_um2;
        let (ge, flip_flops_ge) = (in_ge(um2), in_ge(flip_flops_um2));
        Ok(Area { um2, ge, flip_flops, flip_flops_ge, cells, memories, timing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_timing_has_no_fo4() {
        let library = Library::nangate45_areas().expect("a library");
        let tools = Tools::none("0.70");
        let fo4 = Estimator::new(&tools, &library, 5.0, None).fo4_ns();
        assert_eq!(fo4.expect("no tool is needed"), None);
    }
}
