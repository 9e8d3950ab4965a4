// SPDX-License-Identifier: MIT
//! Benches of what is a channel of an AiM.

pub(crate) mod aim_channel;
pub(crate) mod arrays;
pub(crate) mod pins;
