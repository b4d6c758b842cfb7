"""What a notebook shows of a fitted classifier: scikit-learn's diagram, and what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

LONGEST_LIST = 20
"""Groups that are listed; what the others are is in ``noise_rates_``."""


class ExplainingMixin:
    """``explain``, and HTML for notebooks: scikit-learn's two hooks are answered alike."""

    candidates_: Any
    method_: Any

    def explain(self) -> str:
        """Say in two sentences what the blend relies on."""
        check_is_fitted(self)
        if self.candidates_ is None:
            return f"One model, {type(self.method_).__name__}; nothing was blended."
        return str(self.candidates_.explain())

    def _repr_html_inner(self) -> str:
        """Return the diagram, followed by what was learned if there was a fit."""
        diagram = str(estimator_html_repr(self))
        return diagram + (learned_html(self) if hasattr(self, "noise_rates_") else "")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return text, and HTML unless scikit-learn is set to show text."""
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def learned_html(clf: Any) -> str:
    """Return noise rates and candidates of a fitted classifier as HTML; every name is escaped."""
    rates = list(clf.noise_rates_.items())
    rows = [(str(group), _share(float(rate))) for group, rate in rates[:LONGEST_LIST]]
    if len(rates) > LONGEST_LIST:
        rows.append((f"and {len(rates) - LONGEST_LIST} more", ""))
    parts = [
        "<summary>What was learned</summary>",
        f"<p>{escape(clf.explain())}</p>",
        _table(("group", "observed labels that are wrong"), rows),
    ]
    if clf.candidates_ is not None:
        parts.append(clf.candidates_._repr_html_())
    return (
        '<details open class="alignset-learned" style="font-family: sans-serif; '
        f'font-size: 0.9em; overflow-x: auto">{"".join(parts)}</details>'
    )


def _share(rate: float) -> str:
    return "nobody reviewed" if np.isnan(rate) else f"{100 * rate:.1f} %"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
