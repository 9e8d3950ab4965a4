// SPDX-License-Identifier: MIT
//! Libraries of standard cells, in the Liberty format: what an area needs of them.

mod cell;
mod errata;
mod shape;

use liberty_parser::ast::{GroupItem, LibertyAst};
use liberty_parser::liberty::Group;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

/// Bytes of a library, at the most. The parser takes 27 times as much memory for one of cells, and up to 70
/// times for empty groups.
const MOST_BYTES: u64 = 64 << 20;
/// Area of a cell in um2, at the most: a square millimetre.
const MOST_UM2: f64 = 1e6;

/// A library that is part of the program: areas of the Nangate 45 nm Open Cell Library, without timing.
pub const NANGATE45_AREAS: &str = include_str!("../../libraries/nangate45_areas.lib");

/// A library.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its name, as it says itself.
    pub name: String,
    /// The file that was named, for messages.
    pub source: PathBuf,
    /// The file that the tools read: the one that was named, or a copy of what it should say.
    pub file: PathBuf,
    /// Its bytes, as the tools read them.
    pub(crate) text: Vec<u8>,
    /// Area of the smallest two-input NAND in um2: a gate equivalent.
    pub nand2_um2: f64,
    /// Its name.
    pub nand2: String,
    /// The smallest full adder, if it has one.
    pub full_adder: Option<FullAdder>,
    /// The smallest inverter that says how long it takes, if there is one.
    pub inverter: Option<Inverter>,
    /// Whether cells say how long they take.
    pub has_timing: bool,
    /// What of it is known to be wrong and was corrected.
    pub corrections: Vec<String>,
    /// The cells by name.
    pub(crate) cells: BTreeMap<String, CellInfo>,
    /// Keeps the copy.
    copy: Option<Arc<TempPath>>,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellInfo {
    /// Area in um2.
    pub area_um2: f64,
    /// It holds state.
    pub holds_state: bool,
}

/// A cell that is a full adder, and its pins.
#[derive(Clone, Debug, PartialEq)]
pub struct FullAdder {
    /// Its name.
    pub cell: String,
    /// Its inputs.
    pub inputs: [String; 3],
    /// The output of the inputs' weight.
    pub sum: String,
    /// The output of twice their weight.
    pub carry: String,
}

/// A cell that is an inverter, and its pins.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverter {
    /// Its name.
    pub cell: String,
    /// Its input.
    pub input: String,
    /// Its output.
    pub output: String,
}

/// What is wrong with a library, and where.
#[derive(Debug, thiserror::Error)]
pub struct LibraryError {
    /// Which file.
    pub file: PathBuf,
    /// Which line, from 1 on, if it is about one.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { file, line, what } = self;
        match line {
            Some(line) => write!(f, "{}:{line}: {what}", file.display()),
            None => write!(f, "{}: {what}", file.display()),
        }
    }
}

/// A line, if any, and what is wrong there.
pub(crate) type Wrong = (Option<usize>, String);

impl Library {
    /// Reads a library. Areas that it is known to have wrong are corrected.
    pub fn read(file: &Path) -> Result<Self, LibraryError> {
        let error = |what: String| LibraryError { file: file.to_owned(), line: None, what };
        let size = std::fs::metadata(file).map_err(|e| error(e.to_string()))?;
        if !size.is_file() || size.len() > MOST_BYTES {
            return Err(error(format!("expected a file of at most {MOST_BYTES} bytes")));
        }
        let text = std::fs::read(file).map_err(|e| error(e.to_string()))?;
        Self::from_text(file, text)
    }

    /// The library of areas that is part of the program: see [`NANGATE45_AREAS`].
    pub fn nangate45_areas() -> Result<Self, LibraryError> {
        Self::from_text(Path::new("nangate45_areas.lib"), NANGATE45_AREAS.into())
    }

    /// A library from the text of a file, which need not be there.
    pub fn from_text(file: &Path, text: Vec<u8>) -> Result<Self, LibraryError> {
        let error = |(line, what)| LibraryError { file: file.to_owned(), line, what };
        let mut library = Self::parse(file, text).map_err(error)?;
        if library.correct() || !is_plain(file) || !file.is_file() {
            library.copy().map_err(|e| error((None, format!("a copy for the tools: {e}"))))?;
        }
        Ok(library)
    }

    /// What is known of a cell.
    pub fn cell(&self, name: &str) -> Option<CellInfo> {
        self.cells.get(name).copied()
    }

    fn parse(file: &Path, text: Vec<u8>) -> Result<Self, Wrong> {
        let source = std::str::from_utf8(&text)
            .map_err(|e| (Some(line_of(&text, e.valid_up_to())), "expected UTF-8".to_owned()))?;
        let mut libraries = libraries(source)?;
        let (Some(library), None) = (libraries.next(), libraries.next()) else {
            return Err((None, "expected one library".to_owned()));
        };
        let mut cells = BTreeMap::new();
        for group in library.iter_cells() {
            let Some(area_um2) = cell::area(group) else { continue };
            if !(0.0..=MOST_UM2).contains(&area_um2) {
                let what = format!("cell {}: expected an area of 0 to {MOST_UM2} um2", group.name);
                return Err((line_of_cell(source, &group.name), what));
            }
            let info = CellInfo { area_um2, holds_state: cell::holds_state(group) };
            cells.insert(group.name.clone(), info);
        }
        let of_library = (&library, &cells);
        let nand2 = smallest(of_library, |group| cell::is_nand2(group).then(|| group.name.clone()));
        let missing = "no cell with an area whose function is that of a two-input NAND";
        let (nand2_um2, nand2) = nand2.ok_or((None, missing.to_owned()))?;
        let full_adder = smallest(of_library, cell::full_adder).map(|(_, adder)| adder);
        let inverter = smallest(of_library, cell::inverter).map(|(_, inverter)| inverter);
        Ok(Self {
            name: library.name.clone(),
            source: file.to_owned(),
            file: file.to_owned(),
            nand2_um2,
            nand2,
            full_adder,
            inverter,
            has_timing: library.iter_cells().any(cell::is_timed),
            corrections: Vec::new(),
            cells,
            text,
            copy: None,
        })
    }

    /// Corrects what is known to be wrong; whether something was.
    fn correct(&mut self) -> bool {
        for erratum in errata::of(&self.name) {
            let Some(info) = self.cells.get_mut(erratum.cell) else { continue };
            if errata::correct(&mut self.text, &erratum) {
                info.area_um2 = erratum.true_um2;
                let errata::Erratum { cell, said_um2, true_um2, .. } = erratum;
                let correction =
                    format!("{cell} counts {true_um2} um2 as in its LEF, not {said_um2}");
                self.corrections.push(correction);
            }
        }
        !self.corrections.is_empty()
    }

    /// Has the tools read a copy.
    fn copy(&mut self) -> std::io::Result<()> {
        let file = tempfile::Builder::new().prefix("pimlico-").suffix(".lib").tempfile()?;
        std::fs::write(file.path(), &self.text)?;
        self.file = file.path().to_owned();
        self.copy = Some(Arc::new(file.into_temp_path()));
        Ok(())
    }
}

/// Of the cells with an area that are of some kind, the smallest: its area, and what the kind says of it.
fn smallest<T>(
    (library, cells): (&Group, &BTreeMap<String, CellInfo>),
    kind: impl Fn(&Group) -> Option<T>,
) -> Option<(f64, T)> {
    library
        .iter_cells()
        .filter_map(|group| Some((cells.get(&group.name)?.area_um2, kind(group)?)))
        .filter(|(area, _)| *area > 0.0)
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether a path means the same in a script of any tool.
fn is_plain(file: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    file.to_str().is_some_and(|path| path.chars().all(plain))
}

/// The line of a byte.
fn line_of(text: &[u8], at: usize) -> usize {
    1 + text[..at].iter().filter(|&&byte| byte == b'\n').count()
}

/// The line in which a cell begins.
fn line_of_cell(source: &str, name: &str) -> Option<usize> {
    let begins = |line: &str| line.contains("cell") && line.contains(name);
    source.lines().position(begins).map(|n| n + 1)
}

/// The libraries of a text.
pub(crate) fn libraries(text: &str) -> Result<impl Iterator<Item = Group> + use<>, Wrong> {
    let text = shape::without_comments(text).map_err(|wrong| (Some(wrong.line), wrong.what))?;
    let parsed = LibertyAst::from_string(&text).map_err(|e| first_place(&e.to_string()))?;
    let is_group = |item: &GroupItem| matches!(item, GroupItem::Group(..));
    Ok(parsed.0.into_iter().filter(is_group).map(Group::from_group_item))
}

/// The first place that the parser's message names.
fn first_place(message: &str) -> Wrong {
    let place = message.split("at line ").nth(1).and_then(|rest| rest.split(':').next());
    let expected = message.lines().find(|line| line.starts_with("expected "));
    let line = place.and_then(|line| line.parse().ok());
    (line, expected.unwrap_or("expected an attribute or a group of Liberty").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
library(small) {
  cell(NAND) { area : 2.5; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(!(A B))"; } }
  cell(BIG) { area : 4; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "!(B & A)"; } }
  cell(NOR) { area : 1; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "!(A | B)"; } }
  cell(FF) { area : 9; ff(IQ, IQN) { next_state : "D"; } pin(D) { direction : input; } }
  cell(FA) { area : 7; pin(X) { direction : input; } pin(Y) { direction : input; }
    pin(Z) { direction : input; } pin(C) { direction : output; function : "(X Y)+Z (X+Y)"; }
    pin(S) { direction : output; function : "X^Y^Z"; } }
  cell(FS) { area : 6; pin(X) { direction : input; } pin(Y) { direction : input; }
    pin(Z) { direction : input; } pin(C) { direction : output; function : "(X' Y)+Z (X'+Y)"; }
    pin(S) { direction : output; function : "X^Y^Z"; } }
}
"#;

    fn parse(text: &str) -> Result<Library, String> {
        let library = Library::from_text(Path::new("x.lib"), text.as_bytes().to_vec());
        library.map_err(|error| error.to_string())
    }

    #[test]
    fn the_smallest_nand_is_the_unit() {
        let library = parse(SMALL).expect("a library");
        assert_eq!((library.name.as_str(), library.nand2.as_str()), ("small", "NAND"));
        assert_eq!(library.nand2_um2, 2.5);
        assert_eq!(library.cells["FF"], CellInfo { area_um2: 9.0, holds_state: true });
        assert!(!library.cells["BIG"].holds_state);
    }

    #[test]
    fn a_full_adder_is_known_by_its_functions() {
        let library = parse(SMALL).expect("a library");
        let adder = FullAdder {
            cell: "FA".to_owned(),
            inputs: ["X", "Y", "Z"].map(str::to_owned),
            sum: "S".to_owned(),
            carry: "C".to_owned(),
        };
        assert_eq!(library.full_adder, Some(adder));
        let without = parse(&SMALL.replace("X^Y^Z", "X^Y")).expect("a library");
        assert_eq!(without.full_adder, None);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let refused = |text: &str| parse(text).expect_err("no library");
        let without = SMALL.replace("area : 4;", "area : 4 area : 5;");
        assert!(refused(&without).starts_with("x.lib:"), "a semicolon is missing");
        assert_eq!(refused(&SMALL[..200]), "x.lib:5: the file ends, but the { of line 5 is open");
        let error = refused(&SMALL.replace("!(A B)", "A").replace("!(B & A)", "B"));
        assert_eq!(
            error,
            format!("x.lib: {}", "no cell with an area whose function is that of a two-input NAND")
        );
        assert_eq!(refused(""), "x.lib: expected one library");
        for area in ["1e300", "1e999", "-1", "2e6"] {
            let error = refused(&SMALL.replace("area : 9", &format!("area : {area}")));
            assert_eq!(error, "x.lib:9: cell FF: expected an area of 0 to 1000000 um2");
        }
        let latin = [SMALL.as_bytes(), b"/* \xE9 */"].concat();
        let error = Library::from_text(Path::new("x.lib"), latin).expect_err("not UTF-8");
        assert_eq!(error.to_string(), "x.lib:17: expected UTF-8");
    }

    #[test]
    fn tools_read_a_copy_where_there_is_no_such_file() {
        let library = parse(SMALL).expect("a library");
        assert_eq!(std::fs::read(&library.file).expect("a copy"), SMALL.as_bytes());
        let copy = library.file.clone();
        drop(library);
        assert!(!copy.exists());
    }

    #[test]
    fn a_known_slip_is_corrected_in_what_the_tools_read() {
        let slip = SMALL
            .replace("library(small)", "library(osu018_stdcells)")
            .replace("cell(NOR) { area : 1;", "cell (OAI21X1) { area : 23;");
        let library = parse(&slip).expect("a library");
        assert_eq!(library.cells["OAI21X1"].area_um2, 32.0);
        assert_eq!(library.corrections, ["OAI21X1 counts 32 um2 as in its LEF, not 23"]);
        let copy = std::fs::read_to_string(&library.file).expect("a copy");
        assert_eq!(copy, slip.replace("area : 23;", "area : 32;"));
    }

    #[test]
    fn the_smallest_inverter_with_timing_is_found() {
        let inverter = |cell: &str, area: f64, timing: &str| {
            let pin = format!("pin(Q) {{ direction : output; function : \"P'\"; {timing} }}");
            format!("cell({cell}) {{ area : {area}; pin(P) {{ direction : input; }} {pin} }}\n")
        };
        let timed = "timing() { related_pin : \"P\"; }";
        let cells = [inverter("A", 1.0, ""), inverter("B", 3.0, timed), inverter("C", 2.0, timed)];
        let [all, untimed] = [&cells[..], &cells[..1]].map(|cells| {
            SMALL.replace("library(small) {", &format!("library(small) {{\n{}", cells.concat()))
        });
        let found = parse(&all).expect("a library").inverter;
        let [cell, input, output] = ["C", "P", "Q"].map(str::to_owned);
        assert_eq!(found, Some(Inverter { cell, input, output }));
        assert_eq!(parse(&untimed).expect("a library").inverter, None);
    }

    #[test]
    fn a_library_says_whether_it_has_timing() {
        assert!(!parse(SMALL).expect("a library").has_timing);
        let timed = SMALL.replace(
            "function : \"!(B & A)\";",
            "function : \"!(B & A)\"; timing() { related_pin : \"A\"; }",
        );
        assert!(parse(&timed).expect("a library").has_timing);
    }

    #[test]
    fn the_areas_of_nangate45_are_a_library() {
        let library = Library::nangate45_areas().expect("a library");
        assert_eq!((library.nand2.as_str(), library.nand2_um2), ("NAND2_X1", 0.798));
        let adder = library.full_adder.as_ref().expect("a full adder");
        assert_eq!((adder.cell.as_str(), &adder.inputs[2]), ("FA_X1", &"CI".to_owned()));
        assert_eq!((adder.carry.as_str(), adder.sum.as_str()), ("CO", "S"));
        assert!(!library.has_timing && library.inverter.is_none());
        assert!(library.cells["DFFR_X1"].holds_state && !library.cells["XOR2_X1"].holds_state);
        // Outlines are so many sites of 0.19 um by a row of 1.4 um.
        for (name, cell) in &library.cells {
            let sites = cell.area_um2 / (0.19 * 1.4);
            assert!((sites - sites.round()).abs() < 1e-6 && sites > 1.5, "{name} {sites}");
        }
    }
}
