// SPDX-License-Identifier: MIT
//! Costs that were measured before.
//!
//! A cost is found by its name: the SHA-256 of the device's file, of what was measured, and of the version of this crate. It
//! is looked for in memory, in the tables that are built in (those of the default devices), and in a folder, where what is
//! measured is put: that of `PIMLICO_CACHE`, or `pimlico` in the user's folder of caches. A folder that cannot be read or
//! written costs time only. A file of it that is no table is measured again.

use super::{Contexts, CostTable, Knot, STEP, TOLERANCE_PPM, refine};
use crate::error::ServingError;
use pimlico_device::DeviceSpec;
use pimlico_workload::error::WorkloadError;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tables of the default devices, one behind the other.
const BUILT_IN: &str = include_str!("../../presets/costs.csv");

/// Bytes of a file of the folder, at the most.
const LARGEST_FILE: u64 = 1 << 20;

/// A table by its name, or none yet.
type Kept = BTreeMap<String, Vec<Knot>>;

/// What was measured before.
pub struct Memo {
    threads: usize,
    folder: Option<PathBuf>,
    kept: Mutex<Kept>,
    is_cold: bool,
    run: AtomicU64,
    reused: AtomicU64,
}

impl Memo {
    /// One that measures on so many threads, with the folder of caches.
    pub fn new(threads: usize) -> Self {
        Self::with(threads, folder(), parse_all(BUILT_IN), false)
    }

    /// One that knows what is built in, and keeps nothing on disk.
    pub fn built_in(threads: usize) -> Self {
        Self::with(threads, None, parse_all(BUILT_IN), false)
    }

    /// One that knows nothing, and keeps nothing on disk.
    pub fn cold(threads: usize) -> Self {
        Self::with(threads, None, Kept::new(), true)
    }

    fn with(threads: usize, folder: Option<PathBuf>, kept: Kept, is_cold: bool) -> Self {
        let kept = Mutex::new(kept);
        let (run, reused) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { threads, folder, kept, is_cold, run, reused }
    }

    /// Threads to measure on; results do not depend on them.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Whether it began without any table.
    pub fn is_cold(&self) -> bool {
        self.is_cold
    }

    /// Knots that were measured, and that were there.
    pub fn entries(&self) -> (u64, u64) {
        (self.run.load(Ordering::Relaxed), self.reused.load(Ordering::Relaxed))
    }

    /// A table of a device; `measure` makes it if there is none.
    pub fn table(
        &self,
        spec: &DeviceSpec,
        what: &str,
        measure: impl FnOnce() -> Result<CostTable, WorkloadError>,
    ) -> Result<CostTable, ServingError> {
        let name = name(spec, what);
        if let Some(knots) = self.find(&name).filter(|knots| knots.len() > 1) {
            self.reused.fetch_add(knots.len() as u64, Ordering::Relaxed);
            return Ok(CostTable::new(knots));
        }
        let table = measure()?;
        self.keep(&name, table.knots());
        Ok(table)
    }

    /// Costs of a device by context, up to the context `most`: a table of knots, or those of the contexts that are asked for.
    /// `measure` makes a knot for each context that is not there.
    pub fn costs(
        &self,
        spec: &DeviceSpec,
        what: &str,
        most: u64,
        contexts: &Contexts,
        measure: impl Fn(&[u64]) -> Result<Vec<Knot>, WorkloadError>,
    ) -> Result<CostTable, ServingError> {
        match contexts {
            Contexts::Knots => {
                let what = format!("{what} knots={TOLERANCE_PPM} most={most}");
                self.table(spec, &what, || refine(most, measure))
            }
            Contexts::Exactly(contexts) => self.exactly(spec, what, most, contexts, measure),
        }
    }

    /// Exact costs of contexts. What is measured is kept with what was before.
    fn exactly(
        &self,
        spec: &DeviceSpec,
        what: &str,
        most: u64,
        contexts: &BTreeSet<u64>,
        measure: impl Fn(&[u64]) -> Result<Vec<Knot>, WorkloadError>,
    ) -> Result<CostTable, ServingError> {
        match contexts.last() {
            None => return Err(ServingError::setup("no context whose cost is asked for")),
            Some(last) if *last > most => {
                let what = format!("a context of {last} tokens: costs are measured up to {most}");
                return Err(ServingError::Setup(what));
            }
            Some(_) => {}
        }
        let name = name(spec, &format!("{what} exact"));
        let there = self.find(&name).unwrap_or_default();
        let mut knots: BTreeMap<u64, Knot> =
            there.into_iter().map(|knot| (knot.tokens, knot)).collect();
        let missing: Vec<u64> =
            contexts.iter().copied().filter(|tokens| !knots.contains_key(tokens)).collect();
        self.reused.fetch_add((contexts.len() - missing.len()) as u64, Ordering::Relaxed);
        if !missing.is_empty() {
            knots.extend(measure(&missing)?.into_iter().map(|knot| (knot.tokens, knot)));
            let all: Vec<Knot> = knots.values().copied().collect();
            self.put(&name, &all);
            self.run.fetch_add(missing.len() as u64, Ordering::Relaxed);
        }
        // Only what is asked for: costs do not depend on what was measured before.
        knots.retain(|tokens, _| contexts.contains(tokens));
        let mut knots: Vec<Knot> = knots.into_values().collect();
        if let &[only] = knots.as_slice() {
            // A table has two.
            knots.push(Knot { tokens: only.tokens + STEP, ..only });
        }
        Ok(CostTable::new(knots))
    }

    /// A cost of a device that depends on no context.
    pub fn knot(
        &self,
        spec: &DeviceSpec,
        what: &str,
        measure: impl FnOnce() -> Result<Knot, WorkloadError>,
    ) -> Result<Knot, ServingError> {
        let name = name(spec, what);
        if let Some(&[knot]) = self.find(&name).as_deref() {
            self.reused.fetch_add(1, Ordering::Relaxed);
            return Ok(knot);
        }
        let knot = measure()?;
        self.keep(&name, &[knot]);
        Ok(knot)
    }

    /// One duration of a device, of something that two numbers describe.
    pub fn value(
        &self,
        spec: &DeviceSpec,
        what: &str,
        (a, b): (u64, u64),
        measure: impl FnOnce() -> Result<u64, WorkloadError>,
    ) -> Result<u64, ServingError> {
        let knot = || Ok(Knot { tokens: 1, ps: measure()?, energy_pj: 0 });
        Ok(self.knot(spec, &format!("{what} {a} {b}"), knot)?.ps)
    }

    /// All tables of this memo in the form of the built-in file.
    pub fn written(&self) -> String {
        let kept = self.kept.lock().expect("nobody panics with it");
        kept.iter().map(|(name, knots)| written(name, knots)).collect()
    }

    fn find(&self, name: &str) -> Option<Vec<Knot>> {
        let mut kept = self.kept.lock().expect("nobody panics with it");
        if let Some(knots) = kept.get(name) {
            return Some(knots.clone());
        }
        let file = self.folder.as_ref()?.join(format!("{name}.csv"));
        let is_small = fs::metadata(&file).ok()?.len() <= LARGEST_FILE;
        let text = is_small.then(|| fs::read_to_string(&file).ok()).flatten()?;
        let knots = parse_all(&text).remove(name)?;
        kept.insert(name.to_owned(), knots.clone());
        Some(knots)
    }

    fn keep(&self, name: &str, knots: &[Knot]) {
        self.run.fetch_add(knots.len() as u64, Ordering::Relaxed);
        self.put(name, knots);
    }

    fn put(&self, name: &str, knots: &[Knot]) {
        let mut kept = self.kept.lock().expect("nobody panics with it");
        kept.insert(name.to_owned(), knots.to_vec());
        if let Some(folder) = &self.folder {
            // Another process may write the same: the file is complete when it has its name.
            let new = folder.join(format!("{name}.{}.new", std::process::id()));
            let put = fs::create_dir_all(folder)
                .and_then(|()| fs::write(&new, written(name, knots)))
                .and_then(|()| fs::rename(&new, folder.join(format!("{name}.csv"))));
            if put.is_err() {
                fs::remove_file(&new).ok();
            }
        }
    }
}

/// The name of a cost.
fn name(spec: &DeviceSpec, what: &str) -> String {
    let mut hash = Sha256::new();
    for part in [env!("CARGO_PKG_VERSION"), &spec.to_toml(), what] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The folder of caches.
fn folder() -> Option<PathBuf> {
    let of = |variable: &str, below: &str| {
        let root = std::env::var_os(variable).filter(|root| !root.is_empty())?;
        Some(PathBuf::from(root).join(below))
    };
    let root = of("PIMLICO_CACHE", "")
        .or_else(|| of("XDG_CACHE_HOME", "pimlico"))
        .or_else(|| of("HOME", ".cache/pimlico"))?;
    Some(root.join("serving-costs"))
}

/// A table: its name in a line, then a line for each knot.
fn written(name: &str, knots: &[Knot]) -> String {
    let mut text = format!("{name}\n");
    for Knot { tokens, ps, energy_pj } in knots {
        let _ = writeln!(text, "{tokens},{ps},{energy_pj}");
    }
    text
}

/// The tables of a file; what is no table is left out.
fn parse_all(text: &str) -> Kept {
    let mut all = Kept::new();
    let mut knots: Option<&mut Vec<Knot>> = None;
    for line in text.lines() {
        match (knot(line), &mut knots) {
            (Some(knot), Some(knots)) => {
                if knots.last().is_none_or(|last: &Knot| last.tokens < knot.tokens) {
                    knots.push(knot);
                }
            }
            _ => knots = Some(all.entry(line.to_owned()).or_default()),
        }
    }
    all
}

fn knot(line: &str) -> Option<Knot> {
    let mut numbers = line.split(',').map(|number| number.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let knot = Knot { tokens: next()?, ps: next()?, energy_pj: next()? };
    numbers.next().is_none().then_some(knot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> CostTable {
        let knot = |tokens| Knot { tokens, ps: 10 * tokens, energy_pj: tokens };
        CostTable::new([16, 32, 64].map(knot).to_vec())
    }

    #[test]
    fn what_is_measured_is_found_again_in_memory_and_in_the_folder() {
        let folder = std::env::temp_dir().join(format!("pimlico-memo-{}", std::process::id()));
        let spec = DeviceSpec::built_in("ddr4-3200").expect("a preset");
        let memo = || Memo::with(1, Some(folder.clone()), Kept::new(), false);
        let never = || panic!("it was measured before");
        let first = memo();
        assert_eq!(first.table(&spec, "a", || Ok(table())).expect("one"), table());
        assert_eq!(first.table(&spec, "a", never).expect("one"), table());
        assert_eq!(first.entries(), (3, 3));
        let second = memo();
        assert_eq!(second.table(&spec, "a", never).expect("one"), table());
        assert_eq!(second.value(&spec, "m", (1, 2), || Ok(7)).expect("one"), 7);
        assert_eq!(memo().value(&spec, "m", (1, 2), || panic!("measured before")).expect("one"), 7);
        // Another device, another version of what is measured: another cost.
        let other = DeviceSpec::built_in("ddr4-3200-16gb").expect("a preset");
        let mut runs = 0;
        for (spec, what) in [(&other, "a"), (&spec, "b")] {
            let measure = || {
                runs += 1;
                Ok(table())
            };
            second.table(spec, what, measure).expect("one");
        }
        assert_eq!(runs, 2);
        fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn exact_costs_do_not_depend_on_what_was_measured_before() {
        let folder = std::env::temp_dir().join(format!("pimlico-exact-{}", std::process::id()));
        let spec = DeviceSpec::built_in("ddr4-3200").expect("a preset");
        let memo = || Memo::with(1, Some(folder.clone()), Kept::new(), false);
        let costs = |memo: &Memo, contexts: &[u64], runs: &[u64]| {
            let contexts = Contexts::Exactly(contexts.iter().copied().collect());
            let measure = |missing: &[u64]| {
                assert_eq!(missing, runs);
                let knot = |&tokens: &u64| Knot { tokens, ps: tokens * tokens, energy_pj: tokens };
                Ok(missing.iter().map(knot).collect())
            };
            memo.costs(&spec, "a", 1024, &contexts, measure)
        };
        let first = memo();
        let table = costs(&first, &[64, 96], &[64, 96]).expect("costs");
        assert_eq!((table.ps(50), table.ps(96), first.entries()), (4096, 9216, (2, 0)));
        costs(&first, &[80, 96, 112], &[80, 112]).expect("costs");
        let second = memo();
        assert_eq!(costs(&second, &[64, 96], &[]).expect("costs"), table);
        assert_eq!(second.entries(), (0, 2));
        assert_eq!(costs(&second, &[80], &[]).expect("costs").ps(80), 6400);
        let error = costs(&second, &[2048], &[]).expect_err("too long").to_string();
        assert_eq!(error, "a context of 2048 tokens: costs are measured up to 1024");
        fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn what_is_no_table_is_measured_again() {
        assert!(parse_all("").is_empty());
        let all = parse_all("abc\n16,1,0\n32,x,0\n16,1,0\n8,2,0\n");
        assert_eq!(all["abc"].len(), 1);
        assert_eq!(all["32,x,0"], [Knot { tokens: 16, ps: 1, energy_pj: 0 }]);
        let kept = parse_all(&written("n", table().knots()));
        assert_eq!(kept["n"], table().knots());
    }
}
