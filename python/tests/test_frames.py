"""Tables of pandas and polars."""

from __future__ import annotations

import numpy as np
import pytest

from efmca import EFMCA

pandas = pytest.importorskip("pandas")


@pytest.fixture
def days(rng):
    weekend = rng.random(240) < 0.3
    frame = pandas.DataFrame(
        {
            "guests": rng.poisson(np.where(weekend, 30, 8)),
            "terrace": rng.random(240) < np.where(weekend, 0.9, 0.2),
            "weather": pandas.Categorical(
                np.where(weekend, "sun", rng.choice(["rain", "fog"], 240)), categories=["sun", "rain", "fog"]
            ),
            "menu": np.where(weekend, "roast", rng.choice(["soup", "salad"], 240)),
            "wait": rng.exponential(np.where(weekend, 20, 4)),
        }
    )
    frame.loc[3, "guests"] = np.nan
    frame.loc[5, "weather"] = np.nan
    frame.loc[6, "menu"] = None
    return frame


FAMILIES = {"guests": "poisson", "wait": "exponential"}


def test_columns_of_labels_have_their_categories(days):
    model = EFMCA(1, FAMILIES).fit(days)
    assert model.families_[0] == "poisson" and model.families_[4] == "exponential"
    assert model.families_[1] == "bernoulli"
    assert model.families_[2] == model.families_[3] == "categorical:k=3,order=nominal"
    assert model.categories_["weather"] == ["sun", "rain", "fog"]
    assert model.categories_["menu"] == ["roast", "salad", "soup"]
    assert list(model.feature_names_in_) == list(days.columns)
    filled = model.impute(days)
    assert isinstance(filled, pandas.DataFrame) and list(filled.columns) == list(days.columns)
    assert filled["weather"].isna().sum() == 0 and filled["menu"][6] in ("roast", "salad", "soup")
    assert filled["guests"][0] == days["guests"][0] and filled["terrace"][0] == days["terrace"][0]
    drawn, _ = model.sample(50)
    assert set(drawn["menu"]) <= {"roast", "salad", "soup"} and set(drawn["terrace"]) <= {True, False}
    # a name for all columns is for those of numbers
    assert EFMCA(1, "gaussian").fit(days).families_[2].startswith("categorical")
    assert EFMCA(1, "auto").fit(days).families_[1] == "bernoulli"
    assert EFMCA(1, {**FAMILIES, "terrace": "auto"}).fit(days).families_[1] == "bernoulli"


def test_names_and_labels_must_be_those_of_the_fit(days):
    model = EFMCA(1, FAMILIES).fit(days)
    with pytest.raises(ValueError, match="same order"):
        model.transform(days[days.columns[::-1]])
    with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
        model.transform(days.rename(columns={"wait": "other"}))
    other = days.copy()
    other["menu"] = other["menu"].astype(object)
    other.loc[9, "menu"] = "cake"
    with pytest.raises(ValueError, match=r"X\[9, 3\] \(column 'menu'\) is 'cake'"):
        model.transform(other)
    # categories in another order are the same labels
    turned = days.assign(weather=days["weather"].cat.reorder_categories(["fog", "sun", "rain"]))
    assert np.array_equal(model.transform(turned), model.transform(days))
    negative = days.assign(guests=-1.0)
    with pytest.raises(ValueError, match=r'X\[0, 0\] \(column "guests"\) is -1'):
        model.transform(negative)
    with pytest.raises(TypeError, match="column 'when'"):
        EFMCA(1).fit(days.assign(when=pandas.Timestamp("2026-01-01")))
    with pytest.raises(TypeError, match="string names"):
        EFMCA(1).fit(pandas.DataFrame({"a": [1.0, 2.0], 3: [1.0, 2.0]}))
    numbers = days[["guests", "wait"]]
    of_numbers = EFMCA(1, FAMILIES).fit(numbers)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        of_numbers.transform(numbers.to_numpy())


def test_missing_numbers_of_pandas(days):
    frame = pandas.DataFrame({"a": pandas.array([1, None, 3, 4] * 20, dtype="Int64"), "b": [1.5, 2.5, np.nan, 1.0] * 20})
    model = EFMCA(1).fit(frame)
    assert model.impute(frame).isna().sum().sum() == 0


def test_polars_gives_the_same(days):
    polars = pytest.importorskip("polars")
    # the same labels in the same order, and null where a value is missing
    lists = {name: [None if pandas.isna(value) else value for value in days[name]] for name in days.columns}
    frame = polars.DataFrame(lists, schema_overrides={"weather": polars.Enum(["sun", "rain", "fog"])})
    one, other = EFMCA(1, FAMILIES).fit(days), EFMCA(1, FAMILIES).fit(frame)
    assert np.array_equal(one.components_, other.components_)
    assert one.categories_ == other.categories_
    filled = other.impute(frame)
    assert isinstance(filled, polars.DataFrame) and filled.null_count().sum_horizontal().item() == 0
