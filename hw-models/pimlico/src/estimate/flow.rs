// SPDX-License-Identifier: MIT
//! What all estimates need: a library, the tools, the units by name.

use crate::failure::Failure;
use crate::files;
use crate::names;
use crate::output;
use crate::sweep::cores;
use clap::Args;
use pimlico_estimate::hierarchy::{self, Part};
use pimlico_estimate::kept::Hierarchy;
use pimlico_estimate::rtl::Sources;
use pimlico_estimate::{Area, DEFAULT_LIBRARY, Estimator, Library, Sizing, Tools, UnitSpec};
use pimlico_estimate::{device::Design, rtl};
use pimlico_workload::parallel;
use std::path::{Path, PathBuf};

/// The units that are shown where none are asked for: those of the papers, and what else a device has.
pub const UNITS: [&str; 11] = [
    "relayout_unit",
    "adder_unit",
    "softmax_unit",
    "bank_pu:flush",
    "bank_pu",
    "bank_pu:sum32",
    "tree_pu",
    "pingpong_buffer:depth1",
    "rank_controller",
    "refresh_manager",
    "dispatcher",
];

/// Clock of L3's bank PUs in ns.
pub const CLOCK_NS: f64 = 5.0;

/// Clock periods in ns: those that OpenSTA, which counts in fs, tells from 0, to a millisecond.
pub const LEAST_CLOCK_NS: f64 = 1e-3;
pub const MOST_CLOCK_NS: f64 = 1e6;

/// Arguments of all estimates: what synthesises, and in which cells.
#[derive(Args)]
pub struct ToolArguments {
    /// Library of standard cells [default: that of qflow-tech-osu018]
    #[arg(long, value_name = "FILE")]
    pub liberty: Option<PathBuf>,
    /// Python interpreter that has pyosys
    #[arg(long, env = "PIMLICO_PYTHON", default_value = "python3", value_name = "FILE")]
    pub python: PathBuf,
    /// Synthesise again what is known
    #[arg(long)]
    pub no_cache: bool,
}

/// Arguments of estimates at a clock.
#[derive(Args)]
pub struct FlowArguments {
    #[command(flatten)]
    pub tools: ToolArguments,
    /// Clock period in ns [default: that of L3's bank PUs, 5]
    #[arg(long, value_name = "NS")]
    clock: Option<f64>,
}

/// Library and tools.
pub struct Flow {
    pub library: Library,
    pub clock_ns: f64,
    tools: Tools,
    cache: Option<PathBuf>,
}

impl FlowArguments {
    /// Reads the library and looks for the tools.
    pub fn flow(&self) -> Result<Flow, Failure> {
        self.flow_at(CLOCK_NS)
    }

    /// The same at a clock period of so many ns, unless told otherwise.
    pub fn flow_at(&self, default_ns: f64) -> Result<Flow, Failure> {
        let clock_ns = self.clock.unwrap_or(default_ns);
        if !(LEAST_CLOCK_NS..=MOST_CLOCK_NS).contains(&clock_ns) {
            let expected = format!("expected {LEAST_CLOCK_NS} to {MOST_CLOCK_NS} ns");
            let clock = output::as_given(clock_ns);
            return Err(Failure::Input(format!("--clock {clock}: {expected}")));
        }
        self.tools.flow(clock_ns)
    }
}

impl ToolArguments {
    /// Reads the library and looks for the tools.
    pub fn flow(&self, clock_ns: f64) -> Result<Flow, Failure> {
        self.flow_in(self.liberty.as_deref().unwrap_or(Path::new(DEFAULT_LIBRARY)), clock_ns)
    }

    /// The same with this library.
    pub fn flow_in(&self, liberty: &Path, clock_ns: f64) -> Result<Flow, Failure> {
        let library = read(liberty)?;
        let tools = Tools::find(&self.python).map_err(|e| Failure::Input(e.to_string()))?;
        let cache = cache_folder().filter(|_| !self.no_cache);
        Ok(Flow { library, clock_ns, tools, cache })
    }
}

impl Flow {
    /// Yosys and OpenSTA.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Where areas are kept.
    pub fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// The parts of a design: those that are kept, if they are of the present RTL.
    pub fn parts(&self, design: Design) -> Result<Vec<Part>, Failure> {
        let (kept, sources) = (Hierarchy::kept(), rtl::sources());
        match kept.parts(design) {
            parts if kept.is_of(&sources) && !parts.is_empty() => Ok(parts.to_vec()),
            _ => self.take_apart(&sources, design),
        }
    }

    /// The parts of these sources, by Yosys, whatever is kept.
    pub fn take_apart(&self, sources: &Sources<'_>, design: Design) -> Result<Vec<Part>, Failure> {
        let bar = output::progress(1, &format!("parts of {}", design.top()));
        let parts = hierarchy::parts(&self.tools, sources, design.top(), design.parameters());
        bar.finish_and_clear();
        parts.map_err(|e| Failure::Input(e.to_string()))
    }

    /// The areas of units.
    pub fn areas(&self, specs: &[UnitSpec]) -> Result<Vec<Area>, Failure> {
        self.areas_by(self.estimator(&self.library), specs)
    }

    /// The same with another library.
    pub fn areas_in(&self, library: &Library, specs: &[UnitSpec]) -> Result<Vec<Area>, Failure> {
        self.areas_by(self.estimator(library), specs)
    }

    /// The same with cells sized for their loads. The library must have timing.
    pub fn sized_areas(&self, specs: &[UnitSpec]) -> Result<Vec<Area>, Failure> {
        self.areas_by(self.estimator(&self.library).with_sizing(Sizing::ForLoads), specs)
    }

    /// The same of other RTL than that of the tree.
    pub fn sized_areas_of(
        &self,
        sources: &Sources<'_>,
        specs: &[UnitSpec],
    ) -> Result<Vec<Area>, Failure> {
        let estimator = self.estimator(&self.library).with_sizing(Sizing::ForLoads);
        self.areas_by(estimator.with_sources(sources.clone()), specs)
    }

    fn estimator<'a>(&'a self, library: &'a Library) -> Estimator<'a> {
        let Self { clock_ns, tools, cache, .. } = self;
        Estimator::new(tools, library, *clock_ns, cache.as_deref())
    }

    /// The areas of units, as many at a time as there are cores.
    fn areas_by(&self, estimator: Estimator<'_>, specs: &[UnitSpec]) -> Result<Vec<Area>, Failure> {
        let bar = output::progress(specs.len() as u64, "units");
        let area = |spec: &UnitSpec| {
            bar.set_message(format!("units: {}", spec.unit));
            estimator.area(spec)
        };
        let areas = parallel::map(specs, cores(), |_| 1, area, |done, _| bar.set_position(done));
        bar.finish_and_clear();
        areas.map_err(|e| Failure::Input(e.to_string()))
    }

    /// FO4 of the library in ns, if it has timing.
    pub fn fo4_ns(&self) -> Result<Option<f64>, Failure> {
        self.estimator(&self.library).fo4_ns().map_err(|e| Failure::Input(e.to_string()))
    }

    /// The shortest clock period in ns, if the library has timing.
    pub fn delay_ns(&self, area: &Area) -> Option<f64> {
        area.timing.as_ref().map(|timing| timing.period_ns)
    }
}

/// Reads a library of standard cells.
pub fn read(liberty: &Path) -> Result<Library, Failure> {
    files::read_from(liberty)?;
    Library::read(liberty).map_err(|error| {
        let is_absent = !liberty.exists() && liberty.as_os_str() == DEFAULT_LIBRARY;
        let install = "; apt-get install qflow-tech-osu018, or run `scripts/estimate`";
        Failure::Input(format!("{error}{}", if is_absent { install } else { "" }))
    })
}

/// Units as `pimlico cosim --list` names them; where there are no names, those of [`UNITS`].
pub fn specs(names: &[String]) -> Result<Vec<UnitSpec>, Failure> {
    match names {
        [] => UNITS.into_iter().map(spec).collect(),
        _ => names.iter().map(|name| spec(name)).collect(),
    }
}

/// The same, and modules that are no units, with the parameters that they have by default.
pub fn specs_or_modules(names: &[String]) -> Result<Vec<UnitSpec>, Failure> {
    let of_name = |name: &String| spec(name).or_else(|none| UnitSpec::of_module(name).ok_or(none));
    if names.is_empty() { specs(names) } else { names.iter().map(of_name).collect() }
}

/// A unit as `pimlico cosim --list` names it; `fp_mul:` is its defaults, as of `pimlico cosim`.
pub fn spec(name: &str) -> Result<UnitSpec, Failure> {
    // `fp_max:` is the same as `fp_max`, as it is to `pimlico cosim`.
    let meant = name.strip_suffix(':').unwrap_or(name);
    let mut units = pimlico_units::units();
    match units.iter().position(|unit| unit.name == meant) {
        Some(n) => Ok(UnitSpec::from(units.swap_remove(n))),
        None => Err(names::no_unit(name, units.iter().map(|unit| unit.name.as_str()))),
    }
}

/// Where results are kept.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    caches.is_absolute().then(|| caches.join("pimlico/area"))
}
