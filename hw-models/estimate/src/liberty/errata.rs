// SPDX-License-Identifier: MIT
//! Areas that a well-known library has wrong.
//!
//! The libraries of OSU in Debian's `qflow-tech-osu018`, `-osu035` and `-osu050` have an area for OAI21X1
//! that is 23/32 of its outline in their own LEF, where it is as wide as AOI21X1, and none for LATCH. It
//! counts: ABC takes what is cheap, and one cell in four of a netlist is an OAI21X1.

/// An area that is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Erratum {
    /// The library, as it names itself.
    pub library: &'static str,
    /// The cell.
    pub cell: &'static str,
    /// What the library says, in um2.
    pub said_um2: f64,
    /// What the cell's outline in the LEF says, in um2.
    pub true_um2: f64,
}

const fn erratum(
    library: &'static str,
    cell: &'static str,
    said_um2: f64,
    true_um2: f64,
) -> Erratum {
    Erratum { library, cell, said_um2, true_um2 }
}

/// The errata.
const ERRATA: [Erratum; 6] = [
    erratum("osu018_stdcells", "OAI21X1", 23.0, 32.0),
    erratum("osu018_stdcells", "LATCH", 0.0, 56.0),
    erratum("osu035_stdcells", "OAI21X1", 92.0, 128.0),
    erratum("osu035_stdcells", "LATCH", 0.0, 224.0),
    erratum("osu05_stdcells", "OAI21X1", 207.0, 288.0),
    erratum("osu05_stdcells", "LATCH", 0.0, 504.0),
];

/// The errata of a library; of others than these there are none.
pub fn of(library: &str) -> impl Iterator<Item = Erratum> {
    ERRATA.into_iter().filter(move |erratum| erratum.library == library)
}

/// Puts the true area in place of what the text says, if it says that, in the cell's first line with an area.
pub fn correct(text: &mut Vec<u8>, erratum: &Erratum) -> bool {
    let Some((start, end, said)) = place(text, erratum.cell) else { return false };
    if said != erratum.said_um2 {
        return false;
    }
    text.splice(start..end, format!(" {}", erratum.true_um2).into_bytes());
    true
}

/// Where the area of a cell stands in the text, from behind the colon to the semicolon; and the area.
fn place(text: &[u8], cell: &str) -> Option<(usize, usize, f64)> {
    let find = |from: usize, what: &str| {
        let found = text[from..].windows(what.len()).position(|part| part == what.as_bytes());
        found.map(|at| from + at + what.len())
    };
    let head = find(0, &format!("cell ({cell})"))?;
    let colon = find(find(head, "area")?, ":")?;
    let end = find(colon, ";")? - 1;
    let said = std::str::from_utf8(&text[colon..end]).ok()?.trim().parse().ok()?;
    Some((colon, end, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_corrected_where_it_is_as_wrong_as_known() {
        let wrong = ERRATA[0];
        let text = |area: &str| {
            format!("cell (A) {{ area : 23; }}\ncell (OAI21X1) {{\n area : {area}; }}")
        };
        let mut corrected = text("23").into_bytes();
        assert!(correct(&mut corrected, &wrong));
        assert_eq!(String::from_utf8(corrected).expect("text"), text("32"));
        for area in ["32", "many"] {
            let mut other = text(area).into_bytes();
            assert!(!correct(&mut other, &wrong));
            assert_eq!(other, text(area).into_bytes());
        }
        assert!(!correct(&mut b"cell (OAI21X1) { area".to_vec(), &wrong));
    }
}
