// SPDX-License-Identifier: MIT
//! The files of the built-in devices.

/// Built-in devices: name, and file.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("ddr4-3200", include_str!("../../presets/ddr4-3200.toml")),
    ("ddr4-3200-16gb", include_str!("../../presets/ddr4-3200-16gb.toml")),
    ("gddr6-aim", include_str!("../../presets/gddr6-aim.toml")),
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The file of one of them.
pub fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
