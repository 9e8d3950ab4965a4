// SPDX-License-Identifier: MIT
//! Memory of this machine: what a run takes of it is held against what there is before any data are made.

use crate::task::{AttentionTask, MatrixTask, Task};
use pimlico_device::Config;
use std::fs;

/// A run would take more memory than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: it takes about {wanted} bytes of this machine's memory, there are {there}")]
pub struct NoMemory {
    /// What it is.
    what: String,
    /// Bytes that it takes.
    wanted: u128,
    /// Bytes that there are.
    there: u128,
}

/// Whether there is memory for something that takes about `wanted` bytes.
pub fn check(what: &str, wanted: u128) -> Result<(), NoMemory> {
    match available() {
        Some(there) if wanted > there => Err(NoMemory { what: what.to_owned(), wanted, there }),
        _ => Ok(()),
    }
}

/// Bytes that this process may still take, if the machine says so: what is available, and what its limit of address
/// space leaves.
fn available() -> Option<u128> {
    let number = |text: &str| text.split_whitespace().find_map(|word| word.parse::<u128>().ok());
    let of = |file: &str, key: &str| {
        let text = fs::read_to_string(file).ok()?;
        number(text.lines().find_map(|line| line.strip_prefix(key))?)
    };
    let machine = of("/proc/meminfo", "MemAvailable:").map(|kib| 1024 * kib);
    let taken = of("/proc/self/status", "VmSize:").map_or(0, |kib| 1024 * kib);
    // `unlimited` is no number; the first one that follows it would be the hard limit's.
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let of_space = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
    let limit = of_space.and_then(|line| line.split_whitespace().next()?.parse::<u128>().ok());
    machine.into_iter().chain(limit.map(|limit| limit.saturating_sub(taken))).min()
}

/// Bytes of so many rows of all banks of ranks or channels: the simulated cells take as many.
pub fn of_rows(config: &Config, rows: u64, devices: usize) -> u128 {
    u128::from(rows) * u128::from(crate::placement::row_bytes(config)) * devices as u128
}

/// Bytes that every run takes beside its data: commands that wait, the dispatcher's memories, threads.
pub const BESIDE: u128 = 48 << 20;

/// Bytes of a task's data on the host, of which `side_by_side` rows of a matrix are there at a time.
pub fn of_task(task: &Task, side_by_side: usize) -> u128 {
    match task {
        Task::Matrix(MatrixTask { rows, columns, .. }) => {
            let [rows, columns] = [*rows, *columns].map(|size| size as u128);
            // A part of the matrix in binary16; the vector there, in float64 and in bursts; the results twice.
            2 * columns * (side_by_side as u128).min(rows) + 16 * columns + 24 * rows
        }
        Task::Attention(task) => {
            task.contexts.iter().map(|&context| of_head(task, task.group, context)).sum()
        }
    }
}

/// Bytes of K, V and queries of a head, and of the reference's scores.
pub fn of_head(task: &AttentionTask, group: usize, context: usize) -> u128 {
    let [head_dim, group, context] = [task.head_dim, group, context].map(|size| size as u128);
    // Each vector is an allocation of its own.
    let vector = 2 * head_dim + 48;
    context * (2 * vector + 64) + group * (vector + 8 * context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_with_both_numbers() {
        assert_eq!(check("nothing", 0), Ok(()));
        let Err(NoMemory { wanted, there, .. }) = check("all", u128::MAX) else {
            return assert!(!std::path::Path::new("/proc/meminfo").exists());
        };
        assert!(wanted == u128::MAX && there > 1 << 20);
    }
}
