"""Families: those that have names, and those of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from efmca import _core

Numbers = float | Sequence[float]


class Family(_core.OwnFamily):
    r"""A family of your own, from Python functions.

    An exponential family is :math:`p(y) = h(y) \exp(\eta \cdot T(y) - A(\eta))`. Give :math:`T`, :math:`\log h` and
    :math:`A`; everything else is found: the gradient of :math:`A`, its inverse, means and samples. Python functions are
    slow (a fit calls them some hundred thousand times), and right: the density must sum or integrate to one.

    Parameters
    ----------
    name : str
        A name for messages and model files.
    t : callable
        :math:`T(y)`: a number, or as many as there are natural parameters. If one of them is `y` itself, put it first.
    a : callable
        :math:`A(\eta)`, called with one number for each natural parameter. Outside of its domain it gives infinity or
        NaN, or fails as arithmetic does (``math domain error``, ``OverflowError``, ``ZeroDivisionError``).
    log_h : callable, optional
        :math:`\log h(y)`; without it 0.
    some_eta : float or sequence of float
        Natural parameters well inside the domain.
    support : {"real", "positive", "counts", "unit"} or tuple
        The values that the family has: all numbers, positive ones, 0, 1, 2, …, those between 0 and 1, or
        ``("integers", low, high)`` or ``("real", low, high)`` with `high` perhaps infinite (ends of intervals do not
        belong to them).
    gradient : callable, optional
        The derivatives of `a`; without it they are differences, good to about ten digits.
    mean : callable, optional
        The mean of `y` as a function of the natural parameters; without it ``t(y)[0]`` where that is `y`, and
        quadrature where it is not.

    Examples
    --------
    Fisher's law for the number of individuals seen of a species:

    >>> import math
    >>> import efmca
    >>> species = efmca.Family(
    ...     "logarithmic",
    ...     t=lambda y: y,
    ...     log_h=lambda y: -math.log(y),
    ...     a=lambda eta: math.log(-math.log(-math.expm1(eta))),
    ...     some_eta=-1.0,
    ...     support=("integers", 1, math.inf),
    ... )
    >>> theta = math.exp(species.phi([3.908650337129266])[0])
    >>> round(theta, 9)
    0.9
    """

    _arguments: tuple[Any, ...]

    def __new__(
        cls,
        name: str,
        *,
        t: Callable[[float], Numbers],
        a: Callable[..., float],
        log_h: Callable[[float], float] | None = None,
        some_eta: Numbers,
        support: Literal["real", "positive", "counts", "unit"] | tuple[str, float, float] = "real",
        gradient: Callable[..., Numbers] | None = None,
        mean: Callable[..., float] | None = None,
    ) -> Family:
        for what, function in [("t", t), ("a", a), ("log_h", log_h), ("gradient", gradient), ("mean", mean)]:
            if function is not None and not callable(function):
                raise TypeError(f"{what} must be a function, not {type(function).__name__}")
        eta = [float(some_eta)] if isinstance(some_eta, (int, float)) else [float(value) for value in some_eta]
        family: Family = super().__new__(cls, name, t, a, log_h, gradient, mean, eta, *_support(support))
        family._arguments = (name, t, a, log_h, some_eta, support, gradient, mean)
        return family

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._arguments

    def __repr__(self) -> str:
        return f"<Family {self.name!r}>"


def _restored(
    name: str, t: Any, a: Any, log_h: Any, some_eta: Any, support: Any, gradient: Any, mean: Any
) -> Family:
    return Family(name, t=t, a=a, log_h=log_h, some_eta=some_eta, support=support, gradient=gradient, mean=mean)


def _support(support: Any) -> tuple[bool, float, float, bool, bool]:
    """Whether values are integers, both ends, and whether these belong to the support."""
    known = {
        "real": (False, -math.inf, math.inf, False, False),
        "positive": (False, 0.0, math.inf, False, False),
        "counts": (True, 0.0, math.inf, True, False),
        "unit": (False, 0.0, 1.0, False, False),
    }
    if isinstance(support, str):
        if support not in known:
            raise ValueError(f"support = {support!r}: it is one of {', '.join(known)}, or a tuple (kind, low, high)")
        return known[support]
    kind, low, high = support
    if kind not in ("integers", "real"):
        raise ValueError(f"support = {support!r}: its kind is 'integers' or 'real'")
    if not low < high:
        raise ValueError(f"support = {support!r}: low must be below high")
    integers = kind == "integers"
    return integers, float(low), float(high), integers, integers and math.isfinite(high)


def families() -> dict[str, str]:
    """Return all families that can be asked for by name, and what each is for.

    Returns
    -------
    dict of str to str
        Names and uses. Fixed parameters follow a colon: ``"gamma:k=4"``.

    Examples
    --------
    >>> import efmca
    >>> "poisson" in efmca.families()
    True
    """
    return dict(_core.families())
