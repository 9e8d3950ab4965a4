// SPDX-License-Identifier: MIT
//! What a report says of its operator alone.

use erased_serde::Serialize as AnySerialize;
use serde::{Serialize, Serializer};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What only one operator reports: a type of the operator's own, an object of a document.
pub trait JobPart: Any + AnySerialize + Debug + Send + Sync {}

impl<T: Any + AnySerialize + Debug + Send + Sync> JobPart for T {}

/// What was run, and what only this operator reports. Its keys are among the report's.
#[derive(Clone, Debug)]
pub struct JobReport(Arc<dyn JobPart>);

impl JobReport {
    /// An operator's own part.
    pub fn new(part: impl JobPart) -> Self {
        Self(Arc::new(part))
    }

    /// The part, if it is of this type.
    pub fn part<T: 'static>(&self) -> Option<&T> {
        let part: &dyn Any = &*self.0;
        part.downcast_ref()
    }
}

impl Serialize for JobReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}
