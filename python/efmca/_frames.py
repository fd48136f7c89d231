"""Tables of any kind as arrays of numbers: numpy, scipy.sparse, pandas, polars, lists; columns of labels by their categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]


@dataclass
class SparseTable:
    """The values of a sparse matrix that are stored, row by row; all others are zeros."""

    shape: tuple[int, int]
    n_columns: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float64]

    def toarray(self) -> Floats:
        """The whole table."""
        array = np.zeros(self.shape)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        np.add.at(array, (rows, self.indices), self.values)
        return array


def is_sparse(x: Any) -> bool:
    """Tell matrices and arrays of scipy.sparse without importing it."""
    return hasattr(x, "nnz") and hasattr(x, "tocsr")


@dataclass
class Columns:
    """What is known of the columns of a table."""

    count: int
    names: list[str] | None = None
    # for each column the labels that its codes 0, 1, … stand for, if they do
    categories: list[list[Any] | None] = field(default_factory=list)
    frame: str = "numpy"

    @property
    def labels(self) -> list[tuple[int, int]]:
        """Columns of labels, and how many labels they have."""
        return [(d, len(known)) for d, known in enumerate(self.categories) if known is not None]

    @property
    def texts(self) -> list[list[str] | None]:
        """The labels as texts, for model files; nothing if there are none."""
        if not self.labels:
            return []
        return [None if known is None else [str(label) for label in known] for known in self.categories]


def frame_kind(x: Any) -> str:
    """Tell frames from other things without importing the packages that they are from."""
    module = type(x).__module__.split(".")[0]
    if module == "pandas" and hasattr(x, "columns"):
        return "pandas"
    if module == "polars" and hasattr(x, "get_columns"):
        return "polars"
    return "numpy"


def read_table(
    x: Any, known: Columns | None = None, who: str = "EFMCA", sparse: bool = False
) -> tuple[Any, Columns]:
    """Return a table as a float array, without a copy where it is one already, and what is known of its columns.

    With `known` columns labels have the codes that they had when these were read. A sparse matrix becomes a whole array, or
    with `sparse` a `SparseTable`.
    """
    kind = frame_kind(x)
    array: Any
    if is_sparse(x):
        stored = _stored(x)
        array = stored if sparse else stored.toarray()
        columns = Columns(array.shape[1], None, [None] * array.shape[1])
    elif kind == "numpy":
        array = _plain(x)
        columns = Columns(array.shape[1], None, [None] * array.shape[1])
    else:
        array, columns = _frame(x, kind, known)
    if array.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is required by {who}.")
    if array.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required by {who}.")
    return array, columns


def _plain(x: Any) -> Floats:
    """A two-dimensional float array, which is `x` itself where it is one."""
    array = as_array(x)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    if array.ndim == 0:
        raise ValueError("Expected 2D array, got scalar array instead. Reshape your data: X.reshape(1, 1)")
    if array.ndim == 1:
        raise ValueError(
            "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(-1, 1) for one column, "
            "X.reshape(1, -1) for one row"
        )
    if array.ndim != 2:
        raise ValueError(f"Found array with dim {array.ndim}, while dim <= 2 is required by EFMCA: give rows and columns")
    return as_floats(array)


def _stored(x: Any) -> SparseTable:
    """The stored values of a sparse matrix of any form."""
    if x.ndim != 2:
        raise ValueError(f"Found array with dim {x.ndim}, while dim 2 is required by EFMCA: give rows and columns")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"values of type {x.dtype} are no numbers; turn them into numbers first")
    rows = x.tocsr()
    return SparseTable(
        shape=(int(rows.shape[0]), int(rows.shape[1])),
        n_columns=int(rows.shape[1]),
        indptr=np.ascontiguousarray(rows.indptr, dtype=np.int64),
        indices=np.ascontiguousarray(rows.indices, dtype=np.uint32),
        values=np.ascontiguousarray(rows.data, dtype=np.float64),
    )


def as_array(x: Any) -> Any:
    """An array, which is `x` itself where it is one; NaN where a masked array has nothing."""
    if isinstance(x, np.ma.MaskedArray):
        present: Any = x.astype(np.float64) if x.dtype.kind in "fiub" else x
        return present.filled(np.nan if present.dtype.kind == "f" else None)
    return x if isinstance(x, np.ndarray) else np.asarray(x)


def as_floats(array: Any) -> Floats:
    """The same numbers as float64, or as float32 where they are; a view where nothing has to change."""
    if array.dtype.kind in "OUS":
        return _numbers(array)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"values of type {array.dtype} are no numbers; turn them into numbers first")
    if array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    return np.require(array.astype(array.dtype.newbyteorder("="), copy=False), requirements="A")


def _numbers(array: Any) -> Floats:
    """Objects as numbers; an error names the first that is none."""
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        for place in np.ndindex(array.shape):
            try:
                np.asarray(array[place], dtype=np.float64)
            except (TypeError, ValueError) as one:
                where = ", ".join(str(index) for index in place)
                kind = TypeError if isinstance(one, TypeError) else ValueError
                raise kind(
                    f"X[{where}] = {array[place]!r} is no number ({one}); labels are for columns of a DataFrame"
                ) from error
        raise


def frame_names(x: Any) -> list[str] | None:
    """The names of the columns of a frame, if they are texts."""
    if frame_kind(x) == "numpy":
        return None
    names = [str(name) for name in x.columns] if all(isinstance(name, str) for name in x.columns) else None
    if names is None and any(isinstance(name, str) for name in x.columns):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has column names "
            "of several types. If you want feature names to be stored and validated, convert them all to strings: "
            "X.columns = X.columns.astype(str)"
        )
    return names


def _frame(x: Any, kind: str, known: Columns | None) -> tuple[Floats, Columns]:
    names, count = frame_names(x), len(x.columns)
    plain = _homogeneous(x) if kind == "pandas" else None
    if plain is not None and not (known and known.labels):
        return plain, Columns(count, names, [None] * count, kind)
    array = np.empty((len(x), count), dtype=np.float64, order="F")
    categories: list[list[Any] | None] = []
    for d in range(count):
        before = known.categories[d] if known is not None and d < len(known.categories) else None
        column = x.iloc[:, d] if kind == "pandas" else x.to_series(d)
        codes, labels = (_of_pandas if kind == "pandas" else _of_polars)(column, before, d)
        array[:, d] = codes
        categories.append(labels)
    return array, Columns(count, names, categories, kind)


def _homogeneous(x: Any) -> Floats | None:
    """The array behind a pandas frame whose columns are all numbers of one type."""
    kinds = {getattr(dtype, "kind", "O") if isinstance(dtype, np.dtype) else "O" for dtype in x.dtypes}
    if not kinds or not kinds <= set("fiu"):
        return None
    return as_floats(x.to_numpy())


def _of_pandas(column: Any, before: list[Any] | None, d: int) -> tuple[Floats, list[Any] | None]:
    import pandas as pd

    dtype = column.dtype
    missing = column.isna().to_numpy()
    if isinstance(dtype, pd.CategoricalDtype):
        return _coded(column.to_numpy(dtype=object), missing, before or list(dtype.categories), column.name, d)
    if pd.api.types.is_bool_dtype(dtype):
        return _coded(column.to_numpy(dtype=object), missing, before or [False, True], column.name, d)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if before is not None:
            return _coded(numbers.astype(object), missing, before, column.name, d)
        return numbers, None
    if isinstance(dtype, pd.StringDtype) or dtype == object:
        return _of_objects(column.to_numpy(dtype=object), missing, before, column.name, d)
    raise TypeError(_no_numbers(column.name, dtype))


def _of_polars(column: Any, before: list[Any] | None, d: int) -> tuple[Floats, list[Any] | None]:
    import polars as pl

    dtype = column.dtype
    missing = column.is_null().to_numpy()
    if dtype == pl.Boolean:
        return _coded(np.array(column.to_list(), dtype=object), missing, before or [False, True], column.name, d)
    if dtype in (pl.Categorical, pl.Enum, pl.String):
        if isinstance(dtype, pl.Enum):
            before = before or list(dtype.categories)
        return _of_objects(np.array(column.to_list(), dtype=object), missing, before, column.name, d)
    if dtype.is_numeric():
        numbers = column.cast(pl.Float64).to_numpy().astype(np.float64)
        if before is not None:
            return _coded(numbers.astype(object), missing, before, column.name, d)
        return numbers, None
    raise TypeError(_no_numbers(column.name, dtype))


def _no_numbers(name: Any, dtype: Any) -> str:
    return (
        f"column {name!r} has values of type {dtype}, which are neither numbers nor labels; turn them into one or the "
        "other (a date into the days since another, a text into categories)"
    )


def _of_objects(
    values: Any, missing: NDArray[np.bool_], before: list[Any] | None, name: Any, d: int
) -> tuple[Floats, list[Any] | None]:
    """Objects: numbers if all are, and labels otherwise."""
    present = values[~missing]
    if before is None and all(isinstance(value, (int, float, np.number)) for value in present):
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = present.astype(np.float64)
        return numbers, None
    if before is None:
        strange = next((value for value in present if not isinstance(value, (str, bool, int, float, np.generic))), None)
        if strange is not None:
            raise TypeError(f"column {name!r} holds {strange!r}, which is neither a number nor a label")
        before = sorted(set(present), key=lambda label: (str(type(label)), label))
    return _coded(values, missing, before, name, d)


def _coded(
    values: Any, missing: NDArray[np.bool_], labels: list[Any], name: Any, d: int
) -> tuple[Floats, list[Any]]:
    """The codes of labels, NaN where one is missing."""
    code = {label: float(number) for number, label in enumerate(labels)}
    codes = np.full(len(values), np.nan)
    for row in np.flatnonzero(~missing):
        try:
            codes[row] = code[values[row]]
        except (KeyError, TypeError):
            shown = ", ".join(repr(label) for label in labels[:8]) + (", …" if len(labels) > 8 else "")
            raise ValueError(
                f"X[{row}, {d}] (column {name!r}) is {values[row]!r}, which is none of the labels that are known: {shown}"
            ) from None
    return codes, labels


def like(array: Floats, columns: Columns, index: Any = None) -> Any:
    """A frame like the one that was read, with labels in place of their codes; an array if it was one."""
    if columns.frame == "numpy":
        return array
    names = columns.names or [str(d) for d in range(columns.count)]
    data: dict[str, Any] = {}
    for d, name in enumerate(names):
        labels = columns.categories[d]
        data[name] = array[:, d] if labels is None else [_label(labels, code) for code in array[:, d]]
    if columns.frame == "pandas":
        import pandas as pd

        return pd.DataFrame(data, index=index)
    import polars as pl

    return pl.DataFrame(data)


def _label(labels: list[Any], code: float) -> Any:
    return None if np.isnan(code) else labels[int(code)]
