// SPDX-License-Identifier: MIT
//! Work on the vectors that this machine has. The operations and their order are the same, each rounded as IEEE 754 has
//! it, and so are all bits: only how many are done at once differs.

/// Some work. What is inlined into it (`#[inline(always)]`, as its own function has to be) is compiled for the machine's
/// vectors.
pub(crate) trait Work {
    type Made;

    fn work(self) -> Self::Made;
}

/// Does it.
pub(crate) fn on_vectors<W: Work>(work: W) -> W::Made {
    pulp::Arch::new().dispatch(Dispatched(work))
}

struct Dispatched<W>(W);

impl<W: Work> pulp::NullaryFnOnce for Dispatched<W> {
    type Output = W::Made;

    #[inline(always)]
    fn call(self) -> W::Made {
        self.0.work()
    }
}
