//! Work that consists of many trainings and can be left: each of them is kept while it proceeds, and found again when the same work
//! is done once more.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::{Checkpoint, Em, Fingerprint, Observer, Progress, Settings, Snapshot};
use crate::error::Result;
use crate::hash;
use crate::model::Data;
use crate::ranks;

/// A place for trainings, such as a folder of checkpoints.
///
/// Denoising, naming noise, choosing the number of causes and modelling tables train many models, one after the other. All of them
/// go through [`Em::run_observed`], and a training depends on its settings and its data alone. So what was trained before the work was
/// left need not be trained again, and the result is the same, bit for bit.
pub trait Keep {
    /// The training of this name as it was last kept; nothing if it was not, or cannot be read.
    fn left(&self, name: &str) -> Option<Checkpoint>;

    /// Whether a training is to be kept now: it is asked after each iteration, and once more at the end, and then [`Keep::keep`] is
    /// called. Where several ranks share the rows, the place of rank 0 is asked; a training that a rank does by itself is a matter of
    /// that rank's place.
    fn is_due(&self, ended: bool) -> bool {
        let _ = ended;
        true
    }

    /// Keeps a training. One whose rows are shared is kept by rank 0, and one that a rank does by itself by that rank: all ranks need
    /// one folder.
    fn keep(&self, name: &str, training: &KeptTraining<'_>);
}

/// A training that can be kept.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KeptTraining<'a> {
    /// All that it needs to be resumed.
    pub state: Snapshot<'a>,
    /// Its settings.
    pub settings: &'a Settings,
    /// Its data.
    pub data: Fingerprint,
    /// Whether it ends here, because nothing is left to train or because the observer ended it.
    pub ended: bool,
}

thread_local! {
    static PLACE: RefCell<Option<Rc<dyn Keep>>> = const { RefCell::new(None) };
}

/// Does `work`, and keeps all trainings that it does on this thread; those that were kept before are resumed.
///
/// ```
/// use std::cell::RefCell;
/// use std::collections::HashMap;
/// use std::rc::Rc;
/// use efmca::em::{Keep, KeptTraining, keeping};
/// use efmca::{Checkpoint, Em, bars};
///
/// #[derive(Default)]
/// struct Memory(RefCell<HashMap<String, Checkpoint>>);
///
/// impl Keep for Memory {
///     fn left(&self, name: &str) -> Option<Checkpoint> {
///         self.0.borrow().get(name).cloned()
///     }
///     fn keep(&self, name: &str, training: &KeptTraining<'_>) {
///         let checkpoint = training.state.to_checkpoint(training.settings.clone(), training.data);
///         self.0.borrow_mut().insert(name.to_owned(), checkpoint);
///     }
/// }
///
/// let y = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?.sample(100, 1).y;
/// let (em, memory) = (Em::new(6).family("poisson"), Rc::new(Memory::default()));
/// let first = keeping(memory.clone(), || em.run(&y))?;
/// let mut iterations = 0;
/// let again = keeping(memory, || em.run_observed(&y, &mut |_| { iterations += 1; std::ops::ControlFlow::Continue(()) }))?;
/// assert_eq!((again.model.w(0), iterations), (first.model.w(0), 0));
/// # Ok::<(), efmca::Error>(())
/// ```
pub fn keeping<T>(place: Rc<dyn Keep>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also where the work panics.
    struct Before(Option<Rc<dyn Keep>>);
    impl Drop for Before {
        fn drop(&mut self) {
            PLACE.set(self.0.take());
        }
    }
    let _before = Before(PLACE.replace(Some(place)));
    work()
}

/// The place of one training.
pub(super) struct Keeper {
    place: Rc<dyn Keep>,
    name: String,
    settings: Settings,
    data: Fingerprint,
}

impl Keeper {
    /// The place of a training on this thread, if there is one.
    pub(super) fn of(em: &Em, y: &dyn Data) -> Result<Option<Keeper>> {
        let Some(place) = PLACE.with_borrow(Option::clone) else { return Ok(None) };
        let (settings, data) = (em.settings(), Fingerprint::over_ranks(y)?);
        // another version may train in another way
        let text = format!("{} {}", env!("CARGO_PKG_VERSION"), serde_json::Value::Object(settings.clone()));
        let words = text.bytes().map(u64::from).chain([data.n as u64, data.d as u64, data.hash]);
        let name = format!("{:016x}", hash::of_words(0, words));
        Ok(Some(Keeper { place, name, settings, data }))
    }

    /// The training as it was left. All ranks read it, and none goes on from where another does not.
    pub(super) fn left(&self) -> Result<Option<Checkpoint>> {
        let (left, ranks) = (self.place.left(&self.name), ranks::current());
        let found = left.as_ref().map_or(u64::MAX, |left| left.history.len() as u64);
        let all = ranks.gather_all(found)?;
        Ok(left.filter(|_| all.iter().all(|other| *other == found)))
    }

    /// Keeps the training.
    pub(super) fn keep(&self, state: Snapshot<'_>, ended: bool) -> Result<()> {
        let ranks = ranks::current();
        if ranks.broadcast(0, (ranks.rank() == 0).then(|| self.place.is_due(ended)))? {
            state.gathered(|state| {
                let (settings, data) = (&self.settings, self.data);
                self.place.keep(&self.name, &KeptTraining { state: *state, settings, data, ended });
            })?;
        }
        Ok(())
    }

    /// Keeps the training after an iteration, and tells the observer about it.
    pub(super) fn see(
        &self,
        progress: &Progress<'_>,
        failed: &mut Result<()>,
        observer: &mut Observer<'_>,
    ) -> ControlFlow<()> {
        if let Some(training) = progress.training {
            *failed = self.keep(training.state, false);
            if failed.is_err() {
                return ControlFlow::Break(());
            }
        }
        observer(progress)
    }
}
