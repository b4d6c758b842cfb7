"""What a notebook shows of a classifier."""

import warnings

import numpy as np
import pytest
import sklearn

from alignset import NoisyLabelClassifier
from alignset.estimator.html import LONGEST_LIST, learned_html


def fitted(groups, method="both_linear"):
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(len(groups), 2)), len(groups)
    true = (X[:, 0] > 0).astype(float)
    y = np.where(rng.random(n) < 0.2, 1 - true, true).astype(int)
    y_true = np.where(np.arange(n) % 2 == 0, true, np.nan)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of groups, on purpose
        return NoisyLabelClassifier(method, random_state=0).fit(X, y, y_true=y_true, groups=groups)


@pytest.fixture(scope="module")
def clf():
    return fitted(np.array(["<b>f</b>", "m & m"] * 100))


def test_every_name_is_escaped_and_every_rate_is_there(clf):
    html = clf._repr_html_()
    assert "<b>f</b>" not in html
    assert "&lt;b&gt;f&lt;/b&gt;" in html
    assert "m &amp; m" in html
    for rate in clf.noise_rates_.values():
        text = "nobody reviewed" if np.isnan(rate) else f"{100 * rate:.1f} %"
        assert f"<td>{text}</td>" in html
    assert clf.candidates_._repr_html_() in html
    assert "What was learned" in html


def test_both_hooks_of_scikit_learn_answer_alike_and_obey_its_setting(clf):
    assert clf._repr_mimebundle_()["text/html"].endswith(learned_html(clf))
    with sklearn.config_context(display="text"):
        assert "text/html" not in clf._repr_mimebundle_()
        assert not hasattr(clf, "_repr_html_")


def test_before_a_fit_there_is_only_the_diagram():
    assert "What was learned" not in NoisyLabelClassifier()._repr_html_()


def test_a_method_has_no_candidates_and_many_groups_are_cut_short():
    many = fitted(np.repeat(np.arange(LONGEST_LIST + 5), 8), "observed_linear")
    assert "and 5 more" in learned_html(many)
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    one = NoisyLabelClassifier("standard", n_configs=1, max_epochs=1, hidden=4, random_state=0)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # no label is wrong
        one.fit(X, y, y_true=y.astype(float))
    assert "One model, Standard" in learned_html(one)
