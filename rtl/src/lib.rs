// SPDX-License-Identifier: MIT
//! The RTL as a crate: the paths of its files, their texts, and a digest of them.
//!
//! All crates that read the RTL find it here: the models include the contracts in their documentation, the test
//! benches Verilate the RTL, and the estimates synthesise it. This crate includes no file itself. [`text!`],
//! [`contract!`] and [`sources!`] include files in the crate that calls them, so only that crate is compiled again when
//! one of them changes.
//!
//! ```
//! assert!(pimlico_rtl::contract!("bank/bank_pu").contains("bank_pu"));
//! let sources: pimlico_rtl::Sources = pimlico_rtl::sources!();
//! assert!(sources.iter().any(|(path, _)| *path == "bank/bank_pu.sv"));
//! ```

include!(concat!(env!("OUT_DIR"), "/macros.rs"));

/// The folder of the RTL on the machine that compiled this crate, for builds and tests. A program that runs elsewhere
/// uses [`sources!`].
pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Files by their paths from the folder of the RTL, and their texts.
pub type Sources = &'static [(&'static str, &'static str)];

/// The SHA-256 of sources in hexadecimal digits: the digest of what `sha256sum` prints for them, sorted by their paths.
///
/// ```
/// // cd rtl && find * -name '*.sv' -o -name '*.svh' -o -name '*.f' | LC_ALL=C sort | xargs sha256sum | sha256sum
/// assert_eq!(pimlico_rtl::sha256(pimlico_rtl::sources!()).len(), 64);
/// ```
#[cfg(feature = "sha256")]
pub fn sha256(sources: &[(&str, &str)]) -> String {
    use sha2::{Digest, Sha256};

    let digits = |hash: Sha256| -> String {
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let mut sorted = sources.to_vec();
    sorted.sort_unstable();
    let mut lines = Sha256::new();
    for (path, text) in sorted {
        let line = format!("{}  {path}\n", digits(Sha256::new_with_prefix(text)));
        lines.update(line);
    }
    digits(lines)
}
