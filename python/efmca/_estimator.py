"""The estimator ``EFMCA``, in the contract of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from efmca import _core
from efmca._base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, NotFittedError, TransformerMixin
from efmca._frames import Columns, SparseTable, frame_names, like, read_table
from efmca._settings import (
    families_of_columns,
    has_package,
    held_model,
    is_whole,
    row_weights,
    signs_of_causes,
    steps_of_columns,
    unique_names,
    values_of_labels,
    views_of_columns,
)
from efmca._work import Callback, seed_of, working

if TYPE_CHECKING:
    from efmca._report import TableReport

Array = NDArray[np.float64]
FamilyLike = str | _core.OwnFamily
Families = FamilyLike | Sequence[FamilyLike | None] | Mapping[Any, FamilyLike]


class EFMCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Maximal causes analysis with noise from any exponential family.

    Each row is explained by binary causes. Each cause has a mean for every column; where causes overlap, the strongest
    active one sets the value, and the value has noise of the column's family about it. Missing values are NaN: they are
    left out of all sums exactly, and nothing is imputed while learning.

    Parameters
    ----------
    n_components : int or "auto", default=8
        The number of causes; with ``"auto"`` the number that predicts held-out values best.
    family : str, Family, list, dict or "auto", default="gaussian"
        The family of all columns, such as ``"poisson"`` or ``"gamma:k=4"`` (see `efmca.families`); a list with a family
        for each column; or a dict from names or numbers of columns to families. ``"auto"`` or None in place of a family,
        and a column that the dict leaves out, has its family found by held-out values. Columns of labels in a DataFrame
        (categories, texts, booleans) are answers or categories unless the list or dict says otherwise.
    step : float, "continuous", dict, optional
        How finely values were written down: a number, a list of codes or ``"continuous"``, for all columns or in a dict from
        names or numbers of columns. Without it the step of each column is found. A rounded value stands for its interval.
    signs : list of dict or array, optional
        What is known of the causes: for each cause a dict from names or numbers of columns to ``"+"`` (the cause raises the
        column), ``"0"`` (it has nothing to do with it) or ``"-"`` (it lowers it below zero, with ``"max-magnitude"`` only); or an
        array of causes and columns with 1, 0, -1, and NaN where nothing is known.
    hold : EFMCA or path, optional
        A model of the same columns, fitted or in a file, whose causes stay as they are, with their families; further ones are
        learned beside them. `family` is not used then.
    views : dict of str to list, optional
        Groups of columns that count alike, by their names or numbers, so that a view of 300 columns does not drown one of 10.
        Columns in none are one view. `lower_bound_` is then that of the weighted likelihood; `score` is not weighted.
    superposition : {"max", "max-magnitude"}, default="max"
        Which of the active causes sets a value: the one with the largest mean, or with the largest magnitude.
    inference : {"auto", "exact", "truncated"}, default="auto"
        Posteriors over all states of the causes (16 causes at most), or over the best of them. ``"auto"`` is exact where
        that takes little time.
    n_states : int, optional
        States of a row where posteriors are truncated.
    max_iter : int, default=100
        EM iterations at the most.
    tol : float, default=1e-4
        Training ends when three iterations in a row change the log-likelihood by less than this, relatively.
    n_init : int or "auto", default="auto"
        Starts that are given a short run, of which the best continues; with ``"auto"`` 10 where posteriors are exact, and 1
        where they are truncated.
    pseudo_count : float, default=1.0
        Rows of average data in each entry of the dictionaries, so that no later value is impossible; a 32nd of that where the
        family has a density.
    random_state : int, numpy generator or None, default=None
        The seed; None is 0. The same seed gives the same model, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads: None or -1 for all processors.
    warm_start : bool, default=False
        Whether `fit` continues from the model of the fit before.
    verbose : int, default=0
        Whether to show progress (with tqdm if it is installed).
    callback : callable, optional
        Called with a `Progress` after every iteration. If it returns something true, training ends with the model so far;
        exceptions that it raises go on. If it has a method ``cancelled()``, that is asked during iterations, too, and
        something true ends the work at once with `Stopped`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The mean that each cause gives each column.
    pi_ : ndarray of shape (n_components,)
        How often each cause is active.
    background_ : ndarray of shape (n_features,)
        The means where no cause is active.
    parameters_ : dict of str to ndarray of shape (n_components + 1, n_features)
        The parameters of the families as people know them (rate, mean, var, …), a row for each cause and, last, the
        background; NaN where a family has no such parameter.
    families_ : list of str
        The family of each column.
    steps_ : list of str
        How finely the values of each column were taken to be written down: a step, codes, or ``"continuous"``.
    categories_ : dict
        The labels of columns of labels, in the order of their codes.
    views_ : list of dict or None
        The views with their ``name``, ``columns`` and ``weight``: how much each of their columns counts.
    duplicates_ : list of tuple
        Pairs of causes that do the same in every column, so that fewer may do.
    verdicts_ : dict
        For each column whose family was found, whether that family fits at all: ``fits``, ``p_value`` and a ``sentence``.
    lower_bound_ : float
        The log-likelihood of the training data, or a lower bound of it; with `views` that of the weighted likelihood.
    lower_bounds_ : ndarray of shape (n_iter_,)
        The same before each iteration.
    is_exact_ : bool
        Whether it is the log-likelihood itself.
    bic_ : float or None
        The Bayesian information criterion; smaller is better. None with `views`.
    n_iter_ : int
        EM iterations.
    converged_ : bool
        Whether the log-likelihood had stopped changing.
    n_components_ : int
        The number of causes.
    choice_ : CauseChoice or None
        The numbers of causes that were tried, with ``n_components="auto"``.
    rankings_ : dict
        The families that were tried in each column whose family was found.
    model_ : Model
        The model itself, as it is in model files.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from efmca import EFMCA
    >>> rng = np.random.default_rng(0)
    >>> weekend = rng.random(300) < 0.3
    >>> guests = np.column_stack([rng.poisson(np.where(weekend, 30, 8)), rng.poisson(5, 300)])
    >>> model = EFMCA(n_components=1, family="poisson").fit(guests)
    >>> model.components_.round()
    array([[31.,  5.]])
    >>> bool(abs(model.pi_[0] - weekend.mean()) < 0.03)
    True
    >>> model.predict([[29, 5], [7, 4]]).ravel()
    array([1, 0])
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = 8,
        family: Families = "gaussian",
        *,
        step: Any = None,
        signs: Any = None,
        hold: Any = None,
        views: Mapping[str, Sequence[Any]] | None = None,
        superposition: str = "max",
        inference: Literal["auto", "exact", "truncated"] = "auto",
        n_states: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        n_init: int | Literal["auto"] = "auto",
        pseudo_count: float = 1.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.step = step
        self.signs = signs
        self.hold = hold
        self.views = views
        self.superposition = superposition
        self.inference = inference
        self.n_states = n_states
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.pseudo_count = pseudo_count
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    # ---------------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EFMCA:
        """Learn a model of a table.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or list of shape (n_samples, n_features)
            The table, NaN where a value is missing. Float arrays are not copied. Matrices of scipy.sparse are not made whole;
            what they do not store are zeros.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts: a row of weight 2 counts as two equal rows.

        Returns
        -------
        EFMCA
            The estimator itself.
        """
        settings = self._settings()
        array, columns = read_table(X, sparse=True)
        if array.shape[0] < 2:
            raise ValueError(
                f"Found array with {array.shape[0]} sample(s) (shape={array.shape}) while a minimum of 2 is required by "
                "EFMCA."
            )
        settings["families"], settings["labels"] = families_of_columns(self.family, columns)
        settings["steps"] = steps_of_columns(self.step, columns)
        settings["start"] = self._start(array.shape[1])
        self._set_known(settings, columns)
        with working(self.n_jobs, self.callback, self.verbose, columns.names) as work:
            model, about = _core.fit(array, row_weights(sample_weight, array), settings, work)
        self._columns = columns
        self.n_features_in_ = columns.count
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._set_model(model.with_columns(unique_names(columns.names), columns.texts))
        self._set_history(about)
        return self

    def _set_known(self, settings: dict[str, Any], columns: Columns) -> None:
        """Add what is known of the causes and of groups of columns."""
        settings["signs"] = signs_of_causes(self.signs, columns)
        settings["views"] = views_of_columns(self.views, columns)
        settings["hold"] = held_model(self.hold, columns)
        if settings["hold"] is not None:
            if settings["signs"]:
                raise ValueError("signs and hold are two ways to say what is known; give one of them")
            # the families are those of the model
            settings["families"], settings["labels"] = [None] * columns.count, []

    def _settings(self) -> dict[str, Any]:
        """The parameters for the compiled part, which checks them."""
        causes = self.n_components
        if not (causes == "auto" or is_whole(causes)):
            raise TypeError(f"n_components = {causes!r}: give a whole number, or \"auto\"")
        for name in ("max_iter", "n_init", "n_states"):
            value = getattr(self, name)
            free = {"n_states": None, "n_init": "auto"}.get(name, ...)
            if value == free:
                continue
            if not is_whole(value):
                raise TypeError(f"{name} = {value!r}: give a whole number")
            if value < 1:
                raise ValueError(f"{name} = {value}: give 1 or more")
        if is_whole(causes) and int(causes) < 1:
            raise ValueError(f"n_components = {causes}: a model needs one cause at least")
        for name in ("tol", "pseudo_count"):
            if isinstance(getattr(self, name), (str, bytes)) or not np.isscalar(getattr(self, name)):
                raise TypeError(f"{name} = {getattr(self, name)!r}: give a number")
        for name in ("superposition", "inference"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} = {getattr(self, name)!r}: give a name")
        return {
            "causes": str(causes),
            "superposition": self.superposition,
            "inference": self.inference,
            "states": None if self.n_states is None else int(self.n_states),
            "max_iter": int(self.max_iter),
            "tol": float(self.tol),
            "n_init": None if self.n_init == "auto" else int(self.n_init),
            "pseudo_count": float(self.pseudo_count),
            "seed": seed_of(self.random_state),
        }

    def _start(self, count: int) -> _core.Model | None:
        """The model that training continues from."""
        model: _core.Model | None = getattr(self, "model_", None) if self.warm_start else None
        if model is None or model.n_features != count:
            return None
        return model if self.n_components in ("auto", model.n_components) else None

    def _set_model(self, model: _core.Model) -> None:
        """Take over a model."""
        self.model_ = model
        self.n_components_ = model.n_components
        self.pi_ = model.pi
        self.components_ = model.means()
        self.families_ = model.families
        self.steps_ = model.steps
        self.parameters_ = model.parameters()
        self.background_ = model.means_of(np.zeros((1, model.n_components)), _QUIET)[0]
        names: list[Any] = list(self._columns.names or range(self._columns.count))
        self.views_ = None
        if model.views is not None:
            self.views_ = [
                {"name": name, "columns": [names[d] for d in of_view], "weight": weight}
                for name, of_view, weight in model.views
            ]
        self.categories_ = {names[d]: self._columns.categories[d] for d, _ in self._columns.labels}

    def _set_history(self, about: dict[str, Any]) -> None:
        """Take over how the model came about."""
        from efmca._results import CauseChoice

        self.lower_bound_ = about["bound"]
        self.lower_bounds_ = np.array(about["bounds"])
        self.is_exact_ = about["exact"]
        self.bic_ = None if self.model_.views else about["bic"]
        self.duplicates_ = [tuple(pair) for pair in about["duplicates"]]
        self.n_iter_ = about["n_iter"]
        self.converged_ = about["converged"]
        self.choice_ = None if about["choice"] is None else CauseChoice(about["choice"], self.families_)
        names: list[Any] = list(self._columns.names or range(self._columns.count))
        self.verdicts_ = {
            name: found for name, found in zip(names, about["verdicts"], strict=True) if found is not None
        }
        self.rankings_ = {name: rows for name, rows in zip(names, about["rankings"], strict=True) if rows is not None}

    # ---------------------------------------------------------------------------------------------------- applying

    def transform(self, X: Any) -> Array:
        """Return how likely each cause is to be active in each row.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or list of shape (n_samples, n_features)
            Rows, NaN where a value is missing. Each is explained by itself.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Posterior probabilities.
        """
        return self._encoded(X)[0]

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row, or a lower bound of it where posteriors are truncated."""
        return self._encoded(X)[1]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the average log-likelihood of a row; larger is better."""
        return float(np.mean(self.score_samples(X)))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable state of each row: 1 where a cause is active, of shape (n_samples, n_components)."""
        array = self._read(X)
        with self._working() as work:
            return self.model_.states(array, self.inference, self._states(), work).astype(np.int64)

    def posterior_mean(self, X: Any) -> Array:
        """Return the mean of every entry given its row: what the causes behind it say, without the noise.

        Of columns of labels it is the mean of their codes: the probability of the second of two.
        """
        array = self._read(X)
        with self._working() as work:
            return self.model_.posterior_means(array, self.inference, self._states(), work)

    def impute(
        self, X: Any, value: Literal["mean", "median", "mode"] = "mean", as_written: bool = False
    ) -> Any:
        """Return `X` with its missing values filled in, as ``efmca impute --model`` does. A DataFrame stays one.

        Parameters
        ----------
        X : array, DataFrame or list of shape (n_samples, n_features)
            Rows, NaN where a value is missing.
        value : {"mean", "median", "mode"}, default="mean"
            What missing numbers become, given the other values of the row. Labels, and the codes of families of a few codes
            (yes or no, one of many), become the most probable one.
        as_written : bool, default=False
            Whether numbers get as many decimals as their column has.

        Returns
        -------
        array or DataFrame
            The table without gaps. `Imputer` says how far off the values are, and is better at numbers that follow each other
            closely.
        """
        self._check_fitted()
        array = self._whole(X)
        labels = [d for d, _ in self._columns.labels]
        with self._working() as work:
            imputer = _core.model_imputer(self.model_, array, labels, str(value), bool(as_written), work)
            filled, _, _ = imputer.fill(array, 0, work)
        _, columns = read_table(X, self._columns)
        columns.categories = list(self._columns.categories)
        return like(filled, columns, getattr(X, "index", None))

    def report(self, X: Any, by: Any = None, title: str = "Causes of a table", random_state: Any = None) -> TableReport:
        """Look at a table with the eyes of the model, as ``efmca report`` does.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or list of shape (n_samples, n_features)
            The table that was learned, or rows of the same kind.
        by : str or array of shape (n_samples,), optional
            Groups of rows in which causes are compared: a label for each row, or the name of a further column of `X`, which is
            a DataFrame then.
        title : str
            The title of the page.
        random_state : int, numpy generator or None, default=None
            The seed of the cells that are held out; without one that of the estimator.

        Returns
        -------
        TableReport
            The numbers as a dict (``numbers``) and the page (``html``, ``save``); notebooks show it.
        """
        from efmca._report import TableReport, groups_of

        self._check_fitted()
        X, groups = groups_of(X, by)
        array = self._whole(X)
        if groups is not None and len(groups[2]) != array.shape[0]:
            raise ValueError(f"by has {len(groups[2])} entries, and X has {array.shape[0]} rows")
        seed = seed_of(self.random_state if random_state is None else random_state)
        with self._working() as work:
            html, numbers = _core.report(self.model_, array, str(title), groups, seed, work)
        return TableReport(html, numbers)

    def _whole(self, X: Any) -> Array:
        """The rows as an array of doubles."""
        array = self._read(X)
        return np.ascontiguousarray(array.toarray() if isinstance(array, SparseTable) else array, dtype=np.float64)

    def inverse_transform(self, X: Any) -> Array:
        """Return the mean of every column, given how likely each cause is to be active.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Probabilities, as `transform` gives them, or states of zeros and ones, as `predict` does. Causes count as
            independent of each other given the row; `posterior_mean` knows better where they are not.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Means.
        """
        self._check_fitted()
        active, _ = read_table(X)
        with self._working() as work:
            return self.model_.means_of(np.ascontiguousarray(active, dtype=np.float64), work)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, rounded: bool = True
    ) -> tuple[Any, NDArray[np.int64]]:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, numpy generator or None, default=None
            The seed; without one that of the estimator.
        rounded : bool, default=True
            Whether values are rounded to the steps of the table that was learned (`steps_`).

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            The rows, as a frame if the model was learned from one.
        states : ndarray of shape (n_samples, n_components)
            The states that made them.
        """
        self._check_fitted()
        if not is_whole(n_samples) or n_samples < 1:
            raise ValueError(f"n_samples = {n_samples!r}: give a whole number of 1 or more")
        seed = seed_of(self.random_state if random_state is None else random_state)
        with self._working() as work:
            drawn, states = self.model_.sample(int(n_samples), seed, bool(rounded), work)
        return like(drawn, self._columns), states.astype(np.int64)

    # ------------------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the model to a file, which the program ``efmca`` and the Rust library read as well.

        It is a safetensors file: ``safetensors.numpy.load_file`` reads its numbers without efmca.
        """
        self._check_fitted()
        _core.save_model(self.model_, os.fspath(path), overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], families: Sequence[_core.OwnFamily] = ()) -> EFMCA:
        """Read a model file that this class, the program or the Rust library wrote.

        Parameters
        ----------
        path : path
            The file.
        families : sequence of Family
            Families of your own that the model has.

        Returns
        -------
        EFMCA
            A fitted estimator. What is not in the file (how training went) is not in it either.
        """
        model = _core.load_model(os.fspath(path), list(families))
        own = {family.name: family for family in families}
        specs = [own.get(spec, spec) for spec in model.families]
        same = all(spec is specs[0] or spec == specs[0] for spec in specs)
        inference, states = model.inference
        found = cls(
            model.n_components,
            specs[0] if same else specs,
            superposition=model.superposition,
            inference="truncated" if inference == "truncated" else "auto",
            n_states=states,
        )
        names = model.names or None
        if names == [f"column {d + 1}" for d in range(model.n_features)]:
            names = None  # the program calls columns so that have no names
        labels: list[Any] = list(model.labels) or [None] * model.n_features
        frame = "pandas" if names is not None and has_package("pandas") else "numpy"
        found._columns = Columns(model.n_features, names, [values_of_labels(known) for known in labels], frame)
        found.n_features_in_ = model.n_features
        if names is not None:
            found.feature_names_in_ = np.array(names, dtype=object)
        found._set_model(model)
        return found

    # ------------------------------------------------------------------------------------------------------ inside

    def _encoded(self, X: Any) -> tuple[Array, Array]:
        array = self._read(X)
        with self._working() as work:
            return self.model_.encode(array, self.inference, self._states(), work)

    def _working(self) -> Any:
        return working(self.n_jobs, None, self.verbose, self._columns.names)

    def _states(self) -> int | None:
        """States of a row, if they were given for the model that there is."""
        return self.n_states if self.inference == "truncated" else None

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _read(self, X: Any) -> Any:
        """The rows in the columns of the model."""
        self._check_fitted()
        self._check_names(frame_names(X))
        array, columns = read_table(X, self._columns, sparse=True)
        if columns.count != self.n_features_in_:
            raise ValueError(
                f"X has {columns.count} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )
        return array

    def _check_names(self, names: list[str] | None) -> None:
        """Names must be those of the fit, in the same order."""
        fitted = getattr(self, "feature_names_in_", None)
        if fitted is None and names is None:
            return
        who = type(self).__name__
        if fitted is None:
            warnings.warn(f"X has feature names, but {who} was fitted without feature names", stacklevel=4)
            return
        if names is None:
            warnings.warn(f"X does not have valid feature names, but {who} was fitted with feature names", stacklevel=4)
            return
        if list(fitted) == names:
            return
        unseen = sorted(set(names) - set(fitted))
        missing = sorted(set(fitted) - set(names))
        lines = ["The feature names should match those that were passed during fit."]
        for title, listed in [
            ("Feature names unseen at fit time:", unseen),
            ("Feature names seen at fit time, yet now missing:", missing),
        ]:
            if listed:
                lines += [title, *(f"- {name}" for name in listed[:5]), *(["- ..."] if len(listed) > 5 else [])]
        if not unseen and not missing:
            lines.append("Feature names must be in the same order as they were in fit.")
        raise ValueError("\n".join(lines) + "\n")

    def _repr_html_(self) -> str:
        """What was learned, for notebooks; scikit-learn's diagram before that."""
        from efmca._html import of_estimator

        if hasattr(self, "model_"):
            return of_estimator(self)
        return super()._html_repr() if hasattr(super(), "_html_repr") else f"<pre>{escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn has its own, which would come before the one above
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


_QUIET: dict[str, Any] = {"n_jobs": 1, "callback": None, "names": None}


def load_model(path: str | os.PathLike[str], families: Sequence[_core.OwnFamily] = ()) -> EFMCA:
    """Read a model file; see `EFMCA.load`."""
    return EFMCA.load(path, families)
