"""What estimators inherit: from scikit-learn where it is installed, and the same manners where it is not."""

from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """An estimator is used before it was fitted."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by name, as in scikit-learn."""

        @classmethod
        def _names(cls) -> list[str]:
            return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params: Any) -> Any:
            """Set parameters by name, and return the estimator."""
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError(f"Invalid parameter {name!r}: the parameters are {', '.join(self._names())}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            usual = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
            changed = {name: value for name, value in self.get_params().items() if value is not usual[name]}
            shown = ", ".join(f"{name}={value!r}" for name, value in changed.items() if value != usual[name])
            return f"{type(self).__name__}({shown})"

    class TransformerMixin:  # type: ignore[no-redef]
        """The methods that follow from ``fit`` and ``transform``."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            """Fit to `X`, and transform it."""
            return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

        def set_output(self, *, transform: str | None = None) -> Any:
            """Need scikit-learn."""
            raise ImportError("set_output needs scikit-learn: pip install 'efmca[sklearn]'")

    class ClassNamePrefixFeaturesOutMixin:  # type: ignore[no-redef]
        """Names of the columns that come out."""

        def get_feature_names_out(self, input_features: Any = None) -> Any:
            """Return a name for each cause: efmca0, efmca1, …"""
            import numpy as np

            return np.array([f"efmca{h}" for h in range(self._n_features_out)], dtype=object)  # type: ignore[attr-defined]


__all__ = [
    "HAS_SKLEARN",
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "NotFittedError",
    "TransformerMixin",
]
