//! States, which are sets of causes, and the sets $\mathcal K^{(n)}$ of them.
//!
//! | file | subject |
//! | --- | --- |
//! | `bits` | states as words of bits: what differs, hashes, codes as seen from another state |
//! | `state` | one state, as callers see it |
//! | `sets` | the sets of all rows, and what they begin with |

pub(crate) mod bits;
pub(crate) mod sets;
pub(crate) mod state;

use rand_xoshiro::Xoshiro256PlusPlus;

pub use sets::Sets;
pub use state::State;

/// Random numbers of one row and iteration.
pub type Random = Xoshiro256PlusPlus;

/// More active causes than this are many.
pub(crate) const MANY_ACTIVE: usize = 24;
