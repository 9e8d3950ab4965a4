// SPDX-License-Identifier: MIT
//! What a module of the RTL consists of, as Yosys elaborates it.
//!
//! A module of [`OPENED`] is taken apart: each instance in it is a part, and so is what it has beside them.
//! Any other module is one part with all that is in it. So no list says what there is: an instance that the
//! RTL gets is a part, and only where it should be taken apart has its module to be named here.

use crate::rtl;
use crate::tools::{ToolError, Tools};
use crate::unit::UnitSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The modules that are taken apart.
pub const OPENED: [&str; 13] = [
    "pim_dimm",
    "host_port",
    "pim_module",
    "pim_rank",
    "command_path",
    "softmax_path",
    "operand_path",
    "pim_chip",
    "aim_hub",
    "aim_channel",
    "aim_pus",
    "aim_adders",
    "aim_softmax",
];

/// Whether an instance stays with the module that is taken apart: gates of the clocks that it makes,
/// memories, which are taken out of every netlist, and codes of the pins, whose time is in that of the module.
fn stays(module: &str) -> bool {
    ["clock_gate", "host_decoder", "pin_decoder", "pin_encoder"].contains(&module)
        || module.starts_with("ram")
}

/// Equal instances.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The module.
    pub module: String,
    /// Its parameters, but for defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, i64>,
    /// The modules around it that are taken apart, from the top. Where its module is the last of them, the
    /// part is what that has beside its instances.
    pub within: Vec<String>,
    /// How many there are in the top.
    pub count: u64,
}

impl Part {
    /// Whether it is what a module has beside its instances.
    pub fn is_rest(&self) -> bool {
        self.within.last() == Some(&self.module)
    }

    /// The module that the instances are in, or itself for a rest.
    pub fn place(&self) -> &str {
        self.within.last().map_or(&self.module, String::as_str)
    }
}

impl From<&Part> for UnitSpec {
    fn from(part: &Part) -> Self {
        let mut unit = part.module.clone();
        for (name, value) in &part.parameters {
            let _ = write!(unit, " {name}={value}");
        }
        if part.is_rest() {
            unit += ", rest";
        }
        let (module, parameters) = (part.module.clone(), part.parameters.clone());
        Self { unit, module, parameters, alone: part.is_rest() }
    }
}

/// Instances of a module with these parameters.
type Instances = BTreeMap<(String, BTreeMap<String, i64>), u64>;

/// The parts of a module with these parameters, in the order in which they are met, from the top down.
pub fn parts(
    tools: &Tools,
    sources: &rtl::Sources<'_>,
    top: &str,
    parameters: BTreeMap<String, i64>,
) -> Result<Vec<Part>, ToolError> {
    let mut parts = Vec::new();
    let whole = Part { module: top.to_owned(), parameters, within: Vec::new(), count: 1 };
    take_apart(tools, sources, whole, &mut parts)?;
    Ok(parts)
}

fn take_apart(
    tools: &Tools,
    sources: &rtl::Sources<'_>,
    part: Part,
    parts: &mut Vec<Part>,
) -> Result<(), ToolError> {
    if !OPENED.contains(&part.module.as_str()) {
        parts.push(part);
        return Ok(());
    }
    let instances = instances(tools, sources, &part)?;
    let mut within = part.within.clone();
    within.push(part.module.clone());
    parts.push(Part { within: within.clone(), ..part.clone() });
    for ((module, parameters), count) in instances {
        let count = count * part.count;
        let part = Part { module, parameters, within: within.clone(), count };
        take_apart(tools, sources, part, parts)?;
    }
    Ok(())
}

/// Whether the instances of a module are parts of their own where another is taken apart.
pub(crate) fn is_part(name: &str, module: &str) -> bool {
    name != module && !stays(name) && !name.ends_with("_pkg")
}

/// `--blackboxed-module` for the modules whose instances are parts of one that is taken apart.
pub(crate) fn black_boxes(sources: &rtl::Sources<'_>, module: &str) -> String {
    let names = sources.iter().filter_map(|(path, _)| path.file_stem()?.to_str());
    let parts = names.filter(|name| is_part(name, module));
    parts.map(|name| format!(" --blackboxed-module {name}")).collect()
}

/// The instances in a module.
fn instances(
    tools: &Tools,
    sources: &rtl::Sources<'_>,
    part: &Part,
) -> Result<Instances, ToolError> {
    let folder = tempfile::tempdir().map_err(ToolError::temporary)?;
    let is_part = |name: &str| is_part(name, &part.module);
    let files = rtl::write(sources, folder.path(), is_part).map_err(ToolError::temporary)?;
    let mut script =
        format!("read_slang --top {}{}", part.module, black_boxes(sources, &part.module));
    for (name, value) in &part.parameters {
        let _ = write!(script, " -G {name}={value}");
    }
    for file in files {
        let _ = write!(script, " {}", file.display());
    }
    let result = folder.path().join("instances.json");
    let _ = writeln!(script, "\ndelete t:$*\nwrite_json {}", result.display());
    let file = folder.path().join("hierarchy.ys");
    let unit = format!("the instances of {}", part.module);
    std::fs::write(&file, script).map_err(ToolError::temporary)?;
    tools.yosys(&unit, &file)?;
    let text = std::fs::read(&result).map_err(ToolError::temporary)?;
    let what = "instances";
    read(&text, sources, &part.module).ok_or(ToolError::Output { tool: "Yosys", unit, what })
}

/// The instances in the JSON that Yosys wrote of a module.
fn read(text: &[u8], sources: &rtl::Sources<'_>, module: &str) -> Option<Instances> {
    let document: Value = serde_json::from_slice(text).ok()?;
    let mut instances = Instances::new();
    for cell in document.get("modules")?.get(module)?.get("cells")?.as_object()?.values() {
        let name = cell.get("type")?.as_str()?;
        let mut values = BTreeMap::new();
        for (name, value) in cell.get("parameters")?.as_object()? {
            // Yosys lists what is derived from the parameters, too, whatever it is.
            let value = value.as_str().and_then(|bits| i64::from_str_radix(bits, 2).ok());
            values.extend(value.map(|value| (name.clone(), value)));
        }
        let parameters = rtl::overrides(sources, name, &values)?;
        *instances.entry((name.to_owned(), parameters)).or_default() += 1;
    }
    Some(instances)
}
