// SPDX-License-Identifier: MIT
//! What a rank does of operators.
//!
//! * [`attention`]: requests, their programs and their rows.
//! * [`gemv`]: a matrix times a vector.

/// Makes an error of the host's driver or port one of a run: what stopped the device is the device's.
macro_rules! from_host {
    ($error:ident) => {
        impl From<pimlico_host::kv_cache::TransferError> for $error {
            fn from(error: pimlico_host::kv_cache::TransferError) -> Self {
                match error {
                    pimlico_host::kv_cache::TransferError::Rank(error) => Self::Rank(error),
                    error => Self::Transfer(error),
                }
            }
        }

        impl From<pimlico_host::driver::DriverError> for $error {
            fn from(error: pimlico_host::driver::DriverError) -> Self {
                match error {
                    pimlico_host::driver::DriverError::Rank(error) => Self::Rank(error),
                    error => Self::Driver(error),
                }
            }
        }
    };
}

pub mod attention;
pub mod gemv;
