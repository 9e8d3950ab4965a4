// SPDX-License-Identifier: MIT
//! RoPE in a `config.json`: its base, and how its rates are scaled for contexts longer than those of
//! training.
//!
//! Files have it in `rope_theta` and `rope_scaling`, newer ones all in `rope_parameters`; the kind of
//! scaling is `rope_type`, in older files `type`. What is not understood is an error.

use super::config::{Keys, of_type, positive, short, text_of};
use super::{Malformed, RopeScaling};

/// The base of RoPE's angles, unless it is given.
const THETA: f64 = 10000.0;
/// Objects that may hold it.
const OBJECTS: [&str; 2] = ["rope_scaling", "rope_parameters"];
/// Kinds of scaling, and the keys that each needs.
const KINDS: [(&str, &[&str]); 3] = [
    ("default", &[]),
    ("linear", &["factor"]),
    (
        "llama3",
        &["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
    ),
];

/// The base of the angles, and the scaling.
pub fn read(keys: &Keys) -> Result<(f64, RopeScaling), Malformed> {
    let mut theta = positive(keys, "rope_theta")?;
    turns_all(keys, "partial_rotary_factor")?;
    let mut scaling = None;
    for object in OBJECTS {
        let Some(parameters) = parameters(keys, object)? else { continue };
        let (of_object, found) = read_object(&parameters, object)?;
        theta = agreed(&format!("{object}.rope_theta"), theta, of_object)?;
        scaling = agreed(object, scaling, Some(found))?;
    }
    Ok((theta.unwrap_or(THETA), scaling.unwrap_or(RopeScaling::None)))
}

/// What an object holds, each key with the object's name before it.
fn parameters(keys: &Keys, object: &str) -> Result<Option<Keys>, Malformed> {
    let parameters = of_type::<Keys>(keys, object, "an object or null")?;
    let named = |(key, value)| (format!("{object}.{key}"), value);
    Ok(parameters.map(|parameters| parameters.into_iter().map(named).collect()))
}

/// The base, if an object has it, and the scaling.
fn read_object(keys: &Keys, object: &str) -> Result<(Option<f64>, RopeScaling), Malformed> {
    let name = |key: &str| format!("{object}.{key}");
    let (new, old) = (text_of(keys, &name("rope_type"))?, text_of(keys, &name("type"))?);
    let kind = agreed(&name("type"), new, old)?.unwrap_or("default");
    let Some((_, needed)) = KINDS.into_iter().find(|(known, _)| *known == kind) else {
        let known = KINDS.map(|(known, _)| known).join(", ");
        return Err(Malformed::new(name("rope_type"), short(&kind.into()), known));
    };
    let common = ["rope_type", "type", "rope_theta", "partial_rotary_factor"];
    let is_known = |key: &str| common.iter().chain(needed).any(|known| name(known) == *key);
    if let Some((key, value)) = keys.iter().find(|(key, value)| !value.is_null() && !is_known(key))
    {
        let key: String = key.chars().take(60).collect();
        let expected = format!("none, as the type is {kind}");
        return Err(Malformed::new(key, short(value), expected));
    }
    turns_all(keys, &name("partial_rotary_factor"))?;
    let number = |key: &str| {
        let key = name(key);
        positive(keys, &key)?.ok_or_else(|| Malformed::new(key, "absent", "a positive number"))
    };
    let scaling = match kind {
        "linear" => RopeScaling::Linear { factor: at_least_1(name("factor"), number("factor")?)? },
        "llama3" => {
            let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
            if high <= low {
                let expected = format!("more than low_freq_factor, which is {low}");
                return Err(Malformed::new(name("high_freq_factor"), high.to_string(), expected));
            }
            RopeScaling::Llama3 {
                factor: at_least_1(name("factor"), number("factor")?)?,
                low,
                high,
                context: number("original_max_position_embeddings")?,
            }
        }
        _ => RopeScaling::None,
    };
    Ok((positive(keys, &name("rope_theta"))?, scaling))
}

/// Checks that RoPE turns all elements of a head.
fn turns_all(keys: &Keys, key: &str) -> Result<(), Malformed> {
    match positive(keys, key)? {
        Some(share) if share != 1.0 => Err(Malformed::new(key, share.to_string(), "1 or none")),
        _ => Ok(()),
    }
}

fn at_least_1(key: String, factor: f64) -> Result<f64, Malformed> {
    match factor >= 1.0 {
        true => Ok(factor),
        false => Err(Malformed::new(key, factor.to_string(), "1 or more")),
    }
}

/// What one of two places says, or both; `key` names the second.
fn agreed<T: PartialEq + std::fmt::Debug>(
    key: &str,
    first: Option<T>,
    second: Option<T>,
) -> Result<Option<T>, Malformed> {
    match (first, second) {
        (Some(first), Some(second)) if first != second => {
            let cut = |text: String| text.chars().take(120).collect::<String>();
            let (found, other) = (cut(format!("{second:?}")), cut(format!("{first:?}")));
            Err(Malformed::new(key, found, format!("{other}, as in another key")))
        }
        (first, second) => Ok(first.or(second)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rope(text: &str) -> Result<(f64, RopeScaling), String> {
        let keys: Keys = serde_json::from_str(text).expect("JSON");
        read(&keys).map_err(|error| error.to_string())
    }

    /// Llama 3.1's.
    const LLAMA3: &str = r#"{"rope_theta": 500000.0, "rope_scaling": {"factor": 8.0,
        "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
        "rope_type": "llama3"}}"#;
    const SCALING: RopeScaling =
        RopeScaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, context: 8192.0 };

    #[test]
    fn both_spellings_are_read() {
        assert_eq!(rope("{}"), Ok((10000.0, RopeScaling::None)));
        assert_eq!(rope(LLAMA3), Ok((500000.0, SCALING)));
        assert_eq!(rope(&LLAMA3.replace("rope_type", "type")), Ok((500000.0, SCALING)));
        let newer = LLAMA3.replace("rope_scaling", "rope_parameters");
        assert_eq!(rope(&newer), Ok((500000.0, SCALING)));
        let within = r#"{"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}"#;
        assert_eq!(rope(within), Ok((500000.0, RopeScaling::None)));
        assert_eq!(rope(r#"{"rope_parameters": {"rope_theta": 9}}"#), Ok((9.0, RopeScaling::None)));
        let linear = r#"{"rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2}}"#;
        assert_eq!(rope(linear), Ok((10000.0, RopeScaling::Linear { factor: 2.0 })));
        let null = r#"{"rope_scaling": null, "rope_parameters": null, "partial_rotary_factor": 1}"#;
        assert_eq!(rope(null), Ok((10000.0, RopeScaling::None)));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let with = |from: &str, to: &str| {
            assert!(LLAMA3.contains(from), "{from}");
            rope(&LLAMA3.replace(from, to)).expect_err("refused")
        };
        assert_eq!(
            with("llama3", "yarn"),
            "rope_scaling.rope_type: \"yarn\", expected default, linear, llama3"
        );
        assert_eq!(
            with("\"factor\": 8.0,", ""),
            "rope_scaling.factor: absent, expected a positive number"
        );
        assert_eq!(with("8.0", "0.5"), "rope_scaling.factor: 0.5, expected 1 or more");
        assert_eq!(
            with("4.0", "1"),
            "rope_scaling.high_freq_factor: 1, expected more than low_freq_factor, which is 1"
        );
        assert!(with("8192", "0").contains("embeddings: 0, expected a positive number"));
        assert_eq!(
            with("llama3", "linear"),
            "rope_scaling.high_freq_factor: 4.0, expected none, as the type is linear"
        );
        assert_eq!(
            rope(r#"{"rope_scaling": {"factor": 8}}"#).expect_err("no type"),
            "rope_scaling.factor: 8, expected none, as the type is default"
        );
        assert_eq!(
            with("\"rope_type\"", "\"type\": \"linear\", \"rope_type\""),
            "rope_scaling.type: \"linear\", expected \"llama3\", as in another key"
        );
        assert_eq!(
            with("\"factor\"", "\"rope_theta\": 3, \"factor\""),
            "rope_scaling.rope_theta: 3.0, expected 500000.0, as in another key"
        );
        let both = with("{\"rope_t", "{\"rope_parameters\": {}, \"rope_t");
        assert!(both.starts_with("rope_parameters: None, expected Llama3"), "{both}");
        assert!(with("{\"rope_t", "{\"partial_rotary_factor\": 0.5, \"rope_t").contains("0.5"));
        assert!(rope(r#"{"rope_scaling": 3}"#).is_err());
        let by_layer = r#"{"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}"#;
        assert!(rope(by_layer).is_err());
    }
}
