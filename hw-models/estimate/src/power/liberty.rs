// SPDX-License-Identifier: MIT
//! A library's attributes and tables, in one set of units.

use super::table::Table;
use crate::liberty as area;
use liberty_parser::Value;
use liberty_parser::liberty::Group;
use std::collections::BTreeMap;

/// The one library of a text.
pub fn library(text: &str) -> Result<Group, String> {
    let mut libraries = area::libraries(text).map_err(|(line, what)| match line {
        Some(line) => format!("line {line}: {what}"),
        None => what,
    })?;
    libraries.next().ok_or_else(|| "expected one library".to_owned())
}

/// An attribute that is a word, in quotation marks or not.
pub fn word<'a>(group: &'a Group, name: &str) -> Option<&'a str> {
    match group.simple_attribute(name)? {
        Value::String(word) | Value::Expression(word) => Some(word.trim()),
        _ => None,
    }
}

/// An attribute that is a number.
pub fn number(group: &Group, name: &str) -> Option<f64> {
    let number = match group.simple_attribute(name)? {
        Value::Float(number) => Some(*number),
        Value::String(text) | Value::Expression(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// The units of a library, and what it says of all cells.
#[derive(Clone, Debug)]
pub struct Units {
    /// Supply in V.
    pub volts: f64,
    /// What a capacitance of 1 is in fF.
    capacitance_ff: f64,
    /// What a time of 1 is in ps.
    time_ps: f64,
    /// What an energy of 1 is in fJ: a capacitance times a voltage squared.
    energy_fj: f64,
    /// What a leakage of 1 is in nW.
    pub leakage_nw: f64,
    /// Leakage of a cell without its own.
    pub default_leakage: Option<f64>,
    default_capacitance: Option<f64>,
    templates: BTreeMap<String, Axes>,
}

/// What the two directions of a table are.
#[derive(Clone, Debug, Default)]
struct Axes {
    /// Whether each is the load of the output.
    is_load: [Option<bool>; 2],
    points: [Option<Vec<f64>>; 2],
}

impl Units {
    /// Those of a library.
    pub fn read(library: &Group) -> Result<Self, String> {
        let of_unit = |name: &str, base: &str| {
            let text = word(library, name).ok_or_else(|| format!("expected {name}"))?;
            scale(text, base).ok_or_else(|| format!("{name} {text}: expected such as 1n{base}"))
        };
        let capacitance_ff = capacitive_load_unit(library)
            .ok_or("expected capacitive_load_unit, such as (1, pf)")?;
        // Where these are left out, 1 ns and 1 V is what the format says, or what is usual.
        let has = |name| library.simple_attribute(name).is_some();
        let time_ps = if has("time_unit") { of_unit("time_unit", "s")? * 1e12 } else { 1e3 };
        let unit_volts = if has("voltage_unit") { of_unit("voltage_unit", "V")? } else { 1.0 };
        let leakage_nw = of_unit("leakage_power_unit", "W")? * 1e9;
        let volts = number(library, "nom_voltage")
            .filter(|volts| *volts > 0.0)
            .ok_or("expected nom_voltage of more than 0")?
            * unit_volts;
        let mut templates = BTreeMap::new();
        for kind in ["lu_table_template", "power_lut_template"] {
            for group in library.iter_subgroups_of_type(kind) {
                templates.insert(group.name.clone(), Axes::of(group));
            }
        }
        Ok(Self {
            volts,
            capacitance_ff,
            time_ps,
            energy_fj: capacitance_ff * unit_volts * unit_volts,
            leakage_nw,
            default_leakage: number(library, "default_cell_leakage_power"),
            default_capacitance: number(library, "default_input_pin_cap"),
            templates,
        })
    }

    /// The capacitance of an input pin in fF.
    pub fn capacitance_ff(&self, pin: &Group) -> Result<f64, String> {
        number(pin, "capacitance")
            .or(self.default_capacitance)
            .filter(|capacitance| *capacitance >= 0.0)
            .map(|capacitance| capacitance * self.capacitance_ff)
            .ok_or_else(|| format!("pin {}: expected a capacitance", pin.name))
    }

    /// A table of times in ps.
    pub fn time_ps(&self, table: &Group) -> Result<Table, String> {
        self.table(table, self.time_ps)
    }

    /// A table of energies in fJ.
    pub fn energy_fj(&self, table: &Group) -> Result<Table, String> {
        self.table(table, self.energy_fj)
    }

    fn table(&self, group: &Group, unit: f64) -> Result<Table, String> {
        let wrong = |what: &str| format!("{} ({}): expected {what}", group.type_, group.name);
        let values = numbers(group, "values").ok_or_else(|| wrong("values"))?;
        let values: Vec<f64> = values.into_iter().map(|value| value * unit).collect();
        let template = self.templates.get(group.name.trim_matches('"'));
        let axes = template.cloned().unwrap_or_default();
        let (mut loads, mut slews) = (vec![0.0], vec![0.0]);
        let mut load_first = true;
        for (n, name) in ["index_1", "index_2"].into_iter().enumerate() {
            let Some(points) = numbers(group, name).or_else(|| axes.points[n].clone()) else {
                continue;
            };
            if values.len() == 1 && points.len() != 1 {
                continue; // a scalar
            }
            let is_load = axes.is_load[n].ok_or_else(|| wrong("a template of load and slew"))?;
            load_first &= n > 0 || is_load;
            let (axis, unit) = if is_load {
                (&mut loads, self.capacitance_ff)
            } else {
                (&mut slews, self.time_ps)
            };
            *axis = points.into_iter().map(|point| point * unit).collect();
        }
        let values = if load_first || loads.len() == 1 || values.len() != loads.len() * slews.len()
        {
            values
        } else {
            let (loads, slews) = (loads.len(), slews.len());
            (0..loads * slews).map(|i| values[i % slews * loads + i / slews]).collect()
        };
        Table::new(loads, slews, values).ok_or_else(|| wrong("a value for each point"))
    }
}

impl Axes {
    fn of(template: &Group) -> Self {
        let is_load = |name| {
            let variable = word(template, name)?;
            match variable {
                "total_output_net_capacitance" | "equal_or_opposite_output_net_capacitance" => {
                    Some(true)
                }
                "input_net_transition" | "input_transition_time" => Some(false),
                _ => None,
            }
        };
        Self {
            is_load: [is_load("variable_1"), is_load("variable_2")],
            points: [numbers(template, "index_1"), numbers(template, "index_2")],
        }
    }
}

/// The numbers of a complex attribute.
fn numbers(group: &Group, name: &str) -> Option<Vec<f64>> {
    let mut numbers = Vec::new();
    for value in group.complex_attribute(name)? {
        match value {
            Value::Float(number) => numbers.push(*number),
            Value::FloatGroup(group) => numbers.extend(group),
            Value::String(text) | Value::Expression(text) => {
                let words = text.split([',', ' ', '\n']).map(str::trim).filter(|w| !w.is_empty());
                for word in words {
                    numbers.push(word.parse().ok()?);
                }
            }
            Value::Bool(_) => return None,
        }
    }
    Some(numbers)
}

/// `capacitive_load_unit (1, pf)` in fF.
fn capacitive_load_unit(library: &Group) -> Option<f64> {
    let [number, unit] = library.complex_attribute("capacitive_load_unit")?.as_slice() else {
        return None;
    };
    let number = match number {
        Value::Float(number) => *number,
        Value::String(text) | Value::Expression(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    let (Value::String(unit) | Value::Expression(unit)) = unit else { return None };
    let ff = match unit.trim().to_lowercase().as_str() {
        "ff" => 1.0,
        "pf" => 1e3,
        "nf" => 1e6,
        _ => return None,
    };
    Some(number * ff).filter(|ff| ff.is_finite() && *ff > 0.0)
}

/// `10ps` in s, for the base `s`.
fn scale(text: &str, base: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..end].parse().ok()?;
    let prefix = text[end..].trim().strip_suffix(base)?;
    let prefix = match prefix {
        "" => 1.0,
        "m" => 1e-3,
        "u" => 1e-6,
        "n" => 1e-9,
        "p" => 1e-12,
        "f" => 1e-15,
        _ => return None,
    };
    Some(number * prefix).filter(|scale| *scale > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_numbers_with_a_prefix() {
        let near = |a: Option<f64>, b: f64| (a.expect("a unit") / b - 1.0).abs() < 1e-12;
        assert!(near(scale("1ns", "s"), 1e-9));
        assert!(near(scale("10ps", "s"), 1e-11));
        assert!(near(scale("100mV", "V"), 0.1));
        assert!(near(scale("1nW", "W"), 1e-9));
        assert_eq!(scale("1x", "s"), None);
        assert_eq!(scale("ns", "s"), None);
        assert_eq!(scale("0ns", "s"), None);
    }

    #[test]
    fn the_directions_of_a_table_are_those_of_its_template() {
        let text = "library(x) { time_unit : \"1ns\"; leakage_power_unit : \"1nW\"; \
             capacitive_load_unit (1, ff); nom_voltage : 2; \
             lu_table_template(t) { variable_1 : input_net_transition; \
               variable_2 : total_output_net_capacitance; \
               index_1 (\"1, 2\"); index_2 (\"1, 2, 3\"); } \
             cell_rise(t) { values (\"1, 2, 3\", \"4, 5, 6\"); } }";
        let library = library(text).expect("a library");
        let units = Units::read(&library).expect("units");
        let group = library.iter_subgroups_of_type("cell_rise").next().expect("a table");
        let table = units.time_ps(group).expect("sound");
        let flat = super::super::table::Beyond::Flat;
        assert_eq!(table.at(3.0, 1000.0, flat).round(), 3000.0);
        assert_eq!(table.at(1.0, 2000.0, flat).round(), 4000.0);
    }
}
