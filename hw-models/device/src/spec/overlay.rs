// SPDX-License-Identifier: MIT
//! A file over the built-in device that it names as its base.

use crate::config::ConfigError;
use crate::kinds;
use toml::{Table, Value};

/// Characters of a source, at most.
const SOURCE: usize = 200;

/// The table of a file that has a base, with what the base has; none without one.
pub fn over_base(mut file: Table) -> Result<Option<Table>, ConfigError> {
    let Some(base) = file.remove("base") else { return Ok(None) };
    let text = base.as_str().and_then(kinds::built_in_file).ok_or_else(|| no_base(&base))?;
    if !file.contains_key("name") {
        return Err(ConfigError::key(&"missing field `name`: it is not its base's"));
    }
    let source = source(&base, &file);
    let mut whole: Table = text.parse().expect("tested with the presets");
    whole.insert("source".to_owned(), source.into());
    let file = with_followers(file, &whole);
    put_over(&mut whole, file);
    Ok(Some(whole))
}

fn no_base(base: &Value) -> ConfigError {
    let names: Vec<_> = kinds::built_in().map(|(name, _)| name).collect();
    ConfigError::key(&format!("base = {base}: expected one of {}", names.join(", ")))
}

/// Latencies of registers that are those of columns in some devices.
const FOLLOW: [(&str, &str); 2] = [("CL", "CL_REG"), ("CWL", "CWL_GB")];

/// A file with the latencies that follow one that it names, as they do in its base.
fn with_followers(mut file: Table, base: &Table) -> Table {
    let of_base = &base["timing"];
    if let Some(Value::Table(timing)) = file.get_mut("timing") {
        for (key, follower) in FOLLOW {
            let follows = of_base.get(key) == of_base.get(follower);
            if let (Some(value), true) = (timing.get(key).cloned(), follows) {
                timing.entry(follower).or_insert(value);
            }
        }
    }
    file
}

/// Puts what a file says in the place of what its base has.
fn put_over(base: &mut Table, file: Table) {
    for (key, value) in file {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(of_base)), Value::Table(of_file)) => put_over(of_base, of_file),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// The source of a file that names none: the keys that differ from the base's.
fn source(base: &Value, file: &Table) -> String {
    let mut keys = Vec::new();
    for (key, value) in file.iter().filter(|(key, _)| *key != "name") {
        match value {
            Value::Table(table) => keys.extend(table.keys().cloned()),
            _ => keys.push(key.clone()),
        }
    }
    let base = base.as_str().unwrap_or_default();
    match keys.len() {
        0 => base.to_owned(),
        _ => format!("{base} but for {}", keys.join(", ")).chars().take(SOURCE).collect(),
    }
}
