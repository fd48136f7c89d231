//! Ways to propose states (Sec. 5.2.1), one in each file.

mod context;
mod evolution;
mod marginals;
mod neighbours;
mod one_flips;
pub(super) mod specs;

use std::fmt::Debug;

pub(crate) use context::marginals;
pub use context::{Proposed, RowContext};
pub use evolution::{Evolution, Selection, Variation};
pub use marginals::Marginals;
pub use neighbours::Neighbours;
pub use one_flips::OneFlips;

pub use crate::posterior::truncated::states::Random;

/// A way to propose new states for a row.
///
/// It sees what is known about the row and proposes; each proposed state is scored, and one that is better than the
/// worst state of $\mathcal K^{(n)}$ takes its place. Nothing that is proposed can lower the bound.
/// `examples/own_proposal.rs` has one of its own.
pub trait Propose: Debug + Send + Sync {
    /// Proposes states for one row.
    fn propose(&self, row: &RowContext<'_>, random: &mut Random, proposed: &mut Proposed);

    /// Its name with its settings, such as `one-flips:parents=1`. A run can be resumed with proposals that have the same
    /// specifications as those it was started with.
    fn spec(&self) -> String {
        format!("{self:?}")
    }

    /// Whether it asks for [`Proposed::flips_of`] the first state of [`RowContext::current_set`]. Most of the other states of
    /// $\mathcal K^{(n)}$ are among these, so that asking for them costs little. Where a proposal says so, rows that share their first
    /// state are worked on together, and all flips of that state are offered to each of them.
    fn flips_first(&self) -> bool {
        false
    }

    /// Whether it asks for [`Proposed::flips_of`] other states. Then rows are worked on one by one: each such state takes a pass of its
    /// own.
    fn flips_others(&self) -> bool {
        false
    }

    /// Whether it looks at [`RowContext::marginals`], which take time to find.
    fn needs_marginals(&self) -> bool {
        false
    }
}
