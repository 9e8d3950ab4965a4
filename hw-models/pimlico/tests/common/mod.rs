// SPDX-License-Identifier: MIT
//! What the tests of the command have in common.

mod schema;

use serde_json::Value;

/// A document that the command printed, without what it says of the command: that comes first in each. The document
/// is one of its schema.
pub fn document(printed: &[u8]) -> Value {
    let text = str::from_utf8(printed).expect("text");
    assert!(text.starts_with("{\n  \"pimlico\": {\n    \"version\": \""), "{text:.100}");
    let mut document: Value = serde_json::from_str(text).expect("one JSON document");
    schema::check(&document);
    let origin = document.as_object_mut().expect("an object").remove("pimlico").expect("origin");
    assert_eq!(origin["argv"][0], "pimlico");
    if let Some(seed) = document.get("seed") {
        assert_eq!(&origin["seed"], seed);
    }
    document
}
