"""Results: denoised images, rankings of noise, numbers of causes, features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efmca import _core
from efmca._work import needed

Array = NDArray[Any]


def _lines(head: list[str], rows: list[list[str]]) -> str:
    """A table in plain text, numbers to the right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    shown = [
        "  ".join(cell.ljust(width) if k == 0 else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths)))
        for row in [head, *rows]
    ]
    return "\n".join(line.rstrip() for line in shown)


class _Table:
    """A result that is a table: it prints itself, and becomes a DataFrame."""

    rows: list[dict[str, Any]]

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{_lines(*self._shown())}\n{self.sentence}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        from efmca._html import table

        return f"<div><p>{escape(self.sentence)}</p>{table(*self._shown())}</div>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return needed("pandas", "pandas", "a DataFrame").DataFrame(self.rows)

    def plot(self, **kwargs: Any) -> Any:
        """Draw it with matplotlib, as `plot_noise_ranking` or, for numbers of causes, `plot_choice`; return the axes."""
        from efmca._plot_results import plot_choice, plot_noise_ranking

        return plot_choice(self, **kwargs) if isinstance(self, CauseChoice) else plot_noise_ranking(self, **kwargs)


class NoiseRanking(_Table):
    """Families in the order in which they explain the data, as `noise_type` returns them.

    Attributes
    ----------
    best : str
        The first family, with fixed parameters as they were found.
    rows : list of dict
        For each family its name, the log-probability of a held-out value on average (``held_out``), how far that is
        behind the best (``behind``, with a standard ``error``), whether the data cannot tell it from the best (``tied``),
        the Bayesian information criterion for a row (``bic``) and the number of ``parameters``.
    refused : list of (str, str)
        Families that the values rule out, and why.
    n_components : int
        The number of causes.
    model : Model
        The model of the best family.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.best: str = found["best"]
        self.rows: list[dict[str, Any]] = found["ranking"]
        self.refused: list[tuple[str, str]] = found["refused"]
        self.values: str = found["values"]
        self.n_components: int = found["n_components"]
        self.entries: int = found["entries"]
        self.model: _core.Model = found["model"]
        self._sentence: str = found["sentence"]

    @property
    def sentence(self) -> str:
        """The ranking in a sentence or two."""
        return self._sentence

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        head = ["family", "held-out value", "behind ± error", "parameters", ""]
        return head, [
            [
                row["family"],
                f"{row['held_out']:.4f}",
                f"{row['behind']:.4f} ± {row['error']:.4f}",
                str(row["parameters"]),
                "tied" if row["tied"] else "",
            ]
            for row in self.rows
        ]


class ColumnFamilies(_Table):
    """The family of each column of a table, as `noise_type` finds them for a DataFrame.

    Attributes
    ----------
    families : dict
        The family of each column, by its name; `EFMCA` takes it as ``family``.
    rows : list of dict
        For each column its name, its family, the kind of its values, how finely they were written down (``step``), a
        ``remark`` if there is one, whether the family fits given the other columns (``verdict``) and without causes
        (``alone``), whether it was given (``fixed``), and all families that were tried (``ranking``). A verdict has
        ``fits``, ``p_value``, ``sentence`` and the ``histogram`` of its residuals.
    held_out : float
        The log-probability of a held-out value, on average over all columns.
    fits : bool or None
        Whether the model fits all columns, at a level of 5 % for the table; None if there are too few values to tell.
    ill_fitting : list
        The columns that it does not fit.
    model : Model
        The model with these families.
    """

    def __init__(self, found: dict[str, Any], names: list[Any]) -> None:
        self.rows: list[dict[str, Any]] = [
            {"column": name, **column} for name, column in zip(names, found["columns"], strict=True)
        ]
        self.families: dict[Any, str] = {row["column"]: row["family"] for row in self.rows}
        self.fits: bool | None = found["fits"]
        self.ill_fitting: list[Any] = [names[d] for d in found["ill_fitting"]]
        self.held_out: float = found["held_out"]
        self.n_components: int = found["n_components"]
        self.model: _core.Model = found["model"]

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        text = f"{len(self.rows)} columns with {self.n_components} causes."
        if self.fits is not None:
            which = ", ".join(str(name) for name in self.ill_fitting)
            text += " The model fits all of them." if self.fits else f" The model does not fit: {which}."
        remarks = [f" {row['column']}: {row['remark']}" for row in self.rows if row["remark"]]
        return text + "".join(remarks)

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        def ties(row: dict[str, Any]) -> str:
            tied = [one["family"] for one in row["ranking"] if one["tied"] and one["family"] != row["family"]]
            return "given" if row["fixed"] else ", ".join(tied[:3])

        def fits(row: dict[str, Any]) -> str:
            verdict = row["verdict"]
            return "" if verdict is None else f"{'yes' if verdict['fits'] else 'no'} (p = {verdict['p_value']:.2g})"

        head = ["column", "family", "values", "fits", "as good"]
        return head, [[str(row["column"]), row["family"], row["values"], fits(row), ties(row)] for row in self.rows]


class CauseChoice(_Table):
    """The number of causes, as `select` chooses it.

    Attributes
    ----------
    best : int
        The smallest number that predicts held-out values as well as any.
    best_by_bic : int
        The number with the best Bayesian information criterion.
    rows : list of dict
        For each number that was tried ``n_components``, ``held_out``, ``behind``, ``error``, ``bound``, ``bic`` and
        ``parameters``.
    families : list of str
        The families of the columns.
    """

    def __init__(self, found: dict[str, Any], families: list[str]) -> None:
        self.best: int = found["best"]
        self.best_by_bic: int = found["best_by_bic"]
        self.rows: list[dict[str, Any]] = found["tried"]
        self.entries: int = found["entries"]
        self.at_the_end: bool = found["at_the_end"]
        self.families = families

    @property
    def sentence(self) -> str:
        """The choice in a sentence."""
        agrees = "agrees" if self.best_by_bic == self.best else f"would take {self.best_by_bic}"
        more = "; it is the largest that was tried, so try more" if self.at_the_end else ""
        return (
            f"{self.best} causes: the fewest that predict held-out values as well as any; the Bayesian information "
            f"criterion {agrees}{more}."
        )

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        head = ["causes", "held-out value", "behind ± error", "BIC per row", ""]
        return head, [
            [
                str(row["n_components"]),
                f"{row['held_out']:.4f}",
                f"{row['behind']:.4f} ± {row['error']:.4f}",
                f"{row['bic']:.3f}",
                "chosen" if row["n_components"] == self.best else "",
            ]
            for row in self.rows
        ]


class Denoised:
    """A clean image with everything that is known about it, as ``denoise(..., full_output=True)`` returns it.

    Attributes
    ----------
    image : ndarray
        The clean image.
    std : ndarray
        The posterior standard deviation of each pixel.
    noisy : ndarray
        The image that was cleaned, NaN where a pixel was missing.
    family : str
        The family of the noise.
    noise : str or None
        Why it was taken, if it was found.
    models : list of dict
        The number of causes, the size of patches, the size of blocks of pixels, and the bounds of each model.
    model : Model or None
        The model to keep for other images, if ``keep_model`` was asked for or there is one.
    stopped : bool
        Whether a callback ended the work early.
    """

    def __init__(
        self, found: dict[str, Any], image: Array, std: Array, noisy: Array, pages: tuple[Array, Array], family: Any
    ) -> None:
        self.image, self.std, self.noisy = image, std, noisy
        self.family: str = found["family"]
        self.noise: str | None = None if found["noise"] is None else found["noise"]["sentence"]
        self.camera: tuple[float, float] | None = None if found["noise"] is None else found["noise"]["camera"]
        self.models = [
            {"n_components": causes, "patch": patch, "block": block, "bounds": np.array(bounds)}
            for causes, patch, block, bounds in found["members"]
        ]
        self.model: _core.Model | None = found["model"]
        self.stopped: bool = found["stopped"]
        self._pages, self._family = pages, family

    @property
    def residual(self) -> Array:
        """What was taken away."""
        return self.noisy - self.image

    def check(self) -> list[tuple[str, str]]:
        """Say whether what was taken away looks like the noise that was assumed.

        Returns
        -------
        list of (str, str)
            Findings with advice, the gravest first; empty if it does.
        """
        noisy, mean = self._pages
        quiet = {"n_jobs": None, "callback": None, "names": None}
        return list(_core.residual(noisy, mean, self._family or self.family, quiet)["findings"])

    def plot(self, **kwargs: Any) -> Any:
        """Draw the image before and after, and the residual, as `plot_denoised`; return the axes."""
        from efmca._plot_results import plot_denoised

        return plot_denoised(self, **kwargs)

    def _repr_html_(self) -> str:
        from efmca._html import of_denoised

        return of_denoised(self)

    def __repr__(self) -> str:
        size = " x ".join(str(side) for side in self.image.shape)
        return f"<Denoised: {size} pixels, {self.family} noise, {len(self.models)} models>"


class Features:
    """Features of images, as `learn_features` returns them.

    Attributes
    ----------
    fields : ndarray of shape (n_components, rows, columns) or (n_components, rows, columns, channels)
        The mean of each cause as a patch, with whitening undone; (n_components, n_features) for rows.
    pi : ndarray of shape (n_components,)
        How often each cause is active.
    bounds : ndarray
        The bound before each iteration.
    model : Model
        The model.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.model: _core.Model = found["model"]
        self.pi = self.model.pi
        self.bounds = np.array(found["bounds"])
        self.bound_per_row: float = found["bound"] / found["weight"]
        fields = found["fields"]
        if self.model.patch is not None:
            rows, columns, channels, _ = self.model.patch
            # columns are pixels channel by channel
            fields = np.moveaxis(fields.reshape(-1, channels, rows, columns), 1, -1)
            fields = fields[..., 0] if channels == 1 else fields
        self.fields: Array = fields

    def save(self, path: Any, overwrite: bool = False) -> None:
        """Write the model to a file that the program reads, with its whitening."""
        import os

        _core.save_model(self.model, os.fspath(path), overwrite)

    def plot(self, **kwargs: Any) -> Any:
        """Draw the fields, as `plot_components`; return the axes."""
        from efmca._plots import plot_components

        return plot_components(self, **kwargs)

    def _repr_html_(self) -> str:
        from efmca._html import of_features

        return of_features(self)

    def __repr__(self) -> str:
        return f"<Features: {len(self.pi)} causes, {self.pi.sum():.1f} active on average>"
