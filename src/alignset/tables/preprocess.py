"""Turn a table into a matrix: fitted with scikit-learn, saved as plain data, applied without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from alignset.rows.features import LARGEST, LARGEST_SINGLE, SMALLEST, units_of
from alignset.rows.raw import RawColumns
from alignset.tables.codes import CodeColumn, check_codes, learn_codes
from alignset.tables.files import check_names, check_plain
from alignset.tables.forms import MAX_UNIT, ORDERS, PLAIN, Form
from alignset.tables.kinds import (
    MAX_LEVELS,
    MIN_COUNT,
    Holds,
    Kind,
    as_levels,
    as_numbers,
    level_codes,
)
from alignset.tables.words import WordColumn, check_words

EPOCH = "1970-01-01"
"""The day that counts as 0; one of the table would tell a person's date."""


@dataclass(frozen=True)
class Number:
    """A column read as one number, with an indicator if values were missing."""

    name: str
    kind: Kind  # but not "category"
    origin: str | None  # for dates, the day that counts as 0
    median: float  # replaces missing values
    mean: float  # subtracted
    scale: float  # then divided by
    missing: tuple[float, float] | None  # indicator's mean and scale; None if none was missing
    form: Form = PLAIN  # how its text is read

    def read(self, values: pd.Series[Any], first_row: int = 0) -> NDArray[np.float64]:
        """Return a column as numbers, NaN where missing."""
        return as_numbers(values, self.kind, self.origin, first_row, self.form)


@dataclass(frozen=True)
class Category:
    """A column read as one 0/1 column per level."""

    name: str
    levels: tuple[str | None, ...]  # None is the level of missing values
    other: bool  # whether a last column is for rare and unknown levels; else they are all zeros


@dataclass(frozen=True)
class Preprocessing:
    """Turns a table into a matrix: numbers, their missing indicators, categories, codes, words.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [60.0, None, 70.0], "sex": ["f", "m", "f"]})
    >>> frame = pd.concat([frame] * 5)
    >>> made = fit_preprocessing(frame, {"age": "number", "sex": "category"})
    >>> made.feature_names
    ('age', 'age missing', 'sex=f', 'sex=m')
    >>> made.transform(frame).shape
    (15, 4)
    """

    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]
    codes: tuple[CodeColumn, ...] = ()
    words: tuple[WordColumn, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads."""
        every: tuple[Any, ...] = (*self.numbers, *self.categories, *self.codes, *self.words)
        return tuple(c.name for c in every)

    @property
    def several(self) -> tuple[CodeColumn | WordColumn, ...]:
        """Columns whose cells can hold several things at once."""
        return (*self.codes, *self.words)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the matrix's columns."""
        names = [c.name for c in self.numbers]
        names += [f"{c.name} missing" for c in self.numbers if c.missing]
        for c in self.categories:
            names += [f"{c.name}={'(missing)' if v is None else v}" for v in c.levels]
            names += [f"{c.name}=(other)"] if c.other else []
        names += [f"{c.name}: {title}" for c in self.several for title in c.titles]
        return tuple(names)

    @property
    def raw(self) -> RawColumns:
        """Which of the matrix's columns were made of one column of the table."""
        at = len(self.numbers)
        marked = [j for j, c in enumerate(self.numbers) if c.missing]
        gaps = tuple((j, at + place) for place, j in enumerate(marked))
        at, found = at + len(marked), []
        for width in (len(c.levels) + c.other for c in self.categories):
            found.append((at, at + width))
            at += width
        return RawColumns(tuple(found), gaps)

    def transform(self, frame: Any, *, first_row: int = 0) -> NDArray[np.float64]:
        """Return the matrix (n, D) of a table that has the columns, in any order.

        ``first_row`` is the number of earlier rows, for row numbers in messages.
        """
        if not isinstance(frame, pd.DataFrame):
            raise ValueError(
                f"this model needs a DataFrame with named columns, got {type(frame).__name__}."
            )
        check_names(self.columns, [str(c) for c in frame.columns], "the table")
        for name in self.columns:
            check_plain(frame[name])
        values = [c.read(frame[c.name], first_row) for c in self.numbers]
        gaps = [np.isnan(v) for v in values]
        blocks = [
            _scaled(c, v, gap, first_row)
            for c, v, gap in zip(self.numbers, values, gaps, strict=True)
        ]
        blocks += [
            (gap - c.missing[0]) / c.missing[1]
            for c, gap in zip(self.numbers, gaps, strict=True)
            if c.missing
        ]
        coded = [self._one_hot(c, as_levels(frame[c.name])) for c in self.categories]
        coded += [c.matrix(frame[c.name]) for c in self.several]
        numbers = np.column_stack(blocks) if blocks else np.zeros((len(frame), 0))
        return np.hstack([numbers, *coded])

    @staticmethod
    def _one_hot(c: Category, levels: NDArray[np.object_]) -> NDArray[np.float64]:
        width = len(c.levels) + c.other
        return np.asarray(np.eye(len(c.levels) + 1, width)[level_codes(levels, c.levels)])

    def unknown_levels(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return, for each column that has any, the values without a matrix column of their own."""
        held = {c: set(as_levels(frame[c.name])) - {*c.levels, None} for c in self.categories}
        return {c.name: sorted(strange) for c, strange in held.items() if strange}

    def unread_cells(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return the cells that count as gaps because their text is no number or date."""
        found = {}
        for c in (c for c in self.numbers if c.form.lenient):
            values = frame[c.name]
            strange = values[np.isnan(c.read(values)) & values.notna().to_numpy(bool)]
            if len(strange):
                found[c.name] = strange.astype(str).tolist()
        return found

    def to_data(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {
            "reads": "table",
            "numbers": [_without_plain_form(c) for c in self.numbers],
            "categories": [asdict(c) for c in self.categories],
            **({"codes": [asdict(c) for c in self.codes]} if self.codes else {}),
            **({"words": [asdict(c) for c in self.words]} if self.words else {}),
        }

    @property
    def is_plain(self) -> bool:
        """Whether alignset 0.1 without codes, words and forms could read what it writes."""
        return not self.codes and not self.words and all(c.form == PLAIN for c in self.numbers)


def _without_plain_form(c: Number) -> dict[str, Any]:
    data = asdict(c)
    if c.form == PLAIN:
        del data["form"]
    return data


def _scaled(
    c: Number, values: NDArray[np.float64], gap: NDArray[np.bool_], first_row: int
) -> NDArray[np.float64]:
    """Return a column filled and scaled; refuse a value that is far too large."""
    with np.errstate(over="ignore"):
        found = (np.where(gap, c.median, values) - c.mean) / c.scale
    wrong = ~(abs(found) <= LARGEST_SINGLE)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"column {c.name!r} holds {values[row]:.3g} in data row {first_row + row + 1}, more "
            f"than {LARGEST_SINGLE:.0e} standard deviations from what the model was trained on; "
            "correct it, or leave it empty."
        )
    return np.asarray(found)


@dataclass(frozen=True)
class Matrix:
    """The preprocessing of a model fitted on a matrix: it only checks the width.

    Examples
    --------
    >>> Matrix(2, None).transform([[1, 2]])
    array([[1., 2.]])
    """

    n_features: int
    names: tuple[str, ...] | None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads."""
        return self.names or tuple(f"x{i}" for i in range(self.n_features))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the matrix's columns."""
        return self.columns

    def transform(self, X: Any) -> Any:
        """Return the matrix as float64; a DataFrame's columns can be in any order."""
        if isinstance(X, pd.DataFrame) and self.names is not None:
            check_names(self.names, [str(c) for c in X.columns], "the table")
            X = X[list(self.names)]
        if not scipy.sparse.issparse(X):
            X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"this model needs a matrix with {self.n_features} columns, got shape {X.shape}."
            )
        values = X.data if scipy.sparse.issparse(X) else X
        if not np.isfinite(values).all():
            raise ValueError("the matrix has NaN or infinite values; this model accepts neither.")
        return X.tocsr().astype(np.float64) if scipy.sparse.issparse(X) else X

    def to_data(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {"reads": "matrix", "n_features": self.n_features, "names": self.names}


def fit_preprocessing(
    frame: pd.DataFrame,
    kinds: Mapping[str, Kind | Holds],
    *,
    min_count: int = MIN_COUNT,
    scaled: bool = True,
) -> Preprocessing:
    """Fit scikit-learn's transformers on columns of a table, and return their state as data.

    Levels of a category in fewer than ``min_count`` rows share a column, and are not named in it;
    codes and groups of codes in fewer rows are left out. Without ``scaled`` numbers are only
    divided by a power of two, for a caller who scales them. The order of the rows changes no bit.

    Examples
    --------
    >>> fit_preprocessing(pd.DataFrame({"age": [60.0, 70.0]}), {"age": "number"}).numbers[0].mean
    65.0
    """
    held = {n: Holds(kind) if isinstance(kind, str) else kind for n, kind in kinds.items()}
    of: dict[str, list[str]] = {"category": [], "codes": [], "text": []}
    for name, each in held.items():
        of.get(each.kind, []).append(name)
    numbers = {n: h for n, h in held.items() if h.kind not in of}
    least = _least(frame, min_count)
    return Preprocessing(
        _learn_numbers(frame, numbers, scaled) if numbers else (),
        _learn_categories(frame, of["category"], least) if of["category"] else (),
        tuple(learn_codes(frame[n], held[n].system or "codes", least) for n in of["codes"]),
        tuple(WordColumn(n) for n in of["text"]),
    )


def _least(frame: pd.DataFrame, min_count: int) -> int:
    """Return how many rows must have a level for it to be named."""
    return max(min_count, min(len(frame) // 200, 20))


def _learn_numbers(
    frame: pd.DataFrame, holds: Mapping[str, Holds], scaled: bool
) -> tuple[Number, ...]:
    # imported here: scikit-learn takes a second to import, and applying a model does not need it
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    kinds = {name: each.kind for name, each in holds.items()}
    origin = {name: EPOCH for name, kind in kinds.items() if kind == "date"}
    values = {
        name: as_numbers(frame[name], each.kind, origin.get(name), form=each.form)
        for name, each in holds.items()
    }
    unit = _units(values)
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    held = impute.fit_transform(pd.DataFrame({n: np.ldexp(v, -unit[n]) for n, v in values.items()}))
    centre, spread = np.zeros(held.shape[1]), np.ones(held.shape[1])
    if scaled:
        scale = StandardScaler().fit(np.sort(held, axis=0))  # sorted, so that any order will do
        centre, spread = scale.mean_, scale.scale_
    # indicators, which come after the columns, have no unit
    powers = np.pad([unit[n] for n in kinds], (0, held.shape[1] - len(kinds)))
    means, scales = (np.ldexp(v, powers).tolist() for v in (centre, spread))
    medians = np.ldexp(np.nan_to_num(impute.statistics_), powers[: len(kinds)]).tolist()
    marked = zip(means[len(kinds) :], scales[len(kinds) :], strict=True)
    missing = dict(zip(impute.indicator_.features_.tolist(), marked, strict=True))
    return tuple(
        Number(n, kinds[n], origin.get(n), medians[i], means[i], scales[i], missing.get(i),
               holds[n].form)
        for i, n in enumerate(kinds)
    )  # fmt: skip


def _units(values: Mapping[str, NDArray[np.float64]]) -> dict[str, int]:
    """Return the power of two in which to compute with each column; refuse impossible ones."""
    largest = np.array([np.max(abs(v[~np.isnan(v)]), initial=0.0) for v in values.values()])
    for name, most in zip(values, largest.tolist(), strict=True):
        if most > LARGEST or 0 < most < SMALLEST:
            raise ValueError(
                f"column {name!r} holds values up to {most:.3g}; the largest must lie between "
                f"{SMALLEST:.0e} and {LARGEST:.0e}, so give it another unit, or pass --ignore "
                f"{name}."
            )
    return dict(zip(values, units_of(largest).tolist(), strict=True))


def _learn_categories(frame: pd.DataFrame, names: list[str], least: int) -> tuple[Category, ...]:
    from sklearn.preprocessing import OneHotEncoder

    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=least,
        max_categories=MAX_LEVELS,
    ).fit(pd.DataFrame({name: as_levels(frame[name]) for name in names}, dtype=object))
    found = []
    for name, every, rare in zip(
        names, encode.categories_, encode.infrequent_categories_, strict=True
    ):
        # a missing level is NaN or None, depending on pandas
        scarce = {None if pd.isna(v) else v for v in (() if rare is None else rare)}
        levels = [None if pd.isna(v) else v for v in every]
        found.append(Category(name, tuple(v for v in levels if v not in scarce), bool(scarce)))
    return tuple(found)


def from_data(data: Any) -> Preprocessing | Matrix:
    """Rebuild a preprocessing from parsed JSON; refuse anything unexpected."""
    try:
        if data["reads"] == "matrix":
            names = data["names"]
            return Matrix(int(data["n_features"]), None if names is None else tuple(names))
        if data["reads"] != "table":
            raise ValueError
        numbers = [
            Number(**{**c, "missing": _pair(c["missing"]), "form": Form(**c.get("form", {}))})
            for c in data["numbers"]
        ]
        codes = [CodeColumn(**{**c, "marks": tuple(c["marks"])}) for c in data.get("codes", ())]
        words = [WordColumn(**c) for c in data.get("words", ())]
        categories = [
            Category(c["name"], tuple(c["levels"]), c["other"]) for c in data["categories"]
        ]
        _check_types(numbers, categories)
        for of in codes:
            check_codes(of)
        for each in words:
            check_words(each)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"preprocessing.json is not what alignset writes ({error!r})") from None
    return Preprocessing(tuple(numbers), tuple(categories), tuple(codes), tuple(words))


def _pair(values: Any) -> tuple[float, float] | None:
    return None if values is None else cast(tuple[float, float], tuple(map(float, values)))


def _check_types(numbers: list[Number], categories: list[Category]) -> None:
    for c in numbers:
        finite = np.isfinite([c.median, c.mean, c.scale, *(c.missing or ())]).all()
        if c.kind not in ("number", "boolean", "date") or not finite or not isinstance(c.name, str):
            raise ValueError(f"column {c.name!r}")
        _check_form(c.form, c.name)
    for level in (level for c in categories for level in c.levels):
        if not (level is None or isinstance(level, str)):
            raise ValueError(f"level {level!r}")


def _check_form(form: Form, name: str) -> None:
    unit = form.unit is None or (isinstance(form.unit, str) and len(form.unit) <= MAX_UNIT)
    known = form.order in ORDERS and form.decimal in (".", ",")
    marks = isinstance(form.marks, str) and set(form.marks) <= set("./-")
    if not (unit and known and marks and isinstance(form.lenient, bool)):
        raise ValueError(f"form of column {name!r}")
