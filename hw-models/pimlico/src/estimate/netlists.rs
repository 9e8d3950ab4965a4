// SPDX-License-Identifier: MIT
//! Sized netlists of the units that the devices consist of: as they are kept in the repository, or synthesised
//! where their sources have changed.

use super::flow::{self, CLOCK_NS, ToolArguments};
use crate::failure::Failure;
use crate::files::Output;
use pimlico_estimate::clock::{self, Clocked};
use pimlico_estimate::device::Design;
use pimlico_estimate::hierarchy::Part;
use pimlico_estimate::kept::{Hierarchy, Kept, LIBRARIES, NetlistFigures, Netlists};
use pimlico_estimate::rtl::{self, Files, Sources};
use pimlico_estimate::{Area, UnitSpec};
use std::path::Path;

/// The RTL, and the tools for what is not kept.
pub struct Maker<'a> {
    tools: &'a ToolArguments,
    /// In place of the tree's.
    rtl: Option<Files>,
}

impl<'a> Maker<'a> {
    /// Of the RTL in a folder, or of the tree's.
    pub fn new(tools: &'a ToolArguments, rtl: Option<&Path>) -> Result<Self, Failure> {
        let rtl = rtl.map(Files::read).transpose();
        Ok(Self { tools, rtl: rtl.map_err(|e| Failure::Input(e.to_string()))? })
    }

    /// The RTL.
    pub fn sources(&self) -> Sources<'_> {
        match &self.rtl {
            Some(files) => files.sources(),
            None => rtl::sources(),
        }
    }

    /// The parts of a design, as they are kept or by Yosys.
    pub fn parts(&self, design: Design) -> Result<Vec<Part>, Failure> {
        let kept = Hierarchy::kept();
        match kept.parts(design) {
            parts if kept.is_of(&self.sources()) && !parts.is_empty() && !self.tools.no_cache => {
                Ok(parts.to_vec())
            }
            _ => self.take_apart(design),
        }
    }

    /// Every unit of designs with its clock.
    pub fn plan(&self, designs: &[Design]) -> Result<Vec<Clocked>, Failure> {
        let parts = designs.iter().map(|&design| Ok((design, self.parts(design)?)));
        plan_of(&parts.collect::<Result<Vec<_>, Failure>>()?)
    }

    fn take_apart(&self, design: Design) -> Result<Vec<Part>, Failure> {
        self.tools.flow(CLOCK_NS)?.take_apart(&self.sources(), design)
    }

    /// What units take in a library.
    pub fn netlists(&self, liberty: &Path, units: &[UnitSpec]) -> Result<Netlists, Failure> {
        let (sources, kept) = (self.sources(), kept_in(liberty)?);
        let of = |spec: &UnitSpec| kept.present(&sources, spec).filter(|_| !self.tools.no_cache);
        let (known, missing): (Vec<_>, Vec<_>) = units.iter().partition(|spec| of(spec).is_some());
        let mut netlists: Vec<NetlistFigures> = known.into_iter().filter_map(of).cloned().collect();
        if missing.is_empty() {
            return Ok(Netlists { netlists, ..kept });
        }
        let missing: Vec<UnitSpec> = missing.into_iter().cloned().collect();
        let flow = self.tools.flow_in(liberty, CLOCK_NS).map_err(|failure| match failure {
            Failure::Input(why) => Failure::Input(format!(
                "{}: no kept result of the present RTL; {why}",
                first_of(&missing)
            )),
            other => other,
        })?;
        let name = &flow.library.name;
        let no_timing =
            || Failure::Input(format!("{name} has no timing: there is no clock to make"));
        let fo4_ns = flow.fo4_ns()?.ok_or_else(no_timing)?;
        let areas = flow.sized_areas_of(&sources, &missing)?;
        let netlist =
            |(spec, area): (&UnitSpec, &Area)| NetlistFigures::new(&sources, spec, area, fo4_ns);
        let made: Option<Vec<_>> = missing.iter().zip(&areas).map(netlist).collect();
        netlists.extend(made.ok_or_else(no_timing)?);
        Ok(Netlists::new(&flow.library, netlists))
    }

    /// Whether all that units take in a library is kept.
    pub fn are_kept(&self, kept: &Kept, units: &[UnitSpec]) -> bool {
        let (sources, netlists) = (self.sources(), kept.netlists());
        units.iter().all(|spec| netlists.present(&sources, spec).is_some())
    }

    /// Writes what is kept: the parts of each design, and what all of them take in each library.
    pub fn keep(&self) -> Result<(), Failure> {
        let outputs = LIBRARIES.iter().map(|library| Output::open(&library.path()));
        let outputs = outputs.collect::<Result<Vec<_>, Failure>>()?;
        let hierarchy = Output::open(&Hierarchy::path())?;
        let of_design = |design| Ok((design, self.take_apart(design)?));
        let designs = Design::KEPT.map(of_design).into_iter();
        let designs = designs.collect::<Result<Vec<_>, Failure>>()?;
        let units = plan_of(&designs)?.into_iter().map(|clocked| clocked.spec);
        let units: Vec<UnitSpec> = units.collect();
        for (library, output) in LIBRARIES.iter().zip(outputs) {
            let mut all = self.netlists(Path::new(library.liberty), &units)?;
            all.netlists.sort_by(|a, b| a.unit.cmp(&b.unit));
            all.netlists.dedup();
            output.write(Kept::text_of(&all).as_bytes())?;
        }
        hierarchy.write(Hierarchy::new(&self.sources(), designs).text().as_bytes())
    }
}

fn plan_of(designs: &[(Design, Vec<Part>)]) -> Result<Vec<Clocked>, Failure> {
    let designs = designs.iter().map(|(design, parts)| (*design, parts.as_slice()));
    clock::plan(&designs.collect::<Vec<_>>()).map_err(|e| Failure::Input(e.to_string()))
}

/// What is kept of a library: nothing, unless it is one of [`LIBRARIES`].
fn kept_in(liberty: &Path) -> Result<Netlists, Failure> {
    let at = LIBRARIES.iter().find(|kept| Path::new(kept.liberty) == liberty);
    // Where it is not installed, there is nothing that it could differ from.
    if let Some(kept) = at.filter(|_| !liberty.exists()) {
        return Ok(kept.netlists());
    }
    let library = flow::read(liberty)?;
    let kept = LIBRARIES.iter().map(Kept::netlists).find(|netlists| netlists.are_in(&library));
    Ok(kept.unwrap_or_default())
}

/// The first of some units, and how many more there are.
fn first_of(units: &[UnitSpec]) -> String {
    let name = |spec: &UnitSpec| spec.unit.clone();
    match units {
        [] => String::new(),
        [one] => name(one),
        [one, more @ ..] => format!("{} and {} more", name(one), more.len()),
    }
}
