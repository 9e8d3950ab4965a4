// SPDX-License-Identifier: MIT
//! JSON files of Hugging Face: one object, in which no key stands twice.

use super::Malformed;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Characters of a message that may come from the file.
const LONGEST: usize = 120;

/// Reads the text of a file.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Malformed> {
    serde_json::from_slice(text).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        Malformed::new(place, format!("no JSON ({})", found(&error)), "one object, each key once")
    })
}

/// What is wrong, without the place that the error names at its end.
pub fn found(error: &serde_json::Error) -> String {
    let found = error.to_string();
    cut(found.split(" at line").next().unwrap_or_default(), LONGEST)
}

/// At most so many characters of a text.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// An object of which no key is there twice.
pub struct Once<T>(pub BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Once<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Visitor(PhantomData))
    }
}

struct Visitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
    type Value = Once<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once<T>, A::Error> {
        let mut keys = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains_key(&key) {
                return Err(Error::custom(format!("key {:?} twice", cut(&key, 80))));
            }
            keys.insert(key, map.next_value()?);
        }
        Ok(Once(keys))
    }
}
