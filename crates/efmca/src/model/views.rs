//! Views: groups of columns that count alike.
//!
//! With views posteriors are those of a weighted likelihood,
//! $$ q^{(n)}(\vec s) \propto p(\vec s|\Theta) \prod_d p(y_d^{(n)} | \vec s,\Theta)^{\omega_d}, \qquad 0 < \omega_d \le 1, $$
//! where all columns of a view have one weight $\omega_d$. In the M-step weights cancel, because each column has parameters of
//! its own. What EM climbs is the bound of the weighted likelihood, which is no bound of $\log p(\vec y)$ any more.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A group of columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// What it is called.
    pub name: String,
    /// Its columns, counted from zero.
    pub columns: Vec<usize>,
    /// $\omega_d$ of its columns: how much each of them counts where causes are inferred.
    pub weight: f64,
}

/// Groups of columns that count alike, such as what several instruments measured of the same rows: a group of 300 columns
/// says thirty times as much about a row as one of 10, and all causes would be spent on it.
///
/// ```
/// use efmca::model::Views;
///
/// let views = Views::new([("blood", vec![0, 1, 2]), ("questions", vec![5, 6])])?;
/// // columns that were not named are a view of their own
/// let all = views.over(8)?;
/// assert_eq!(all.iter().map(|view| view.columns.len()).collect::<Vec<_>>(), [3, 2, 3]);
/// assert!(Views::new([("blood", vec![0, 1]), ("questions", vec![1])]).is_err());
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Views {
    views: Vec<View>,
}

impl Views {
    /// The name of the view of all columns that are in no other one.
    pub const REST: &'static str = "other columns";

    /// Views by their names and columns, counted from zero, with weights of one.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for a view without columns, and for a column in two views.
    pub fn new<N: Into<String>>(views: impl IntoIterator<Item = (N, Vec<usize>)>) -> Result<Views> {
        let views = views.into_iter().map(|(name, columns)| View { name: name.into(), columns, weight: 1.0 });
        Views::of(views.collect())
    }

    /// The same with weights.
    ///
    /// # Errors
    ///
    /// As [`Views::new`], and for weights that are not positive.
    pub fn of(views: Vec<View>) -> Result<Views> {
        let views = Views { views };
        views.check()?;
        Ok(views)
    }

    /// Checks what does not depend on the data.
    pub(crate) fn check(&self) -> Result<()> {
        let refused = |view: &View, requirement: String| Err(Error::setting("views", &view.name, requirement));
        for (place, view) in self.views.iter().enumerate() {
            if view.columns.is_empty() {
                return refused(view, "a view needs one column at least".into());
            }
            if !(view.weight > 0.0 && view.weight.is_finite()) {
                return refused(view, format!("its weight is {}, and must be positive", view.weight));
            }
            if self.views[..place].iter().any(|other| other.name == view.name) {
                return refused(view, "two views have this name; give all columns of a view together".into());
            }
            for (at, column) in view.columns.iter().enumerate() {
                if view.columns[..at].contains(column) {
                    return refused(view, format!("column {} is in it twice", column + 1));
                }
                if let Some(other) = self.views[..place].iter().find(|other| other.columns.contains(column)) {
                    let both =
                        format!("column {} is in view `{}` already; a column has one view", column + 1, other.name);
                    return refused(view, both);
                }
            }
        }
        Ok(())
    }

    /// The views of a table of `d` columns: these, and one of all columns that are in none.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for a column that the table does not have.
    pub fn over(&self, d: usize) -> Result<Views> {
        self.check()?;
        let mut rest = vec![true; d];
        for view in &self.views {
            for column in &view.columns {
                let Some(free) = rest.get_mut(*column) else {
                    let requirement = format!("it has column {}, and the table has {d} columns", column + 1);
                    return Err(Error::setting("views", &view.name, requirement));
                };
                *free = false;
            }
        }
        let rest: Vec<usize> = (0..d).filter(|column| rest[*column]).collect();
        let mut views = self.views.clone();
        if !rest.is_empty() {
            views.push(View { name: Views::REST.into(), columns: rest, weight: 1.0 });
        }
        Views::of(views)
    }

    /// The views in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &View> {
        self.views.iter()
    }

    /// The weight of each of `d` columns.
    pub(crate) fn weights(&self, d: usize) -> Vec<f64> {
        let mut weights = vec![1.0; d];
        for view in &self.views {
            view.columns.iter().for_each(|column| weights[*column] = view.weight);
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_views_is_said() {
        let message = |views: &[(&str, &[usize])]| {
            let views = views.iter().map(|(name, columns)| (*name, columns.to_vec()));
            Views::new(views).and_then(|views| views.over(4)).unwrap_err().to_string()
        };
        assert!(message(&[("a", &[])]).contains("one column at least"));
        assert!(message(&[("a", &[0, 1, 0])]).contains("column 1 is in it twice"));
        assert!(message(&[("a", &[0, 1]), ("b", &[3, 1])]).contains("column 2 is in view `a` already"));
        assert!(message(&[("a", &[0]), ("a", &[1])]).contains("two views have this name"));
        assert!(message(&[("a", &[0, 7])]).contains("it has column 8, and the table has 4 columns"));
        let weightless = View { name: "a".into(), columns: vec![0], weight: 0.0 };
        assert!(Views::of(vec![weightless]).unwrap_err().to_string().contains("must be positive"));
    }

    #[test]
    fn columns_in_no_view_are_one() -> Result<()> {
        let views = Views::new([("a", vec![2])])?.over(3)?;
        assert_eq!(views.iter().map(|view| view.name.as_str()).collect::<Vec<_>>(), ["a", Views::REST]);
        assert_eq!(Views::new([("a", vec![2, 0, 1])])?.over(3)?.iter().count(), 1);
        Ok(())
    }
}
