// SPDX-License-Identifier: MIT
//! The host of NeuPIMs' channels: the NPU, which spells its operators as lists of commands and writes their operands.
//!
//! * [`script`]: lists of commands, and operands that reach the global buffer by way of two rows.
//! * [`product`]: a matrix times a vector.
//! * [`attention`]: attention of a request, with softmax on a vector unit.
//! * [`store`]: matrices, K and V into the banks.
//! * [`stream`]: reads without end, as weights for the NPU are.
//! * [`sums`]: results of several rows, added on a vector unit.

pub mod attention;
pub mod product;
pub mod script;
pub mod store;
pub mod stream;
pub mod sums;

pub use attention::{AttentionHost, HeadResults, Softmax};
pub use product::ProductHost;
pub use store::Store;
pub use stream::{Both, TileStream, WeightStream};
