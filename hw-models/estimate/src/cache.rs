// SPDX-License-Identifier: MIT
//! Results that have been computed before, by the content of all that they come from.

use crate::area::Area;
use crate::hash::Hash;
use crate::liberty::{Inverter, Library};
use crate::timing::{self, Macros};
use crate::unit::UnitSpec;
use crate::yosys::{self, Sizing};
use crate::{fo4, rtl};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache(Option<PathBuf>);

impl Cache {
    /// In a folder, which need not exist; or none.
    pub fn new(folder: Option<&Path>) -> Self {
        Self(folder.map(Path::to_owned))
    }

    /// The area of a unit, if it is there and whole.
    pub fn area(&self, key: &str) -> Option<Area> {
        self.read(key)
    }

    /// Keeps an area. That it cannot be kept is no failure: it is computed again.
    pub fn put_area(&self, key: &str, area: &Area) {
        self.keep(key, area);
    }

    /// The FO4 of a library, if it is there and a delay.
    pub fn fo4(&self, library: &Library, inverter: &Inverter) -> Option<f64> {
        self.read(&fo4_key(library, inverter)).filter(|fo4: &f64| fo4.is_finite() && *fo4 > 0.0)
    }

    /// Keeps the FO4 of a library.
    pub fn put_fo4(&self, library: &Library, inverter: &Inverter, fo4_ns: f64) {
        self.keep(&fo4_key(library, inverter), &fo4_ns);
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(key.to_owned() + ".json"))
    }

    fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let text = std::fs::read(self.file(key)?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn keep(&self, key: &str, result: &impl Serialize) {
        let Some(file) = self.file(key) else { return };
        let Some(folder) = file.parent() else { return };
        let keep = || {
            std::fs::create_dir_all(folder)?;
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut new, result)?;
            new.persist(&file)?;
            Ok::<_, std::io::Error>(())
        };
        let _ = keep();
    }
}

/// What a result is known by.
pub(crate) fn key(
    sources: &rtl::Sources<'_>,
    yosys: &str,
    spec: &UnitSpec,
    library: &Library,
    clock_ns: f64,
    sizing: Sizing,
) -> String {
    let mut hash = Hash::default();
    let mut add = |part: &[u8]| hash.add(part);
    for (path, contents) in sources {
        add(path.as_os_str().as_encoded_bytes());
        add(contents);
    }
    add(&library.text);
    add(yosys.as_bytes());
    add(scripts(sources, spec, library, clock_ns, sizing).as_bytes());
    add(yosys::full_adder_map(library.full_adder.as_ref()).as_bytes());
    add(&clock_ns.to_le_bytes());
    hash.name()
}

/// What is done with a unit's sources. Of the library what it says counts, and not where it is.
fn scripts(
    sources: &rtl::Sources<'_>,
    spec: &UnitSpec,
    library: &Library,
    clock_ns: f64,
    sizing: Sizing,
) -> String {
    let folder = Path::new("");
    let synthesis = yosys::script(sources, spec, library, folder, &[""; 0]);
    let timing = timing::script(spec, library, folder, clock_ns, Macros::of_the_model());
    let file = library.file.display().to_string();
    let abc = [yosys::abc_script(sizing), yosys::abc_constraints(library, sizing)].concat();
    let scripts = [synthesis, timing, abc, timing::READING.to_owned()];
    scripts.concat().replace(&file, "")
}

/// What is done with a unit's sources in any library, with cells sized for their loads.
pub(crate) fn netlist_scripts(sources: &rtl::Sources<'_>, spec: &UnitSpec) -> String {
    static ANY: LazyLock<Library> =
        LazyLock::new(|| Library::nangate45_areas().expect("a library"));
    scripts(sources, spec, &ANY, 1.0, Sizing::ForLoads) + &yosys::full_adder_map(None)
}

/// What the FO4 of a library is known by.
fn fo4_key(library: &Library, inverter: &Inverter) -> String {
    let mut hash = Hash::default();
    hash.add(b"FO4");
    hash.add(fo4::netlist(inverter).as_bytes());
    hash.add(&library.text);
    hash.name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liberty::NANGATE45_AREAS;
    use std::collections::BTreeMap;

    fn spec(module: &str, stages: i64) -> UnitSpec {
        let parameters = BTreeMap::from([("STAGES".to_owned(), stages)]);
        UnitSpec { unit: String::new(), module: module.to_owned(), parameters, alone: false }
    }

    fn library(text: &str) -> Library {
        Library::from_text(Path::new("x.lib"), text.into()).expect("a library")
    }

    /// The key of a unit in RTL of one file.
    fn key_of(
        source: (&str, &str),
        yosys: &str,
        spec: &UnitSpec,
        text: &str,
        clock_ns: f64,
    ) -> String {
        let source = (Path::new(source.0), source.1.as_bytes());
        key(&vec![source], yosys, spec, &library(text), clock_ns, Sizing::AsMapped)
    }

    #[test]
    fn whatever_changes_a_result_changes_its_key() {
        let source = ("rtl/fp_mul.sv", "module fp_mul; endmodule");
        let mul = spec("fp_mul", 0);
        let same = || key_of(source, "0.70", &mul, NANGATE45_AREAS, 5.0);
        assert_eq!(same(), same());
        let (stages, module) = (spec("fp_mul", 1), spec("fp_add", 0));
        let alone = UnitSpec { alone: true, ..mul.clone() };
        let text = NANGATE45_AREAS.replace("0.532", "0.533");
        let others = [
            key_of(
                (source.0, "module fp_mul; wire a; endmodule"),
                "0.70",
                &mul,
                NANGATE45_AREAS,
                5.0,
            ),
            key_of(("rtl/fp_mul2.sv", source.1), "0.70", &mul, NANGATE45_AREAS, 5.0),
            key_of(source, "0.71", &mul, NANGATE45_AREAS, 5.0),
            key_of(source, "0.70", &stages, NANGATE45_AREAS, 5.0),
            key_of(source, "0.70", &module, NANGATE45_AREAS, 5.0),
            key_of(source, "0.70", &alone, NANGATE45_AREAS, 5.0),
            key_of(source, "0.70", &mul, &text, 5.0),
            key_of(source, "0.70", &mul, NANGATE45_AREAS, 4.0),
            {
                let source = vec![(Path::new(source.0), source.1.as_bytes())];
                key(&source, "0.70", &mul, &library(NANGATE45_AREAS), 5.0, Sizing::ForLoads)
            },
        ];
        for (n, other) in others.iter().enumerate() {
            assert_ne!(*other, same(), "change {n}");
            assert!(!others[..n].contains(other), "change {n}");
        }
    }

    #[test]
    fn a_library_is_known_by_what_it_says_wherever_it_is() {
        let mul = spec("fp_mul", 0);
        let key = |library| key(&Vec::new(), "0.70", &mul, &library, 5.0, Sizing::AsMapped);
        let (a, b) = (library(NANGATE45_AREAS), library(NANGATE45_AREAS));
        assert_ne!(a.file, b.file);
        assert_eq!(key(a), key(b));
    }

    #[test]
    fn a_result_comes_back_and_half_of_one_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(Some(&folder.path().join("new")));
        let cells = BTreeMap::from([("INV_X1".to_owned(), 3)]);
        let ((um2, ge), memories) = ((1.596, 2.0), Vec::new());
        let area =
            Area { um2, ge, flip_flops: 0, flip_flops_ge: 0.0, cells, memories, timing: None };
        assert_eq!(cache.area("5"), None);
        cache.put_area("5", &area);
        assert_eq!(cache.area("5"), Some(area.clone()));
        assert_eq!(cache.area("4"), None);
        assert_eq!(Cache::new(None).area("5"), None);

        let file = cache.file("5").expect("a file");
        let text = std::fs::read(&file).expect("the result");
        std::fs::write(&file, &text[..text.len() / 2]).expect("half of it");
        assert_eq!(cache.area("5"), None);
    }

    #[test]
    fn an_fo4_comes_back_for_its_library_and_inverter() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(Some(folder.path()));
        let of = |cell: &str| Inverter { cell: cell.into(), input: "A".into(), output: "Y".into() };
        let (one, other) = (library(NANGATE45_AREAS), NANGATE45_AREAS.replace("0.532", "0.5"));
        cache.put_fo4(&one, &of("INV"), 0.1);
        assert_eq!(cache.fo4(&one, &of("INV")), Some(0.1));
        assert_eq!(cache.fo4(&one, &of("INV2")), None);
        assert_eq!(cache.fo4(&library(&other), &of("INV")), None);
        cache.put_fo4(&one, &of("INV"), 0.0);
        assert_eq!(cache.fo4(&one, &of("INV")), None, "no delay");
    }
}
