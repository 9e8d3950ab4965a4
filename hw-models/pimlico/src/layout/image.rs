// SPDX-License-Identifier: MIT
//! The file of an image:
//!
//! ```text
//! 16 bytes    "PIMLICO LP5 0001"
//!  8 bytes    bytes of the header, little-endian
//! header      JSON: the address map, the format of elements, of each matrix its name, shape and first row
//! zeros       up to a multiple of 4096 bytes
//! memory      from address 0 on, whole rows of all banks
//! 32 bytes    SHA-256 of all before
//! ```
//!
//! The digest is last, so that an image can be written through a pipe.

use crate::failure::Failure;
use clap::ValueEnum;
use pimlico_device::lp5::AddressMap;
use pimlico_host::lp5_image::ImagePlan;
use pimlico_model::checkpoint::places::Place;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// What every image begins with.
const MAGIC: &[u8; 16] = b"PIMLICO LP5 0001";
/// Bytes of magic and length.
const START: usize = MAGIC.len() + 8;
/// Bytes of a header, at the most.
const LARGEST_HEADER: usize = 64 << 20;
/// Bytes of which the memory begins at a multiple.
const ALIGNMENT: usize = 4096;
/// Bytes of the digest.
const DIGEST: usize = 32;

/// The format of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// bfloat16, the paper's
    Bfloat16,
    /// binary16
    Binary16,
}

impl Element {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bfloat16 => "bfloat16",
            Self::Binary16 => "binary16",
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    address_map: String,
    elements: Element,
    matrices: Vec<Matrix>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    name: String,
    rows: u64,
    columns: u64,
    first_row: u64,
}

/// The bytes before the memory.
pub fn start(plan: &ImagePlan, elements: Element) -> Vec<u8> {
    let matrix = |(name, layout): &(String, pimlico_device::lp5::Lp5Layout)| {
        let (rows, columns) = layout.shape();
        Matrix { name: name.clone(), rows, columns, first_row: layout.first_row() }
    };
    let header = Header {
        address_map: plan.map().to_string(),
        elements,
        matrices: plan.matrices().iter().map(matrix).collect(),
    };
    let header = serde_json::to_vec(&header).expect("plain data");
    let mut bytes = MAGIC.to_vec();
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// An image that was read.
pub struct Image<'a> {
    /// The places of its matrices.
    pub plan: ImagePlan,
    /// The format of its elements.
    pub elements: Element,
    /// The memory from address 0 on.
    pub memory: &'a [u8],
}

impl Image<'_> {
    /// Whether it has the matrices of a model.
    pub fn has_matrices(
        &self,
        file: &Path,
        matrices: &[Place],
        model: &str,
    ) -> Result<(), Failure> {
        let same = self.same_matrices(matrices);
        same.map_err(|what| Failure::Input(format!("{}: {what} of {model}", file.display())))
    }

    fn same_matrices(&self, matrices: &[Place]) -> Result<(), String> {
        let of_image = self.plan.matrices();
        if of_image.len() != matrices.len() {
            return Err(format!("{} matrices, expected the {}", of_image.len(), matrices.len()));
        }
        for (place, (name, layout)) in matrices.iter().zip(of_image) {
            let (rows, columns) = layout.shape();
            if (name, rows, columns) != (&place.name, place.rows as u64, place.columns as u64) {
                let Place { name: expected, rows: of_rows, columns: of_columns, .. } = place;
                return Err(format!(
                    "{name}, {rows} x {columns}: expected {expected}, {of_rows} x {of_columns},"
                ));
            }
        }
        Ok(())
    }
}

/// Reads an image, whose header, length and digest have to be right.
pub fn read<'a>(file: &Path, bytes: &'a [u8]) -> Result<Image<'a>, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", file.display()));
    let (magic, rest) = bytes.split_at(bytes.len().min(MAGIC.len()));
    if magic != MAGIC {
        return Err(wrong("expected an image of `pimlico layout convert`".to_owned()));
    }
    let length = rest.first_chunk().map(|length| u64::from_le_bytes(*length));
    let length = length.and_then(|length| usize::try_from(length).ok());
    let header = length.filter(|length| *length <= LARGEST_HEADER);
    let header = header.and_then(|length| bytes.get(START..START + length));
    let Some(header) = header else {
        let found = length.map_or("no length".to_owned(), |length| format!("{length} bytes"));
        return Err(wrong(format!(
            "header: {found}, expected as many as the file has, at most 64 MiB"
        )));
    };
    let read: Header =
        serde_json::from_slice(header).map_err(|error| wrong(format!("header: {error}")))?;
    let plan = plan(&read).map_err(|error| wrong(format!("header: {error}")))?;
    let from = (START + header.len()).next_multiple_of(ALIGNMENT);
    let expected = from as u128 + u128::from(plan.bytes()) + DIGEST as u128;
    if bytes.len() as u128 != expected {
        let found = bytes.len();
        return Err(wrong(format!("{found} bytes, expected {expected} by its header")));
    }
    let (before, digest) = bytes.split_at(bytes.len() - DIGEST);
    if Sha256::digest(before)[..] != *digest {
        return Err(wrong(
            "SHA-256 differs from that at its end: the image was changed".to_owned(),
        ));
    }
    Ok(Image { plan, elements: read.elements, memory: &before[from..] })
}

/// The matrices of a header, which are one behind the other.
fn plan(header: &Header) -> Result<ImagePlan, String> {
    let map: AddressMap = header.address_map.parse().map_err(|error| format!("{error}"))?;
    let mut plan = ImagePlan::new(map).map_err(|error| error.to_string())?;
    for Matrix { name, rows, columns, first_row } in &header.matrices {
        let expected = plan.rows();
        if *first_row != expected {
            return Err(format!("{name}: first row {first_row}, expected {expected}"));
        }
        plan.push(name, (*rows, *columns)).map_err(|error| error.to_string())?;
    }
    Ok(plan)
}
