// SPDX-License-Identifier: MIT
//! Documents against their schemas: as much of JSON Schema as these have in them.

use serde_json::{Map, Value};
use std::process::Command;

/// Holds a document to the schema that the command prints for it.
pub fn check(document: &Value) {
    let id = document["pimlico"]["schema"].as_str().expect("the schema's name");
    let (name, _) = id.split_once('/').expect("a name and a version");
    let printed = Command::new(env!("CARGO_BIN_EXE_pimlico")).args(["schema", name]).output();
    let schema = serde_json::from_slice(&printed.expect("it runs").stdout).expect("a schema");
    if let Err(what) = holds(&schema, document) {
        panic!("{id}: {what}");
    }
}

/// Whether a value is one of a schema; where it is not.
fn holds(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = schema.as_object().expect("a schema");
    for (key, wanted) in schema {
        let is_held = match key.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => is_of(wanted, value),
            "const" => value == wanted,
            "enum" => wanted.as_array().expect("values").contains(value),
            "required" => has_all(wanted, value),
            "properties" | "additionalProperties" => continue,
            "items" => match value.as_array() {
                Some(items) => {
                    let mut all = items.iter().enumerate();
                    all.try_for_each(|(n, item)| at(&format!("[{n}]"), holds(wanted, item)))?;
                    true
                }
                None => true,
            },
            "anyOf" => {
                let schemas = wanted.as_array().expect("schemas");
                schemas.iter().any(|schema| holds(schema, value).is_ok())
            }
            other => panic!("{other}: not checked"),
        };
        if !is_held {
            return Err(format!(": {key} {wanted}, got {value:.100}"));
        }
    }
    value.as_object().map_or(Ok(()), |object| properties(schema, object))
}

fn properties(schema: &Map<String, Value>, object: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in object {
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        let held = match known.or(schema.get("additionalProperties")) {
            Some(Value::Bool(false)) => Err(": not in the schema".to_owned()),
            Some(Value::Bool(true)) | None => Ok(()),
            Some(schema) => holds(schema, value),
        };
        at(&format!(".{name}"), held)?;
    }
    Ok(())
}

fn at(place: &str, held: Result<(), String>) -> Result<(), String> {
    held.map_err(|what| format!("{place}{what}"))
}

fn has_all(names: &Value, value: &Value) -> bool {
    let mut names = names.as_array().expect("names").iter().filter_map(Value::as_str);
    value.as_object().is_none_or(|object| names.all(|name| object.contains_key(name)))
}

/// Whether a value is of a type, or of one of several.
fn is_of(types: &Value, value: &Value) -> bool {
    match types {
        Value::Array(types) => types.iter().any(|of| is_of(of, value)),
        of => match of.as_str().expect("a type") {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}: no type"),
        },
    }
}
