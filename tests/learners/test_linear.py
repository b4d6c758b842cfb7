from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alignset.learners.linear import Linear


def test_a_flag_that_blas_raises_by_chance_is_no_warning_and_a_number_that_is_none_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit(self: Any, *_: Any, **__: Any) -> None:
        np.subtract(np.inf, np.inf)  # raises the flag
        self.coef_, self.intercept_ = coef, np.zeros(1)

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression.fit", fit)
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    coef = np.ones((1, 1))
    assert np.isfinite(Linear(C=1.0).fit(X, y, np.ones(2), 2, seed=0).log_odds(X)).all()
    coef = np.array([[np.nan]])
    with pytest.raises(FloatingPointError, match="not finite"):
        Linear(C=1.0).fit(X, y, np.ones(2), 2, seed=0)
