//! The tuned numbers of the trials.

/// The tuned numbers of the trials. Numbers of iterations are parts of all: every so many-th.
pub(super) struct Tuning {
    /// Iterations of a first look without posteriors to begin with, and with them: enough to see which families are far behind.
    pub(super) first_look: usize,
    pub(super) look_with_posteriors: usize,
    /// Iterations of a training that begins with the posteriors of another family which was trained fully.
    pub(super) following: usize,
    /// Iterations after a search for fixed parameters.
    pub(super) after_search: usize,
    /// Rounds of search for fixed parameters and training with them, in a first look and later.
    pub(super) search_rounds: [usize; 2],
    /// Entries that a search looks at, in a first look and later.
    pub(super) search_entries: [usize; 2],
    /// A fixed parameter that moved by less than this, relatively, is found.
    pub(super) found: f64,
    /// A family is far behind, and is not trained again, from this many nats an entry on...
    pub(super) far_nats: f64,
    /// ...or this many standard errors, whichever is more.
    pub(super) far_errors: f64,
    /// Families this many times further behind than that have a second first look, with the posteriors of the leading family. Those
    /// that are nearer are trained fully.
    pub(super) last_chance: f64,
    /// Whether all families have starts of their own, or the leading one alone.
    pub(super) all_start: bool,
    /// The posteriors of another family are not shared again unless it leads by this many standard errors.
    pub(super) overtaken: f64,
    /// Rounds in which the posteriors of the leading family are given to the others after all restarts, until it stays in the lead.
    pub(super) sharing_rounds: usize,
    /// A bound that rose by less than this many nats is the same.
    pub(super) enough: f64,
}

/// For tables. Bounds decide ties, and trainings take little time.
pub(super) const TABLES: Tuning = Tuning {
    first_look: 3,
    look_with_posteriors: 3,
    following: 1,
    after_search: 3,
    search_rounds: [2, 4],
    search_entries: [1 << 12, 1 << 20],
    found: 0.02,
    far_nats: 0.03,
    far_errors: 6.0,
    last_chance: 6.0,
    all_start: true,
    overtaken: f64::NEG_INFINITY,
    sharing_rounds: 3,
    enough: 1.0,
};

/// For patches, whose posteriors take long to find and are handed over with their sets of states.
pub(super) const PATCHES: Tuning = Tuning {
    look_with_posteriors: 6,
    following: 2,
    after_search: 6,
    search_rounds: [1, 2],
    search_entries: [1 << 12, 1 << 17],
    last_chance: 1.0,
    all_start: false,
    overtaken: 2.0,
    ..TABLES
};

/// Iterations of a look, at the least.
pub(super) const FEWEST: usize = 4;
