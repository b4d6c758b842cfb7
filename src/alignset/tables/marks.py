"""Numbers as people write them: which mark is the decimal one, and 1.234,56 as a number."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from alignset.tables.dialect import Tell

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:[.,]\d{3})+")
"""1.234 or 1,234: over a thousand, or three decimals."""


def decimal_mark(separator: str, head: str) -> str:
    r"""Return the decimal mark that most numbers in the first lines of a file have.

    1,234 between tabs may be over a thousand, so it does not count; between commas, numbers with a
    comma are in quotation marks.

    Examples
    --------
    >>> decimal_mark(";", "cost;lab\n1.234,56;5,6\n")
    ','
    """
    edge = '"' if separator == "," else rf'["\r\n{re.escape(separator)}]'
    found = re.findall(rf"(?<={edge})[-+]?\d+(?:[.,]\d+)+(?={edge})", head)
    if separator == ",":
        found += re.findall(r"(?<=[,\r\n])[-+]?\d+\.\d+(?=[,\r\n])", head)
    votes = {",": 0, ".": 0}
    unclear = set()
    for number in found:
        marks = re.sub(r"[^.,]", "", number)
        if len(marks) == 1 and not _THOUSANDS.fullmatch(number):
            votes[marks] += 1
        elif len(set(marks)) == 2 and marks.count(marks[-1]) == 1:  # 1.234,56
            votes[marks[-1]] += 1
        elif len(marks) == 1:
            unclear.add(marks)
    if votes[","] != votes["."]:
        return max(votes, key=lambda mark: votes[mark])
    return "," if separator == ";" and not votes["."] and "." not in unclear else "."


def ungroup(frame: pd.DataFrame, decimal: str, skip: Collection[str], tell: Tell) -> None:
    """Turn text columns that are all numbers such as 1.234,56 or 1 234 into numbers, in place."""
    groups = ("." if decimal == "," else ",") + " '\u00a0\u202f\u2019"
    after = rf"(?:{re.escape(decimal)}\d+)?"
    forms = [
        (mark, re.compile(rf"[-+]?(?:0|[1-9]\d*|[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+){after}"))
        for mark in groups
    ]  # fmt: skip
    changed: dict[str, list[str]] = {}
    firsts = frame.iloc[0].tolist() if len(frame) else []
    for name, dtype, first in list(zip(frame.columns, frame.dtypes, firsts, strict=False)):
        if name in skip or not _is_text(dtype):
            continue
        if isinstance(first, str) and not any(c.isdigit() for c in first[:20]):
            continue  # quick where there are thousands of columns
        found = _ungrouped(frame[name], decimal, forms)
        if found is not None:
            mark, example, frame[name] = found
            changed.setdefault(f"{mark!r} between thousands ({example})", []).append(str(name))
    for how, names in changed.items():
        some = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
        one = f"column {some} is" if len(names) == 1 else f"{len(names)} columns ({some}) are"
        tell(f"{one} written with {how} and read as numbers.")


def _is_text(dtype: Any) -> bool:
    return not (isinstance(dtype, np.dtype) and dtype.kind in "biuf")


def _ungrouped(
    values: pd.Series[Any], decimal: str, forms: list[tuple[str, re.Pattern[str]]]
) -> tuple[str, str, Any] | None:
    """Return the mark, a cell that has it, and the numbers; None if it is another kind of text."""
    missing = values.isna().to_numpy(bool)
    cells = values.to_numpy(object)
    example = ""
    for cell in cells[~missing]:
        text = cell.strip() if isinstance(cell, str) else ""
        forms = [form for form in forms if form[1].fullmatch(text)]
        if not forms:
            return None
        example = text if len(forms) == 1 and forms[0][0] in text else example
    if not example:
        return None
    mark = forms[0][0]
    plain = np.full(len(cells), np.nan)
    plain[~missing] = [
        float(cell.strip().replace(mark, "").replace(decimal, ".")) for cell in cells[~missing]
    ]
    return mark, example, plain
