//! Families are searched with a number of causes, and the number of causes is chosen with families: one after the other.

use crate::em::Observer;
use crate::error::{Error, Result};
use crate::family::SharedFamily;
use crate::model::Resolution;
use crate::tasks::causes::Causes;
use crate::tasks::held_out::{Comparison, Source};
use crate::tasks::select::{CauseChoice, CauseSearch};
use crate::tasks::watch::Watch;

/// Finds with as many causes as `causes` says. With [`Causes::Auto`] this is a number that suits the size of the data; with the
/// `families` and resolutions of what was found the number is chosen that predicts best, and if it is another one, `find` is called again.
///
/// If the observer asks to stop, the last result is returned.
pub(super) fn with_causes<T>(
    causes: Causes,
    source: Source<'_>,
    comparison: &Comparison,
    observer: &mut Observer<'_>,
    find: impl Fn(usize, &mut Observer<'_>) -> Result<T>,
    families: impl Fn(&T) -> (Vec<SharedFamily>, Vec<Resolution>),
) -> Result<(T, Option<CauseChoice>)> {
    let mut watch = Watch::new(observer);
    let first = causes.without_search(&source);
    let found = find(first, &mut |progress| watch.see(progress))?;
    if causes != Causes::Auto || watch.stopped() {
        return Ok((found, None));
    }
    let (families, resolutions) = families(&found);
    let search = CauseSearch::like(comparison, &families).resolutions(&resolutions);
    let choice = match search.run_observed(source, &mut |progress| watch.see(progress)) {
        Err(Error::Stopped { .. }) => return Ok((found, None)),
        choice => choice?,
    };
    let chosen = choice.best().h;
    if chosen == first || watch.stopped() {
        return Ok((found, Some(choice)));
    }
    match find(chosen, &mut |progress| watch.see(progress)) {
        Err(Error::Stopped { .. }) => Ok((found, Some(choice))),
        again => Ok((again?, Some(choice))),
    }
}
