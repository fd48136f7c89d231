"""The imputer ``Imputer``, in the contract of scikit-learn."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from efmca import _core
from efmca._base import BaseEstimator, NotFittedError, TransformerMixin
from efmca._estimator import Families
from efmca._frames import like, read_table
from efmca._settings import families_of_columns, is_whole
from efmca._work import Callback, seed_of, working

Array = NDArray[np.float64]


class Imputer(TransformerMixin, BaseEstimator):
    """Fills in the missing cells of tables, and says how good that is.

    A model of the table is learned as `EFMCA` does, and further ones on parts of its rows, so that every cell that is present is
    predicted once from the other cells of its row by a model that has not seen the row. What these predictions leave is
    regressed on the other cells where that helps. Numbers become their mean (or median, or most probable value), codes and
    labels the most probable one.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        The number of causes; with ``"auto"`` the number that predicts held-out values best.
    family : str, Family, list, dict or "auto", default="auto"
        The families of the columns, as in `EFMCA`.
    value : {"mean", "median", "mode"}, default="mean"
        What missing numbers become.
    level : float, default=0.9
        The probability of the intervals of `cells`.
    as_written : bool, default=False
        Whether numbers get as many decimals as their column has: whole numbers for counts.
    regression : bool, default=True
        Whether what the causes leave is regressed on the other cells.
    folds : int, default=5
        Parts of the rows; each is predicted by a model of the others.
    random_state : int, numpy generator or None, default=None
        The seed; None is 0.
    n_jobs : int or None, default=None
        Threads: None or -1 for all processors.
    verbose : int, default=0
        Whether to show progress.
    callback : callable, optional
        Called with a `Progress` between iterations; something true ends the work with `Stopped`.

    Attributes
    ----------
    scores_ : dict
        The errors of cells that are present, predicted by models that had not seen their row: ``error`` of numbers in standard
        deviations of the column and ``error_of_means`` if each is the mean of its column, ``accuracy`` of codes and
        ``accuracy_of_modes`` if each is the most frequent one, ``log_likelihood`` of a cell in nats and
        ``log_likelihood_alone`` without the rest of the row; and ``columns``, the same for each column.
    families_ : list of str
        The family of each column.
    n_components_ : int
        The number of causes.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from efmca import Imputer
    >>> rng = np.random.default_rng(0)
    >>> weekend = rng.random(300) < 0.3
    >>> guests = rng.poisson(np.where(weekend, 30, 8))[:, None] * [1.0, 1.0, 1.0] + rng.poisson(3, (300, 3))
    >>> guests[0] = [40, np.nan, 36]
    >>> imputer = Imputer(n_components=2, family="poisson").fit(guests)
    >>> bool(30 < imputer.transform(guests[:1])[0, 1] < 45)
    True
    >>> imputer.scores_["error"] < imputer.scores_["error_of_means"]
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        family: Families = "auto",
        *,
        value: Literal["mean", "median", "mode"] = "mean",
        level: float = 0.9,
        as_written: bool = False,
        regression: bool = True,
        folds: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.value = value
        self.level = level
        self.as_written = as_written
        self.regression = regression
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None) -> Imputer:
        """Learn a table, NaN where a value is missing.

        Parameters
        ----------
        X : array, DataFrame or list of shape (n_samples, n_features)
            The table.
        y : None
            Ignored.

        Returns
        -------
        Imputer
            The imputer itself.
        """
        causes = self.n_components
        if not (causes == "auto" or is_whole(causes)):
            raise TypeError(f'n_components = {causes!r}: give a whole number, or "auto"')
        if not is_whole(self.folds):
            raise TypeError(f"folds = {self.folds!r}: give a whole number")
        if self.folds < 2:
            raise ValueError(f"folds = {self.folds}: give 2 or more")
        array, columns = read_table(X)
        families, labels = families_of_columns(self.family, columns)
        settings = {
            "families": families,
            "labels": labels,
            "causes": str(causes),
            "value": str(self.value),
            "level": float(self.level),
            "as_written": bool(self.as_written),
            "regression": bool(self.regression),
            "folds": int(self.folds),
            "seed": seed_of(self.random_state),
        }
        with working(self.n_jobs, self.callback, self.verbose, columns.names) as work:
            self._imputer = _core.train_imputer(np.ascontiguousarray(array, dtype=np.float64), settings, work)
        self._columns = columns
        self.n_features_in_ = columns.count
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.families_ = self._imputer.families
        self.n_components_ = self._imputer.n_components
        self.scores_ = self._imputer.scores()
        return self

    def transform(self, X: Any) -> Any:
        """Return `X` with its missing cells filled in. A DataFrame stays one."""
        filled, _, _ = self._filled(X, 0)
        return self._like(filled, X)

    def draws(self, X: Any, n_draws: int = 5) -> list[Any]:
        """Return tables with drawn values in place of missing cells, for multiple imputation.

        Parameters
        ----------
        X : array, DataFrame or list of shape (n_samples, n_features)
            Rows with missing cells.
        n_draws : int, default=5
            The number of tables.

        Returns
        -------
        list of array or DataFrame
            The tables. The cells of a row are drawn together, as they go together in the table that was learned.
        """
        if not is_whole(n_draws) or n_draws < 1:
            raise ValueError(f"n_draws = {n_draws!r}: give a whole number of 1 or more")
        return [self._like(drawn, X) for drawn in self._filled(X, int(n_draws))[2]]

    def cells(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the cells of `X` that are filled in, with their uncertainty.

        Returns
        -------
        dict
            Arrays with an entry for each cell: ``row``, ``column``, ``value``, ``sd`` and the interval from ``low`` to
            ``high`` (NaN for codes), and the ``probability`` of codes (NaN for numbers). ``pandas.DataFrame`` takes it.
        """
        _, cells, _ = self._filled(X, 0)
        names = ("row", "column", "value", "sd", "low", "high", "probability")
        found: dict[str, NDArray[Any]] = {name: cells[:, place].copy() for place, name in enumerate(names)}
        for name in ("row", "column"):
            found[name] = found[name].astype(np.int64)
        return found

    def _filled(self, X: Any, draws: int) -> tuple[Array, Array, list[Array]]:
        if not hasattr(self, "_imputer"):
            raise NotFittedError("This Imputer instance is not fitted yet. Call 'fit' first.")
        array, _ = read_table(X, self._columns)
        with working(self.n_jobs, self.callback, self.verbose, self._columns.names) as work:
            return self._imputer.fill(np.ascontiguousarray(array, dtype=np.float64), draws, work)

    def _like(self, array: Array, X: Any) -> Any:
        _, columns = read_table(X, self._columns)
        columns.categories = list(self._columns.categories)
        return like(array, columns, getattr(X, "index", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
