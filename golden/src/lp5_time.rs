// SPDX-License-Identifier: MIT
//! How long a matrix times a vector takes in LPDDR5X-PIM: its commands one by one, each as late behind the one before it
//! as times say. Refresh and fences aside.

/// Columns of an input tile: what the input registers hold.
const INPUTS: u64 = 128;
/// Registers that are written with inputs, and those that sum.
const REGISTERS: u64 = 8;
/// Reads that drain a PIM block.
const DRAINS: u64 = 5;

/// Times in tCK.
#[derive(Clone, Copy, Debug)]
pub struct Lp5Times {
    /// From a column command of all banks to the next: tCCD_L.
    pub column: u64,
    /// A burst on the data lines.
    pub burst: u64,
    /// From a read to its data.
    pub read_latency: u64,
    /// From a write to its data.
    pub write_latency: u64,
    /// Between data of a read and of a write.
    pub bus_gap: u64,
    /// From data of a write to a read: tWTR_L.
    pub write_to_read: u64,
    /// From data of a write to a precharge: tWR.
    pub write_recovery: u64,
    /// From a read to a precharge.
    pub read_to_precharge: u64,
    /// From a precharge to an activate.
    pub precharge: u64,
    /// From an activate to a column command.
    pub activate: u64,
}

/// tCK of a matrix, of whose 16-row vectors each bank has `registers`, in rows of so many bursts; a channel has `banks`.
pub fn gemv_tck(times: &Lp5Times, registers: u64, columns: u64, in_row: u64, banks: u64) -> u64 {
    let mut now = 0;
    let mut left_of_row = 0;
    let mut left = registers;
    while left > 0 {
        let summing = left.min(REGISTERS);
        left -= summing;
        for column in 0..columns {
            if column % INPUTS == 0 {
                // The last read's data leave the lines, inputs come, and the blocks read them.
                now += times.read_latency + times.burst + times.bus_gap - times.write_latency;
                (0..REGISTERS).for_each(|_| now += times.column);
                now += times.write_latency + times.burst + times.write_to_read;
            }
            for _ in 0..summing {
                if left_of_row == 0 {
                    // In the place of the time to the next read.
                    now += times.read_to_precharge + times.precharge + times.activate;
                    now -= times.column;
                    left_of_row = in_row;
                }
                left_of_row -= 1;
                now += times.column;
            }
        }
        (0..DRAINS).for_each(|_| now += times.column);
        (0..summing).for_each(|_| now += times.column);
        // The row of results is closed, and opened bank by bank for the host.
        now += times.write_latency + times.burst + times.write_recovery;
        now += times.precharge + times.activate + times.read_latency;
        for _ in 0..banks * summing {
            now += times.burst;
        }
    }
    now
}
