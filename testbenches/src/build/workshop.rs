// SPDX-License-Identifier: MIT
//! Where libraries are made: tools, sources and cache together.

use super::binding::Model;
use super::cache::{Cache, Digest};
use super::compiler::{self, Compiler};
use super::header::Verilated;
use super::inputs::Sources;
#[cfg(feature = "benches")]
use super::lanes;
use super::library::Library;
use super::own::Own;
use super::verilate::{self, Module, Verilator};
use super::{BuildError, Waves, binding, coverage, designs, library, package};
use pimlico_ports::UnitInfo;
use std::path::{Path, PathBuf};
use std::{fs, thread};

/// The built-in RTL.
const BUILT_IN: pimlico_rtl::Sources = pimlico_rtl::sources!();

/// What calls the compiler.
const COMPILER: &str = include_str!("compiler.rs");

/// What has a say in the C++ that is compiled, beside its inputs: our generators.
const GENERATORS: [&str; 7] = [
    include_str!("binding.rs"),
    COMPILER,
    include_str!("designs.rs"),
    include_str!("lanes.rs"),
    include_str!("library.rs"),
    include_str!("verilate.rs"),
    include_str!("workshop.rs"),
];

/// The one file that is compiled. It includes the others.
const SOURCE: &str = "all.cpp";
/// What it is compiled to, where it is not linked at once.
const OBJECT: &str = "all.o";
/// The folder of what Verilator makes.
const GENERATED: &str = "cpp";
/// A unit's library in its folder.
const LIBRARY: &str = "unit.so";
/// There if a unit has its probed registers.
const PROBES: &str = "probes";

/// Tools, sources and cache.
pub struct Workshop {
    verilator: Verilator,
    compiler: Compiler,
    sources: Sources,
    cache: Cache,
    own: Option<Own>,
    /// Verilator's run time, compiled; its headers too.
    runtime: PathBuf,
}

impl Workshop {
    /// With the built-in RTL, or the user's own. The types of its package are those of the models.
    pub fn open(own: Option<&Own>) -> Result<Self, BuildError> {
        let verilator = Verilator::find()?;
        let compiler = Compiler::find(&verilator.include())?;
        let cache = Cache::open()?;
        let sources = match own {
            Some(own) if own.is_tree() => {
                let root = own.root()?;
                Sources::read(&root, Sources::listed(&root)?, &[])?
            }
            own => {
                let folder = built_in(&cache)?;
                let files = own.map(Own::files).transpose()?.unwrap_or_default();
                Sources::read(&folder, Sources::listed(&folder)?, &files)?
            }
        };
        let digest = compiler.add_to(verilator.add_to(Digest::default())).add(COMPILER);
        let runtime = cache.product("verilated", &digest, |folder| compiler.runtime(folder))?;
        let own = own.cloned();
        let workshop = Self { verilator, compiler, sources, cache, own, runtime };
        workshop.check_types()?;
        Ok(workshop)
    }

    /// Compares the structs and enums of the package with those of the models. Once for what is the same.
    fn check_types(&self) -> Result<(), BuildError> {
        if self.sources.has_own() {
            return Ok(()); // a port's width is compared in any case
        }
        let units = pimlico_units::units();
        let declared = format!("{units:?} {:?}", pimlico_units::TYPES);
        let files = self.sources.files();
        let digest = self.verilator.add_to(Digest::default()).add(declared);
        let digest = files.iter().fold(digest, |digest, file| self.sources.add_to(digest, file));
        self.cache.product("types", &digest, |folder| {
            let paths: Vec<_> = files.iter().map(|file| self.sources.folder().join(file)).collect();
            let differences = package::differences(&units, pimlico_units::TYPES, &paths, folder);
            match differences.map_err(BuildError::Tool)? {
                none if none.is_empty() => Ok(()),
                some => Err(BuildError::Types(some)),
            }
        })?;
        Ok(())
    }

    /// Whether the library of a unit is there.
    pub fn has(&self, unit: &UnitInfo, waves: Waves) -> bool {
        let digest = match self.shared(unit, waves) {
            Some(library) => library.module(&self.sources).and_then(|of| self.digest(&of, &[])),
            None => self.unit_module(unit, waves).and_then(|(of, parts)| self.digest(&of, &parts)),
        };
        let digest = digest.map(|digest| declared(unit, digest));
        digest.is_ok_and(|digest| self.cache.place(&product(unit, waves), &digest).is_dir())
    }

    /// The library of a unit, and whether it has the registers to probe.
    pub fn unit(&self, unit: &UnitInfo, waves: Waves) -> Result<(PathBuf, bool), BuildError> {
        let made = match self.shared(unit, waves) {
            Some(library) => self.bound(unit, &library)?,
            None => self.made(unit, waves)?,
        };
        Ok((made.join(LIBRARY), made.join(PROBES).exists()))
    }

    /// What designs use as this unit, as far as it is the same: it has no waveforms, counts nothing, and is of the built-in RTL.
    fn shared(&self, unit: &UnitInfo, waves: Waves) -> Option<Library> {
        let is_same = waves == Waves::Without && self.own.is_none() && !coverage::COUNTED;
        is_same.then(|| library::that_is(unit)).flatten()
    }

    /// The folder of a unit that is bound to the library that designs use.
    fn bound(&self, unit: &UnitInfo, library: &Library) -> Result<PathBuf, BuildError> {
        let digest = declared(unit, self.digest(&library.module(&self.sources)?, &[])?);
        self.cache.product(&product(unit, Waves::Without), &digest, |folder| {
            let generated = self.library(library)?.join(GENERATED);
            let object = self.object(library)?;
            let (prefix, place) = (&library.name, &library.place());
            let model = Model { prefix, place, is_traced: false };
            let binding = self.binding(unit, &model, &generated, folder)?;
            let (source, own) = (folder.join(SOURCE), folder.join(OBJECT));
            write(&source, &(binding::headers(&library.name) + &binding))?;
            self.compiler.object(&source, &generated, &self.runtime, &own, &unit.name)?;
            let shared = folder.join(LIBRARY);
            self.compiler.link(&[object, own], &self.runtime, &shared, &unit.name)
        })
    }

    /// The folder of a unit that is made for its bench alone.
    fn made(&self, unit: &UnitInfo, waves: Waves) -> Result<PathBuf, BuildError> {
        let (module, libraries) = self.unit_module(unit, waves)?;
        let digest = declared(unit, self.digest(&module, &libraries)?);
        self.cache.product(&product(unit, waves), &digest, |folder| {
            // Libraries are compiled beside the design, which wants no more than their wrappers at first.
            let compile = || libraries.iter().map(|library| self.object(library)).collect();
            thread::scope(|scope| {
                let verilated = libraries.iter().map(|library| self.library(library));
                let verilated = verilated.collect::<Result<Vec<_>, _>>()?;
                let objects = scope.spawn(compile);
                let objects = || objects.join().expect("a compiler's thread does not panic");
                self.make_unit(unit, module, (&libraries, &verilated), objects, folder)
            })
        })
    }

    /// The library of several lanes of a unit.
    #[cfg(feature = "benches")]
    pub fn lanes(&self, unit: &UnitInfo) -> Result<PathBuf, BuildError> {
        let (top, parameters) = self.top(unit);
        let module = lanes::module(unit, &top, &parameters, &self.sources)?;
        let digest = declared(unit, self.digest(&module, &[])?);
        let made = self.cache.product(&module.prefix, &digest, |folder| {
            let generated = self.verilate(&module, folder)?;
            let text = lanes::translation_unit(unit, &generated)?;
            self.link(&text, &generated, folder, &unit.name)
        })?;
        Ok(made.join(LIBRARY))
    }

    /// The module that is simulated for a unit, and its parameters.
    fn top(&self, unit: &UnitInfo) -> (String, Vec<(String, i64)>) {
        let named = self.own.as_ref().and_then(|own| own.module.clone());
        let declared = if named.is_some() { &[] } else { unit.parameters };
        let mut parameters: Vec<(String, i64)> =
            declared.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        for (name, value) in self.own.iter().flat_map(|own| &own.parameters) {
            parameters.retain(|(other, _)| other != name);
            parameters.push((name.clone(), *value));
        }
        (named.unwrap_or_else(|| unit.module.to_owned()), parameters)
    }

    /// How Verilator makes a unit, and what libraries it uses.
    fn unit_module(
        &self,
        unit: &UnitInfo,
        waves: Waves,
    ) -> Result<(Module<'static>, Vec<Library>), BuildError> {
        let (name, parameters) = self.top(unit);
        let libraries = library::libraries(&name, &parameters);
        let sources = library::sources_of(&name, &self.sources).map_err(|error| {
            match (error, &self.own) {
                (BuildError::NoModule { module, .. }, Some(own)) => {
                    BuildError::NoModule { module, folder: own.folder.clone() }
                }
                (error, _) => error,
            }
        })?;
        let module = Module {
            sources,
            name,
            prefix: binding::identifier(unit),
            parameters,
            configuration: verilate::probe_configuration(unit)
                + &coverage::left_out(unit, &self.sources),
            options: coverage::options(unit),
            is_traced: waves == Waves::With,
            repeats: designs::repeated(unit.module).is_some(),
            begins_with_zeros: designs::begins_with_zeros(unit.module),
            is_own: self.sources.has_own(),
            ..Default::default()
        };
        Ok((module, libraries))
    }

    /// Of all that a library is made from; `libraries` are part of it.
    fn digest(&self, module: &Module<'_>, libraries: &[Library]) -> Result<Digest, BuildError> {
        let digest = self.compiler.add_to(self.verilator.add_to(Digest::default()));
        let digest = GENERATORS.iter().fold(digest, Digest::add);
        let digest = module.add_to(digest, &self.sources);
        libraries.iter().try_fold(digest, |digest, library| {
            Ok(library.module(&self.sources)?.add_to(digest, &self.sources))
        })
    }

    /// The folder of a library that designs use: its wrapper, and C++.
    fn library(&self, library: &Library) -> Result<PathBuf, BuildError> {
        let module = library.module(&self.sources)?;
        let digest = self.digest(&module, &[])?;
        self.cache.product(&library.name, &digest, |folder| {
            let generated = self.verilate(&module, folder)?;
            write(&generated.join(SOURCE), &library.translation_unit(&generated)?)?;
            let wrapper = format!("{}.sv", library.name);
            let from = generated.join(&wrapper);
            fs::rename(&from, folder.join(&wrapper)).map_err(BuildError::file(&from))
        })
    }

    /// The object of a library.
    fn object(&self, library: &Library) -> Result<PathBuf, BuildError> {
        let digest = self.digest(&library.module(&self.sources)?, &[])?;
        let name = format!("{}_object", library.name);
        let made = self.cache.product(&name, &digest, |folder| {
            let generated = self.library(library)?.join(GENERATED);
            let (source, object) = (generated.join(SOURCE), folder.join(OBJECT));
            self.compiler.object(&source, &generated, &self.runtime, &object, &library.name)
        })?;
        Ok(made.join(OBJECT))
    }

    /// Makes the library of a unit in `folder`, of the libraries that it uses, which are Verilated, and of their
    /// `objects`, which are waited for at the end.
    fn make_unit(
        &self,
        unit: &UnitInfo,
        mut module: Module<'_>,
        (libraries, verilated): (&[Library], &[PathBuf]),
        objects: impl FnOnce() -> Result<Vec<PathBuf>, BuildError>,
        folder: &Path,
    ) -> Result<(), BuildError> {
        for (library, of) in libraries.iter().zip(verilated) {
            module.sources.push(of.join(format!("{}.sv", library.name)));
        }
        module.generated.extend(library::choosers(libraries));
        let generated = self.verilate(&module, folder)?;

        let Module { prefix, name: place, is_traced, .. } = &module;
        let model = Model { prefix, place, is_traced: *is_traced };
        let binding = self.binding(unit, &model, &generated, folder)?;
        let text = binding::includes(&generated)? + &binding;
        if libraries.is_empty() {
            return self.link(&text, &generated, folder, &unit.name);
        }
        let (source, own) = (generated.join(SOURCE), generated.join(OBJECT));
        write(&source, &text)?;
        self.compiler.object(&source, &generated, &self.runtime, &own, &unit.name)?;
        let objects = [objects()?, vec![own]].concat();
        self.compiler.link(&objects, &self.runtime, &folder.join(LIBRARY), &unit.name)?;
        remove(&generated)
    }

    /// The text that binds a unit to its model in `generated`, which must have the ports and registers that are declared;
    /// in `folder` stands whether it has those that are probed.
    fn binding(
        &self,
        unit: &UnitInfo,
        model: &Model<'_>,
        generated: &Path,
        folder: &Path,
    ) -> Result<String, BuildError> {
        let scope = binding::scope(unit, model.place);
        let verilated = Verilated::read(generated, model.prefix, &scope)?;
        let has_probes = verilated.has_probes(unit);
        let mut differences = verilated.ports_that_differ(unit);
        if self.own.is_none() {
            differences.extend(verilated.registers_that_differ(unit));
        }
        if !differences.is_empty() {
            return Err(BuildError::Ports { unit: unit.name.clone(), differences });
        }
        if has_probes {
            write(&folder.join(PROBES), "")?;
        }
        Ok(binding::text(unit, model, has_probes))
    }

    /// Makes C++ of a module in a folder below `folder`.
    fn verilate(&self, module: &Module<'_>, folder: &Path) -> Result<PathBuf, BuildError> {
        let generated = folder.join(GENERATED);
        fs::create_dir(&generated).map_err(BuildError::file(&generated))?;
        self.verilator.run(module, &self.sources, &generated)?;
        write(&generated.join(compiler::SHIM.0), compiler::SHIM.1)?;
        Ok(generated)
    }

    /// Makes a shared library in `folder` of a text and what it includes.
    fn link(
        &self,
        text: &str,
        generated: &Path,
        folder: &Path,
        name: &str,
    ) -> Result<(), BuildError> {
        let source = generated.join(SOURCE);
        write(&source, text)?;
        let library = folder.join(LIBRARY);
        self.compiler.library(&source, generated, &self.runtime, &library, name)?;
        remove(generated)
    }
}

/// A digest with how the model declares a unit: the order of its ports and registers is that of the words that its library
/// takes and gives.
fn declared(unit: &UnitInfo, digest: Digest) -> Digest {
    digest.add(format!("{unit:?}"))
}

/// What the library of a unit is called in the cache.
fn product(unit: &UnitInfo, waves: Waves) -> String {
    let name = binding::identifier(unit);
    match waves {
        Waves::Without => name,
        Waves::With => format!("{name}_waves"),
    }
}

/// The folder of the built-in RTL's files.
fn built_in(cache: &Cache) -> Result<PathBuf, BuildError> {
    const NAME: &str = "rtl";
    let digest =
        BUILT_IN.iter().fold(Digest::default(), |digest, (path, text)| digest.add(path).add(text));
    let made = cache.product("sources", &digest, |folder| {
        for (path, text) in BUILT_IN {
            let file = folder.join(NAME).join(path);
            let parent = file.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(BuildError::file(parent))?;
            write(&file, text)?;
        }
        Ok(())
    })?;
    Ok(made.join(NAME))
}

fn write(file: &Path, text: &str) -> Result<(), BuildError> {
    fs::write(file, text).map_err(BuildError::file(file))
}

fn remove(folder: &Path) -> Result<(), BuildError> {
    fs::remove_dir_all(folder).map_err(BuildError::file(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_the_order_of_ports() {
        let units = pimlico_units::units();
        let unit = units.iter().find(|unit| unit.inputs.len() > 1).expect("most have several");
        let reversed: Vec<_> = unit.inputs.iter().rev().copied().collect();
        let other = UnitInfo { inputs: reversed.leak(), ..unit.clone() };
        let [one, two, three] =
            [unit, unit, &other].map(|unit| declared(unit, Digest::default()).name());
        assert_eq!(one, two);
        assert_ne!(one, three);
    }
}
