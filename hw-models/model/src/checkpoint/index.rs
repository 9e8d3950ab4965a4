// SPDX-License-Identifier: MIT
//! `model.safetensors.index.json`: which of several safetensors files, the shards, holds which tensor.

use super::Malformed;
use super::json::{self, Once, cut};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Names of the files, in their order.
    shards: Vec<String>,
    /// The shard of each tensor.
    tensors: BTreeMap<String, usize>,
}

/// What is read of the file.
#[derive(Deserialize)]
struct File {
    weight_map: Once<String>,
}

impl Index {
    /// Reads the text of an index. Each shard is a file beside it: one that has a folder in its name is
    /// refused.
    pub fn read(text: &[u8]) -> Result<Self, Malformed> {
        let File { weight_map: Once(weight_map) } = json::read(text)?;
        if weight_map.is_empty() {
            return Err(Malformed::new("weight_map", "no tensor", "one or more"));
        }
        if let Some((tensor, shard)) = weight_map.iter().find(|(_, shard)| !is_name(shard)) {
            let (place, found) = (place(tensor), format!("{:?}", cut(shard, 60)));
            return Err(Malformed::new(place, found, "a .safetensors file beside the index"));
        }
        let shards: BTreeSet<_> = weight_map.values().cloned().collect();
        let shards: Vec<_> = shards.into_iter().collect();
        let number = |shard: String| shards.partition_point(|other| *other < shard);
        let tensors = weight_map.into_iter().map(|(name, shard)| (name, number(shard))).collect();
        Ok(Self { shards, tensors })
    }

    /// Names of the shards, in their order: files of the index's folder.
    pub fn shards(&self) -> &[String] {
        &self.shards
    }

    /// What is wrong where a shard cannot be read, at the first of its tensors.
    pub fn unreadable(&self, shard: &str, why: &str) -> Malformed {
        let of_shard = |number: &usize| self.shards[*number] == shard;
        let tensor = self.tensors.iter().find(|(_, number)| of_shard(number));
        let place = place(tensor.map_or("", |(name, _)| name));
        Malformed::new(place, format!("{shard}: {why}"), "a file beside the index")
    }

    /// The shard of a tensor.
    pub(super) fn shard_of(&self, tensor: &str) -> Option<usize> {
        self.tensors.get(tensor).copied()
    }
}

/// The place of a tensor in an index.
pub(super) fn place(tensor: &str) -> String {
    format!("weight_map.{}", cut(tensor, 80))
}

/// Whether a text is the name of a safetensors file without a folder.
fn is_name(shard: &str) -> bool {
    let stem = shard.strip_suffix(".safetensors");
    stem.is_some_and(|stem| !stem.is_empty()) && !shard.contains(['/', '\\', ':', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_have_their_shard() {
        let text = br#"{"metadata": {"total_size": 12}, "weight_map": {"c": "2.safetensors",
            "a": "1.safetensors", "b": "2.safetensors"}}"#;
        let index = Index::read(text).expect("an index");
        assert_eq!(index.shards(), ["1.safetensors", "2.safetensors"]);
        let shards = ["a", "b", "c", "d"].map(|tensor| index.shard_of(tensor));
        assert_eq!(shards, [Some(0), Some(1), Some(1), None]);
        assert_eq!(
            index.unreadable("2.safetensors", "No such file").to_string(),
            "weight_map.b: 2.safetensors: No such file, expected a file beside the index"
        );
    }

    #[test]
    fn what_is_no_index_is_refused() {
        let refused = |text: &str| Index::read(text.as_bytes()).expect_err(text).to_string();
        for shard in [
            concat!("..", "/a.safetensors"),
            "/a.safetensors",
            "b/a.safetensors",
            "a.bin",
            "",
            "..",
            ".safetensors",
            "c:a.safetensors",
            "b\\\\a.safetensors",
            "a\\u0000.safetensors",
        ] {
            let message = refused(&format!(r#"{{"weight_map": {{"some.weight": "{shard}"}}}}"#));
            assert!(message.starts_with("weight_map.some.weight: \""), "{message}");
            assert!(
                message.ends_with("expected a .safetensors file beside the index"),
                "{message}"
            );
        }
        let twice = r#"{"weight_map": {"a": "1.safetensors", "a": "2.safetensors"}}"#;
        assert!(refused(twice).contains("key \"a\" twice"));
        assert!(refused("{\"weight_map\": {}}").contains("weight_map: no tensor"));
        assert!(refused("{}").contains("missing field `weight_map`"));
        assert!(refused(r#"{"weight_map": {"a": 3}}"#).contains("expected a string"));
        assert!(refused("[1]").contains("no JSON"));
    }
}
